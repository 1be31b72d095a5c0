"""Comparison rows as table cells, sentences and interval bars."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, log, log1p
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.assessment import CellAssessment
from benchmarks.comparison.comparison_row import (
    ENERGY_PER_WORK,
    ComparisonRow,
    FigureLike,
)
from benchmarks.comparison.comparison_table import CaseGroup, CaseRow, ComparisonTable
from benchmarks.comparison.study_verdicts import CellVerdict
from dashboard import wording
from dashboard.kit import formatting
from dashboard.wording import Text, state_names, verdicts
from dashboard.wording.verdicts import (
    MEASURED_VALUE,
    energy_cell_texts,
    energy_sentence,
    ratio_text,
)

UNLABELLED_STATES = {"paired", "native", "metered"}
VALUE_STATES = {"native", "reference"}
# A ratio to other machines has the colour of its level instead of its size.
KINDS_ON_OTHER_MACHINES = {"same_model": "same-model", "same_cpu": "same-cpu"}
# The axis of interval bars is longer by this factor than the farthest value needs, but
# not longer than this logarithm of a ratio.
BAR_MARGIN_FACTOR = 1.15
MAX_BAR_LOG = log(64)
REFERENCE_SENTENCE: Text = gettext_lazy(
    "%(percent)s of the reference system's performance: %(value)s vs. %(baseline)s, "
    "%(runs)s vs. %(baseline_runs)s."
)
RATIO_SENTENCES: dict[str, Text] = {
    "scaling": gettext_lazy(
        "%(ratio)s times the performance of one machine alone: total %(value)s vs. "
        "%(baseline)s, %(runs)s vs. %(baseline_runs)s."
    ),
    "slowdown": gettext_lazy(
        "%(slot)s: %(percent)s of the performance of one VM alone: %(value)s vs. "
        "%(baseline)s, %(runs)s vs. %(baseline_runs)s."
    ),
    "efficiency": gettext_lazy(
        "%(percent)s of native performance: %(value)s vs. %(baseline)s, %(runs)s vs. "
        "%(baseline_runs)s."
    ),
}


@dataclass(frozen=True, slots=True)
class CellView:
    id: int
    kind: str
    shade: str
    main: str
    subtext: str
    n: str
    state: str
    interval: str = ""
    verdict_sign: str = ""
    is_withheld: bool = False
    """Whether a flag withholds the verdict."""

    @property
    def css_classes(self) -> str:
        shade = f"heat-{self.shade}" if self.shade else f"cell-{self.kind}"
        return f"{shade} withheld" if self.is_withheld else shade


@dataclass(frozen=True)
class IntervalBar:
    """Interval bar on a log axis with 1 in the middle; all numbers are in percent.

    ``margin`` and ``interval`` are (start, width).
    """

    margin: tuple[str, str]
    interval: tuple[str, str]
    ratio: str
    ends: tuple[str, str]
    middle: str = "1"
    interval_style: str = ""


def cell_view(
    row: ComparisonRow,
    cell_verdict: CellVerdict | None = None,
    show: str = "efficiency",
    *,
    shows_n: bool = True,
    decimals: int | None = None,
) -> CellView:
    """Return a row as a cell for display.

    ``cell_verdict`` replaces the assessment's. ``decimals`` applies without an
    interval.
    """
    result = row.result
    kind, shade = "plain", ""
    if result.ratio is not None and result.comparability != "none":
        kind = KINDS_ON_OTHER_MACHINES.get(result.display_state, "ratio")
        shade = formatting.ratio_shade(result.ratio) if kind == "ratio" else ""
    elif result.display_state in VALUE_STATES:
        kind = "value"

    verdict, is_weak = "", False
    if cell_verdict:
        verdict, is_weak = cell_verdict.verdict, cell_verdict.is_weak
    elif result.assessment:
        verdict, is_weak = result.assessment.verdict, result.assessment.is_weak
    is_withheld = bool(cell_verdict and cell_verdict.is_flagged and shade)

    interval, value = "", value_text(result, decimals=decimals)
    if result.measure is ENERGY_PER_WORK:
        main, sub = energy_cell_texts(row)
    elif result.ratio_range is not None and show != MEASURED_VALUE:
        main, sub = verdicts.ratio_range_text(row, show), value
    elif result.ratio is None or show == MEASURED_VALUE:
        main, sub = value, ""
    else:
        main, sub = ratio_text(row, show), value
        interval = verdicts.displayed_interval(row, show)

    return CellView(
        id=row.id,
        kind=kind,
        shade=shade,
        main=main,
        subtext=sub,
        n=f"n {result.n}" if shows_n and result.n else "",
        state=_state_text(row, cell_verdict, is_value=kind == "value"),
        interval=interval,
        verdict_sign=verdicts.FLAG_SIGN
        if is_withheld
        else verdicts.verdict_sign(verdict, is_weak=is_weak),
        is_withheld=is_withheld,
    )


def _state_text(
    row: ComparisonRow, cell_verdict: CellVerdict | None, *, is_value: bool
) -> str:
    result = row.result
    if cell_verdict and cell_verdict.has_suspect_clock:
        return _("suspect clock")
    if result.display_state in UNLABELLED_STATES and (result.ratio or is_value):
        return ""
    if result.mode_medians:
        return _("bimodal")
    # "Matched baseline" implies a ratio: say "no ratio" if there is none.
    if result.display_state == "paired":
        return _("no ratio")
    return state_names.state_name(result.display_state)


def full_value_text(row: ComparisonRow) -> str:
    is_exact = row.result.n == 1 and row.result.energy is None
    figure = wording.quantity(
        row.result.value,
        row.result.unit,
        exact=is_exact,
        interval=row.result.value_interval,
    )
    return figure or value_text(row.result, row.result.unit)


def baseline_value_text(row: ComparisonRow) -> str:
    is_exact = row.result.baseline_n == 1 and row.result.energy is None
    return wording.quantity(row.result.baseline_value, row.result.unit, exact=is_exact)


def value_text(
    figure: FigureLike, unit: str = "", *, decimals: int | None = None
) -> str:
    if figure.value is not None:
        value, interval = figure.value, figure.value_interval
        return wording.quantity(value, unit, interval=interval, decimals=decimals)
    ends = speeds_or_range(figure)
    if ends is None:
        return ""
    text = " | ".join(ends) if figure.mode_medians else wording.range_text(*ends)
    return formatting.with_unit(text, unit)


def speeds_or_range(figure: FigureLike) -> tuple[str, str] | None:
    if figure.mode_medians:
        low, high = formatting.round_to_difference(*figure.mode_medians)
        return formatting.exact(low), formatting.exact(high)
    if figure.range is not None:
        low, high = figure.range
        return formatting.measurement(low), formatting.measurement(high)
    return None


def with_readable_units(group: CaseGroup) -> CaseGroup:
    """Convert a group's values to readable units; the group states a common unit."""
    rows = []
    for row in group.rows:
        results = [cell.result for cell in row.cells if cell]
        values = [result.value for result in results]
        values += [
            end
            for result in results
            for end in (*result.mode_medians, *(result.range or ()))
        ]
        factor, unit = formatting.readable_unit(row.unit or group.unit, values)
        metric = next(cell.case.metric for cell in row.cells if cell)
        cells = row.cells
        if factor != 1:
            cells = tuple(cell and _scaled_row(cell, factor) for cell in cells)
        rows.append(replace(row, unit=wording.rate_unit(metric, unit), cells=cells))
    units = {row.unit for row in rows}
    if len(units) > 1:
        return replace(group, unit="", rows=tuple(rows))
    shared = tuple(replace(row, unit="") for row in rows)
    return replace(group, unit=units.pop(), rows=shared)


