"""A sweep in words: levels, systems, and where they part."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from benchmarks.analysis.sweeps import Level, Parting
from benchmarks.comparing.columns import Fact
from benchmarks.comparing.sweeps import Family, Line
from dashboard import wording
from dashboard.kit import figures


def level_text(level: Level) -> str:
    """Return a level as people write it: ``4 KiB``, ``2,000``, ``0.5 s``."""
    if level.unit == "B" and level.amount.is_integer() and level.amount >= 0:
        return figures.amount_of_memory(int(level.amount))
    return wording.quantity(level.amount, level.unit)


def line_name(line: Line, family: Family) -> str:
    """Return what tells a system from the others of its family."""
    column = line.column
    facts = [fact for fact in column.facts if fact.value]
    platform = _("Native") if column.is_native else column.platform
    is_shared = len({each.column.platform for each in family.lines}) == 1
    said = [wording.fact_in_brief(Fact(fact.name, fact.value)) for fact in facts]
    return ", ".join(said if is_shared and said else [platform, *said])


def parting_sentences(family: Family, lines: Sequence[Line]) -> Iterator[str]:
    """Say where systems part from what they are compared with; most loss first.

    Nothing is said where the verdicts do not carry it.
    """
    found = [(line, line.parting) for line in lines]
    told = [(line, parting) for line, parting in found if parting is not None]
    for line, parting in sorted(told, key=lambda each: _lowest(each[0])):
        yield _sentence(family, line, parting)
    if not told:
        yield from _why_nothing(lines)


def _why_nothing(lines: Sequence[Line]) -> Iterator[str]:
    points = [point for line in lines for point in line.points]
    if all(point.row.shown.n == 1 for point in points):
        yield _(
            "Single runs: differences between the lines may be noise. Five runs per "
            "level allow a verdict."
        )
    elif all(point.row.shown.ratio is None for point in points):
        yield _("Nothing was measured that these systems could be compared with.")
    else:
        yield _("Not every level has a verdict, so where systems part cannot be said.")


def _sentence(family: Family, line: Line, parting: Parting) -> str:
    points, at = line.points, parting.at
    ratios = [point.row.shown.ratio or 0.0 for point in points]
    words = {
        "system": line_name(line, family),
        "other": _other(line),
        "axis": family.axis.replace("_", " "),
        "before": level_text(points[max(at - 1, 0)].level),
        "from": level_text(points[at].level),
        "worst": figures.ratio(min(ratios)),
        "best": figures.ratio(max(ratios)),
        "where": level_text(points[ratios.index(min(ratios))].level),
    }
    templates = {
        "keeps": _("%(system)s is nowhere slower than %(other)s (%(worst)s or more)."),
        "parts": _(
            "%(system)s keeps up with %(other)s up to %(before)s and falls to "
            "%(worst)s at %(where)s."
        ),
        "joins": _(
            "%(system)s falls to %(worst)s of %(other)s at %(where)s and keeps up "
            "from %(from)s on."
        ),
        "slower": _(
            "%(system)s is slower than %(other)s at every %(axis)s: %(worst)s to "
            "%(best)s."
        ),
    }
    return templates[parting.course] % words


def _other(line: Line) -> str:
    is_relative = any(point.row.shown.relative is not None for point in line.points)
    return _("the reference system") if is_relative else _("native")


def _lowest(line: Line) -> float:
    return min(point.row.shown.ratio or 0.0 for point in line.points)
