"""One comparison row as one cell of the page: its texts, shade, and interval's bar."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, log, log1p
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.row import ENERGY_PER_WORK, ComparisonRow, Shown
from benchmarks.comparing.table import CaseGroup, CaseRow, ComparisonTable
from benchmarks.comparing.verdicts import VerdictMark
from dashboard import wording
from dashboard.kit import figures
from dashboard.wording import Text, states, verdicts
from dashboard.wording.verdicts import (
    VALUE,
    energy_sentence,
    energy_texts,
    ratio_text,
)

# States that say nothing beyond the number; all others are spelled out in the cell.
SILENT = {"paired", "native", "metered"}
VALUES = {"native", "reference"}
# Of the axis of an interval's bar: room beside the widest interval, and no end of it.
BAR_ROOM = 1.15
BAR_WIDEST = log(64)
OF_REFERENCE: Text = gettext_lazy(
    "%(ratio)s of the reference: %(value)s against %(baseline)s, "
    "%(runs)s against %(baseline_runs)s."
)
AGAINST: dict[str, Text] = {
    "scaling": gettext_lazy(
        "%(ratio)s times one machine alone: %(value)s in sum against "
        "%(baseline)s, %(runs)s against %(baseline_runs)s."
    ),
    "slowdown": gettext_lazy(
        "%(slot)s: slowdown %(ratio)s of this system alone: %(value)s against "
        "%(baseline)s, %(runs)s against %(baseline_runs)s."
    ),
    "efficiency": gettext_lazy(
        "%(ratio)s of native: %(value)s against %(baseline)s, "
        "%(runs)s against %(baseline_runs)s."
    ),
}


@dataclass(frozen=True, slots=True)
class CellView:
    """What a cell shows. ``shade`` is empty where there is no ratio to shade."""

    id: int
    kind: str
    shade: str
    main: str
    sub: str
    n: str
    state: str
    interval: str = ""
    sign: str = ""
    is_withheld: bool = False
    """Whether there is a ratio of which a flag lets nothing be said."""

    @property
    def look(self) -> str:
        """The CSS classes of the background."""
        shade = f"heat-{self.shade}" if self.shade else f"cell-{self.kind}"
        return f"{shade} withheld" if self.is_withheld else shade


@dataclass(frozen=True)
class IntervalBar:
    """Places in percent of a log axis of ratios whose middle is 1."""

    margin: tuple[str, str]
    interval: tuple[str, str]
    ratio: str
    ends: tuple[str, str]
    middle: str = "1"
    strength: str = ""


def cell_view(
    row: ComparisonRow,
    mark: VerdictMark | None = None,
    show: str = "efficiency",
    *,
    is_n_told: bool = True,
    decimals: int | None = None,
) -> CellView:
    """Return the texts of a cell; ``mark`` is its verdict if it has no judgement."""
    seen = row.shown
    kind, shade = "plain", ""
    # What may not be compared is a number without a colour.
    if seen.ratio is not None and seen.light != "red":
        kind, shade = "ratio", figures.heat(seen.ratio)
    elif seen.full_state in VALUES:
        kind = "value"

    verdict, is_weak = "", False
    if mark:
        verdict, is_weak = mark.verdict, mark.is_weak
    elif seen.judgement:
        verdict, is_weak = seen.judgement.verdict, seen.judgement.is_weak
    is_withheld = bool(mark and mark.is_flagged and shade)

    interval, value = "", row_figure(seen, decimals=decimals)
    if seen.measure is ENERGY_PER_WORK:
        main, sub = energy_texts(row)
    elif seen.ratio_range is not None and show != VALUE:
        main, sub = verdicts.ratio_range_text(row, show), value
    elif seen.ratio is None or show == VALUE:
        main, sub = value, ""
    else:
        main, sub = ratio_text(row, show), value
        interval = verdicts.shown_interval(row, show)

    state = states.state_name(seen.full_state)
    if seen.speeds:
        state = _("bimodal")
    # The name of this state promises a ratio; it is silent where there is one.
    elif seen.full_state == "paired":
        state = _("no ratio")
    is_silent = seen.full_state in SILENT and bool(seen.ratio or kind == "value")
    return CellView(
        id=row.id,
        kind=kind,
        shade=shade,
        main=main,
        sub=sub,
        n=f"n {seen.n}" if is_n_told else "",
        state="" if is_silent else state,
        interval=interval,
        sign=verdicts.FLAGGED
        if is_withheld
        else verdicts.verdict_sign(verdict, is_weak=is_weak),
        is_withheld=is_withheld,
    )


def full_figure(row: ComparisonRow) -> str:
    """Return a row's mean with its unit; a single run with all its digits."""
    is_whole = row.shown.n == 1 and row.shown.energy is None
    figure = wording.quantity(
        row.shown.value, row.shown.unit, whole=is_whole, within=row.shown.within
    )
    return figure or row_figure(row.shown, row.shown.unit)