def _scaled_row(row: ComparisonRow, factor: float) -> ComparisonRow:
    def scale_all(values: Iterable[float]) -> tuple[float, ...]:
        return tuple(formatting.scaled(value, factor) for value in values)

    result = row.result
    scaled_result = result._replace(
        value=None if result.value is None else formatting.scaled(result.value, factor),
        mode_medians=scale_all(result.mode_medians),
        range=cast(formatting.Interval, scale_all(result.range))
        if result.range
        else None,
        value_interval=cast(formatting.Interval, scale_all(result.value_interval))
        if result.value_interval
        else None,
    )
    return row._replace(result=scaled_result)


def row_decimals(cells: Iterable[ComparisonRow | None]) -> int:
    results = (cell.result for cell in cells if cell)
    return formatting.shared_decimals(
        result.value for result in results if result.value_interval is None
    )


def charted_rows(
    table: ComparisonTable,
) -> tuple[list[tuple[CaseGroup, CaseRow]], list[int]]:
    rows = [
        (group, row)
        for group in table.groups
        for row in group.rows
        if any(cell and cell.result.is_chartable for cell in row.cells)
    ]
    columns = {
        index
        for _group, row in rows
        for index, cell in enumerate(row.cells)
        if cell and cell.result.is_chartable
    }
    return rows, sorted(columns)


