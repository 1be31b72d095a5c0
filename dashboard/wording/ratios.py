"""A cell's ratio as the compare page's switch wants it: efficiency, overhead, energy.

One place for grid, card, direct comparison and files, so that all of them say the same.
"""

from dataclasses import replace

from django.utils.translation import gettext as _

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.row import ComparisonRow
from dashboard.kit import figures

OVERHEAD, VALUE = "overhead", "value"


def told_ratio(row: ComparisonRow) -> float | None:
    """Return the ratio that is written: of an energy that of the joules."""
    if row.shown.is_energy:
        return row.shown.joules.ratio if row.shown.joules else None
    return row.shown.ratio


def is_overhead(row: ComparisonRow, show: str) -> bool:
    """Whether a ratio is written as what is lost of 1: scaling loses nothing."""
    is_speed = not row.shown.is_energy
    return show == OVERHEAD and is_speed and row.shown.scaling is None


def ratio_text(row: ComparisonRow, show: str) -> str:
    """Return a cell's ratio, or nothing where there is none."""
    ratio = told_ratio(row)
    if ratio is None:
        return ""
    return figures.overhead(ratio) if is_overhead(row, show) else figures.ratio(ratio)


def interval_text(row: ComparisonRow, show: str) -> str:
    """Return the 95 % interval of what `ratio_text` says, or nothing."""
    ends = interval_ends(row, show)
    if ends is None:
        return ""
    return _("%(low)s to %(high)s") % {"low": ends[0], "high": ends[1]}


def interval_ends(row: ComparisonRow, show: str) -> tuple[str, str] | None:
    """Return both ends of that interval: the more is lost, the less is the ratio."""
    said = row.shown.judgement
    if said is None or said.low is None or said.high is None:
        return None
    if is_overhead(row, show):
        return figures.overhead(said.high), figures.overhead(said.low)
    return figures.ratio(said.low), figures.ratio(said.high)


def drawn_judgement(row: ComparisonRow) -> Judgement | None:
    """Return what an interval's bar draws: the judgement of a ratio that is told."""
    ratio = told_ratio(row)
    said = row.shown.judgement
    return replace(said, ratio=ratio) if said and ratio is not None else None


def ratio_meaning(show: str, *, is_energy: bool = False) -> str:
    """Return what the ratio is called; nothing for the usual one."""
    if is_energy:
        return _("times the energy for the same work")
    return _("overhead") if show == OVERHEAD else ""


def legend(show: str, *, is_energy: bool = False) -> list[tuple[str, str]]:
    """Return shade and label of each step, slowest first, in the numbers of the cells.

    Of an overhead and of joules less is better: their signs point the other way.
    """
    slower, faster = "≤", "≥"
    if is_energy or show == OVERHEAD:
        slower, faster = faster, slower
    signs = {"slow": f"{slower} ", "fast": f"{faster} "}
    return [
        (shade, signs.get(shade[:4], "") + _edge_text(edge, show, is_energy))
        for shade, edge in figures.steps()
    ]


def _edge_text(edge: float, show: str, is_energy: bool) -> str:
    if is_energy:
        return figures.number(1 / edge, ".3g")
    if show == OVERHEAD:
        return figures.whole_overhead(edge)
    return figures.number(edge, ".3g")