def baseline_figure(row: ComparisonRow) -> str:
    """Return the mean that a row is compared with, with its unit."""
    is_whole = row.shown.baseline_n == 1 and row.shown.energy is None
    return wording.quantity(row.shown.baseline_value, row.shown.unit, whole=is_whole)


def row_figure(shown: Shown, unit: str = "", *, decimals: int | None = None) -> str:
    """Return a row's mean, both speeds or its range, with given ``decimals``."""
    if shown.value is not None:
        value, within = shown.value, shown.within
        return wording.quantity(value, unit, within=within, decimals=decimals)
    ends = both_ends(shown)
    if ends is None:
        return ""
    text = " | ".join(ends) if shown.speeds else wording.span_text(*ends)
    return f"{text}\N{NO-BREAK SPACE}{unit}" if unit else text


def both_ends(shown: Shown) -> tuple[str, str] | None:
    """Return both speeds, or the ends of a range; None where there is one figure."""
    if shown.speeds:
        low, high = figures.told_apart(*shown.speeds)
        return figures.exact(low), figures.exact(high)
    if shown.range is not None:
        low, high = shown.range
        return figures.brief(low), figures.brief(high)
    return None


def in_legible_units(group: CaseGroup) -> CaseGroup:
    """Return rows in readable units, stated once if all rows share one."""
    rows = []
    for row in group.rows:
        shown = [cell.shown for cell in row.cells if cell]
        values = [it.value for it in shown]
        values += [end for it in shown for end in (*it.speeds, *(it.range or ()))]
        factor, unit = figures.legible(row.unit or group.unit, values)
        metric = next(cell.case.metric for cell in row.cells if cell)
        cells = row.cells
        if factor != 1:
            cells = tuple(cell and _times(cell, factor) for cell in cells)
        rows.append(replace(row, unit=wording.rate_unit(metric, unit), cells=cells))
    units = {row.unit for row in rows}
    if len(units) > 1:
        return replace(group, unit="", rows=tuple(rows))
    shared = tuple(replace(row, unit="") for row in rows)
    return replace(group, unit=units.pop(), rows=shared)


def _times(row: ComparisonRow, factor: float) -> ComparisonRow:
    def many(values: Iterable[float]) -> tuple[float, ...]:
        return tuple(figures.times(value, factor) for value in values)

    shown = row.shown
    finer = replace(
        shown,
        value=None if shown.value is None else figures.times(shown.value, factor),
        speeds=many(shown.speeds),
        range=cast(figures.Interval, many(shown.range)) if shown.range else None,
        within=cast(figures.Interval, many(shown.within)) if shown.within else None,
    )
    return replace(row, shown=finer)


def row_decimals(cells: Iterable[ComparisonRow | None]) -> int:
    """Return the decimals that all values of a row have which have no interval."""
    shown = (cell.shown for cell in cells if cell)
    return figures.decimals_beside(it.value for it in shown if it.within is None)