def cell_sentence(row: ComparisonRow) -> str:
    """Return everything that a cell shows as sentences."""
    result = row.result
    if result.measure is ENERGY_PER_WORK:
        return energy_sentence(row)
    runs = wording.runs_text(result.n)
    failed = failed_text(row)
    if not result.n:
        return failed
    if result.ratio is None:
        state = result.display_state
        name, meaning = state_names.state_name(state), state_names.state_meaning(state)
        reason = wording.translate_text(result.reason) or meaning
        text = f"{full_value_text(row)}, {runs}. {name}: {reason}"
        if result.ratio_range is None:
            return " ".join(filter(None, (text.rstrip(": "), failed)))
        extremes = verdicts.ratio_range_text(row, "")
        ratios = _("Range of ratios: %(range)s.") % {"range": extremes}
        assessment_text = verdicts.assessment_sentence(result.assessment)
        parts = (text.rstrip(": "), ratios, assessment_text, failed)
        return " ".join(filter(None, parts))
    sentence = str(RATIO_SENTENCES.get(result.ratio_kind, REFERENCE_SENTENCE))
    sentence %= {
        "slot": wording.slot_of_total(row.slot, row.vms),
        "ratio": formatting.ratio(result.ratio, result.interval),
        "percent": formatting.ratio_percent(result.ratio, result.interval),
        "value": full_value_text(row),
        "baseline": baseline_value_text(row),
        "runs": runs,
        "baseline_runs": wording.runs_text(result.baseline_n or 0),
    }
    is_plain = result.state in {"paired", "relative", "slowdown"}
    caution = "" if is_plain else wording.translate_text(result.reason)
    if result.comparability == "limited":
        comparability_note = wording.translate_text(result.comparability_reason)
        caution = (
            caution
            if comparability_note in caution
            else f"{caution} {comparability_note}".strip()
        )
    parts = (sentence, verdicts.assessment_sentence(result.assessment), caution, failed)
    return " ".join(filter(None, parts))


def failed_text(row: ComparisonRow) -> str:
    result = row.result
    return wording.failed_runs_text(result.failed_runs, result.n, result.failure)


def bar_axis_limit(assessments: list[CellAssessment], margin: float) -> float:
    ratios = [
        ratio
        for assessment in assessments
        for ratio in (assessment.low, assessment.high, assessment.ratio)
        if ratio and ratio > 0
    ]
    farthest = max([2 * log1p(margin), *(abs(log(ratio)) for ratio in ratios)])
    return min(farthest * BAR_MARGIN_FACTOR, MAX_BAR_LOG)


def interval_bar(
    assessment: CellAssessment,
    margin: float,
    axis_limit: float,
    *,
    is_overhead: bool = False,
) -> IntervalBar | None:
    """Return the bar of an assessment; None without an interval.

    ``axis_limit`` is a log ratio.
    """
    low, high, ratio = assessment.low, assessment.high, assessment.ratio
    if low is None or high is None or ratio is None:
        return None
    ends = (exp(-axis_limit), exp(axis_limit))
    write = formatting.overhead if is_overhead else formatting.ratio
    return IntervalBar(
        margin=_bar_span(1 - margin, 1 + margin, ends),
        interval=_bar_span(low, high, ends),
        ratio=f"{100 * formatting.axis_position(ratio, *ends):.2f}%",
        ends=(write(ends[0]), write(ends[1])),
        middle=write(1) if is_overhead else "1",
        interval_style=assessment.interval_style,
    )


def _bar_span(low: float, high: float, ends: tuple[float, float]) -> tuple[str, str]:
    begin, end = (100 * formatting.axis_position(edge, *ends) for edge in (low, high))
    # A narrower bar would be invisible.
    return f"{begin:.2f}%", f"{max(end - begin, 0.6):.2f}%"
