"""Comparison rows: one cell relative to its baseline, in one measure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from benchmarks.analysis.assessment import CellAssessment, TableRatio
from benchmarks.analysis.cell_statistics import resolution
from benchmarks.analysis.energy_ratio import EnergyRatio, MeterFacts
from benchmarks.analysis.intervals import WELCH_RUNS, mean_interval
from benchmarks.analysis.verdict_reasons import THEN_RUN
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Case, Cell, Efficiency, Study, System
from benchmarks.sentences import (
    Sentence,
    join_sentences,
    pluralized,
    sentence_from_json,
    with_unit,
)


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    verdicts: tuple[str, ...]
    lower_is_better: bool = False


RELATIVE_SPEED = Measure("speed", ("slower", "faster", "equivalent", "undetermined"))
ENERGY_PER_WORK = Measure(
    "energy", ("less", "more", "equivalent", "undetermined"), lower_is_better=True
)
State = Efficiency.State
NOT_COMPARED_YET = "waiting"
FAILED = "failed"
"""The state of a cell whose runs all failed."""
RATIO_KINDS: Mapping[str, str] = {
    State.AGAINST_REFERENCE: "relative",
    State.OTHER_HOST: "relative",
    State.SCALING: "scaling",
    State.SLOWDOWN: "slowdown",
}
NO_SINGLE_FIGURE = "no_single_figure"
CIRCUMSTANCES = ("scenario", "vms", "slot", "load")
FIGURE_SHAPE_FIELDS = ("shape", "shape_codes", "minimum", "maximum")
FIGURE_FIELDS = ("system", "case", *CIRCUMSTANCES, "n", "mean", *FIGURE_SHAPE_FIELDS)
"""The fields of a cell that `cell_figure` needs. Other fields are larger."""


class CellFields(NamedTuple):
    """The fields of a cell that rows need, read by `row_queries`."""

    case_id: int
    scenario: str
    vms: int | None
    slot: str
    load: str
    pk: int
    system_id: int
    clock: str
    mean: float | None
    n: int
    m2: float | None
    decimals: int | None
    display_step: float | None
    document: str
    table: str
    minimum: float | None
    maximum: float | None
    shape_codes: str
    failed_runs: int
    failure: str
    shape: Mapping[str, Any] | None
    """Large, so read only if `shape_codes` is not empty."""


class FigureLike(Protocol):
    @property
    def value(self) -> float | None: ...
    @property
    def mode_medians(self) -> tuple[float, ...]: ...
    @property
    def range(self) -> tuple[float, float] | None: ...
    @property
    def value_interval(self) -> tuple[float, float] | None: ...


@dataclass(frozen=True)
class CellFigure:
    """The mean of a cell, or the modes and range that replace it without a single
    figure.
    """

    value: float | None
    shape_codes: tuple[str, ...] = ()
    reason: str = ""
    mode_medians: tuple[float, ...] = ()
    range: tuple[float, float] | None = None
    value_interval: tuple[float, float] | None = None
    """The 95 % interval of the value from its runs."""


@dataclass(frozen=True, slots=True)
class CellEnergy:
    """Energies (J) of a cell and its baseline per ``unit`` of work.

    ``assessment`` is missing if the two meters rule out an interval. ``sessions`` has
    an id per run, -1 if unknown.
    """

    unit: str
    joules_per_unit: tuple[float, ...]
    meter: MeterFacts
    gates: int = 0
    baseline_mean: float | None = None
    baseline_n: int = 0
    sessions: tuple[int, ...] = ()
    ratio: EnergyRatio | None = None
    assessment: CellAssessment | None = None

    @property
    def mean(self) -> float:
        return sum(self.joules_per_unit) / len(self.joules_per_unit)


class ComparisonResult(NamedTuple):
    """The result of a cell in one measure: a speed, or the energy of its work.

    ``value`` and ``baseline_value`` are means over runs in ``unit``. Without a single
    figure, they and ``ratio`` (unless it is robust) are missing, ``mode_medians`` are
    the two modes, ``range`` the lowest and highest run, and ``ratio_range`` the ratios
    of the extreme runs.

    ``ratio`` is 1 for the baseline, and a lower one is worse. ``ratio_kind`` names the
    reference: a native baseline ("efficiency"), a reference system ("relative"), one
    machine for a sum over VMs ("scaling"), the system with one VM ("slowdown").

    ``interval`` is the 95 % interval of ``displayed_ratio``. ``failed_runs`` are not
    among the ``n`` runs; ``failure`` is why most of them failed.
    """

    value: float | None
    unit: str
    better: str
    n: int
    baseline_value: float | None
    baseline_n: int | None
    baseline_system_id: int | None
    ratio: float | None
    ratio_kind: str
    state: str
    reason: str
    assessment: CellAssessment | None
    shape_codes: tuple[str, ...] = ()
    baseline_shape_codes: tuple[str, ...] = ()
    shape_sentence: str = ""
    mode_medians: tuple[float, ...] = ()
    range: tuple[float, float] | None = None
    measure: Measure = RELATIVE_SPEED
    energy: CellEnergy | None = None
    comparability: str = ""
    comparability_reason: str = ""
    ratio_range: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    value_interval: tuple[float, float] | None = None
    failed_runs: int = 0
    failure: str = ""

    @property
    def verdict_reasons(self) -> tuple[str, ...]:
        if self.assessment is not None:
            has_no_figure = bool(self.shape_codes or self.baseline_shape_codes)
            is_missing = has_no_figure and self.ratio is None
            is_missing &= self.assessment.is_assessed
            return (*self.assessment.sentences, *([self.reason] if is_missing else ()))
        if self.state == NOT_COMPARED_YET:
            return (Sentence("This result is still being processed."),)
        return (self.reason,) if self.reason else ()

    @property
    def advice(self) -> str:
        if self.assessment is not None:
            return self.assessment.advice
        if self.state == FAILED:
            return join_sentences(
                [
                    Sentence("Read the output of a failed run, and remove the cause."),
                    Sentence(THEN_RUN, least=WELCH_RUNS),
                ]
            )
        return ""

    @property
    def display_state(self) -> str:
        return (
            NO_SINGLE_FIGURE
            if self.shape_codes or self.baseline_shape_codes
            else self.state
        )

    @property
    def displayed_ratio(self) -> float | None:
        return self.energy_ratio.ratio if self.energy_ratio else self.ratio

    @property
    def is_chartable(self) -> bool:
        return self.ratio is not None and self.comparability != "none"

    @property
    def energy_ratio(self) -> EnergyRatio | None:
        return self.energy.ratio if self.energy and self.ratio is not None else None


class ComparisonRow(NamedTuple):
    """One cell relative to its baseline, the same in the API and on pages."""

    id: int
    study: str
    case: Case
    system: System
    scenario: str
    vms: int | None
    slot: str
    load: str
    clock: str
    document: str
    table: str
    result: ComparisonResult

    @property
    def key(self) -> tuple[Any, ...]:
        """The table row: cells of several systems in one row have the same key."""
        return (self.case.pk, self.scenario, self.vms, self.load, self.slot)

    @property
    def tool_title(self) -> str:
        return require_tool(self.case.tool).title

    @property
    def operation(self) -> str:
        return str(self.case.parameters.get("operation", ""))

    @property
    def access(self) -> str:
        return str(self.case.parameters.get("access", ""))

    @property
    def hw_virt(self) -> str:
        return str(self.system.options.get("hw_virt", ""))

    @property
    def guest_tools(self) -> str:
        return str(self.system.options.get("guest_tools", ""))


class BaselineComparison(NamedTuple):
    # `row_queries.EFFICIENCY_FIELDS` has the same order.
    state: str = NOT_COMPARED_YET
    ratio: float | None = None
    baseline_value: float | None = None
    baseline_n: int | None = None
    baseline_system_id: int | None = None
    reason: str = ""
    baseline_shape_codes: str = ""


def cell_figure(cell: Cell, unit: str = "") -> CellFigure:
    if not cell.shape_codes:
        return CellFigure(cell.mean)
    replacement = _mean_replacement(cell)
    shape = with_unit(replacement.sentence, unit)
    return CellFigure(
        None,
        shape_codes=replacement.codes,
        reason=no_single_figure_sentence(shape),
        mode_medians=replacement.mode_medians,
        range=replacement.range,
    )


class _MeanReplacement(NamedTuple):
    """Replacement of a mean that does not describe the runs."""

    codes: tuple[str, ...] = ()
    sentence: str = ""
    mode_medians: tuple[float, ...] = ()
    range: tuple[float, float] | None = None


NO_REPLACEMENT = _MeanReplacement()


def _mean_replacement(cell: Cell | CellFields) -> _MeanReplacement:
    shape: Mapping[str, Any] = cell.shape or {}
    medians = tuple(mode["centre"] for mode in shape.get("modes", ()))
    ends = None
    if cell.minimum is not None and cell.maximum is not None:
        ends = (cell.minimum, cell.maximum)
    return _MeanReplacement(
        codes=_split_codes(cell.shape_codes),
        sentence=sentence_from_json(shape),
        mode_medians=medians if len(medians) > 1 else (),
        range=ends if cell.shape_codes else None,
    )


def _split_codes(codes: str) -> tuple[str, ...]:
    return tuple(filter(None, codes.split(",")))


def no_single_figure_sentence(shape: str) -> Sentence:
    return Sentence("No single value: {shape}.", shape=shape)


def failed_comparison(cell: CellFields) -> BaselineComparison:
    reason = pluralized(
        "{n} run failed ({reason}), so there is no value.",
        "All {n} runs failed ({reason}), so there is no value.",
        n=cell.failed_runs,
        reason=cell.failure,
    )
    return BaselineComparison(FAILED, reason=reason)


def build_row(
    cell: CellFields,
    study: Study,
    case: Case,
    system: System,
    comparison: BaselineComparison,
    assessment: CellAssessment | None = None,
    comparability: tuple[str, str] = ("", ""),
    table_ratio: TableRatio | None = None,
) -> ComparisonRow:
    """Return the row of a cell for its performance, not its energy.

    If ``comparison`` has a ratio, the ratio of ``assessment`` replaces it, or without
    an assessment that of ``table_ratio``.
    """
    # Keyword arguments take three times as long: 50 ms for 20,000 rows.
    return ComparisonRow(
        cell.pk,
        study.slug,
        case,
        system,
        cell.scenario,
        cell.vms,
        cell.slot,
        cell.load,
        cell.clock,
        cell.document,
        cell.table,
        _speed_result(cell, case, comparison, assessment, comparability, table_ratio),
    )


def _speed_result(
    cell: CellFields,
    case: Case,
    comparison: BaselineComparison,
    assessment: CellAssessment | None,
    comparability: tuple[str, str],
    table_ratio: TableRatio | None,
) -> ComparisonResult:
    state, ratio, baseline_value, baseline_n, baseline_id, reason, baseline_codes = (
        comparison
    )
    codes = cell.shape_codes
    if assessment is not None:
        assessment = assessment.with_pairing_reason(reason)
        table_ratio = TableRatio(
            assessment.ratio, assessment.range, assessment.interval
        )
    if table_ratio is not None and ratio is not None:
        ratio = table_ratio.ratio or ratio
    ratio_range = None
    replacement = NO_REPLACEMENT
    if codes or baseline_codes:
        # A robust ratio, or one of alternating runs, is valid for any shape.
        if ratio is not None and not (table_ratio and table_ratio.ratio):
            ratio_range = table_ratio.range if table_ratio else None
            ratio = None
        replacement = _mean_replacement(cell)
        reason = Sentence("No single value describes the runs of the baseline.")
    if codes:
        reason = no_single_figure_sentence(with_unit(replacement.sentence, case.unit))
    return ComparisonResult(
        None if codes else cell.mean,
        case.unit,
        case.better,
        cell.n,
        None if baseline_codes else baseline_value,
        baseline_n,
        baseline_id,
        ratio,
        "" if ratio is None else RATIO_KINDS.get(state, "efficiency"),
        state,
        reason,
        assessment,
        replacement.codes,
        _split_codes(baseline_codes) if baseline_codes else (),
        replacement.sentence,
        replacement.mode_medians,
        replacement.range,
        RELATIVE_SPEED,
        None,
        comparability[0],
        comparability[1],
        ratio_range,
        table_ratio.interval if table_ratio and ratio is not None else None,
        _value_interval(cell),
        cell.failed_runs,
        cell.failure,
    )


def _value_interval(cell: CellFields) -> tuple[float, float] | None:
    n, mean, m2 = cell.n, cell.mean, cell.m2
    if cell.shape_codes or n < 2 or mean is None or m2 is None:
        return None
    step = resolution(cell.decimals, cell.display_step)
    interval = mean_interval(n, mean, m2, step)
    return (interval.low, interval.high) if interval else None