def drawn_rows(
    table: ComparisonTable,
) -> tuple[list[tuple[CaseGroup, CaseRow]], list[int]]:
    """Return the rows with a drawn ratio, and the places of the columns with one."""
    rows = [
        (group, row)
        for group in table.groups
        for row in group.rows
        if any(cell and cell.shown.is_drawn for cell in row.cells)
    ]
    places = {
        place
        for _group, row in rows
        for place, cell in enumerate(row.cells)
        if cell and cell.shown.is_drawn
    }
    return rows, sorted(places)


def sentence(row: ComparisonRow) -> str:
    """Return the cell in full: for the tooltip and for those who hear the page."""
    seen = row.shown
    if seen.measure is ENERGY_PER_WORK:
        return energy_sentence(row)
    runs = wording.runs_text(seen.n)
    if seen.ratio is None:
        state = seen.full_state
        meaning = wording.said(seen.reason) or states.state_meaning(state)
        text = f"{full_figure(row)}, {runs}. {states.state_name(state)}: {meaning}"
        if seen.ratio_range is None:
            return text.rstrip(": ")
        extremes = verdicts.ratio_range_text(row, "")
        ratios = _("Ratios of the extremes: %(range)s.") % {"range": extremes}
        judged = verdicts.judgement_sentence(seen.judgement)
        return " ".join(filter(None, (text.rstrip(": "), ratios, judged)))
    against = str(AGAINST.get(seen.kind, OF_REFERENCE))
    against %= {
        "slot": wording.slot_of_vms(row.slot, row.vms),
        "ratio": figures.ratio(seen.ratio, seen.interval),
        "value": full_figure(row),
        "baseline": baseline_figure(row),
        "runs": runs,
        "baseline_runs": wording.runs_text(seen.baseline_n or 0),
    }
    is_plain = seen.state in {"paired", "relative", "slowdown"}
    caution = "" if is_plain else wording.said(seen.reason)
    if seen.light == "amber":
        care = wording.said(seen.light_sentence)
        caution = caution if care in caution else f"{caution} {care}".strip()
    parts = (against, verdicts.judgement_sentence(seen.judgement), caution)
    return " ".join(filter(None, parts))


def reach(judgements: list[Judgement], margin: float) -> float:
    """Return how far from 1 an axis must go to hold these intervals, as a log."""
    ratios = [
        ratio
        for judgement in judgements
        for ratio in (judgement.low, judgement.high, judgement.ratio)
        if ratio and ratio > 0
    ]
    # The margin takes at most half of the axis.
    farthest = max([2 * log1p(margin), *(abs(log(ratio)) for ratio in ratios)])
    return min(farthest * BAR_ROOM, BAR_WIDEST)


def interval_bar(
    judgement: Judgement, margin: float, reach: float, *, is_overhead: bool = False
) -> IntervalBar | None:
    """Return the bar of a judgement; None where there is no interval."""
    low, high, ratio = judgement.low, judgement.high, judgement.ratio
    if low is None or high is None or ratio is None:
        return None
    ends = (exp(-reach), exp(reach))
    write = figures.overhead if is_overhead else figures.ratio
    return IntervalBar(
        margin=_ends(1 - margin, 1 + margin, ends),
        interval=_ends(low, high, ends),
        ratio=f"{100 * figures.place(ratio, *ends):.2f}%",
        ends=(write(ends[0]), write(ends[1])),
        middle=write(1) if is_overhead else "1",
        strength=judgement.strength,
    )


def _ends(low: float, high: float, ends: tuple[float, float]) -> tuple[str, str]:
    """Return where a bar begins and how wide it is."""
    begin, end = (100 * figures.place(edge, *ends) for edge in (low, high))
    # What is narrower would not be seen.
    return f"{begin:.2f}%", f"{max(end - begin, 0.6):.2f}%"
