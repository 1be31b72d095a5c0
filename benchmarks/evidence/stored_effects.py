"""Stored effects of studies, which pages over all studies read."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import fsum, isfinite, log
from typing import Any, Final, NamedTuple

import numpy as np
from django.db.models import Q

from benchmarks.analysis.intervals import NO_WARNINGS
from benchmarks.analysis.session_intervals import SessionDesign
from benchmarks.analysis.verdict_gates import (
    GATES_BY_STATE,
    ON_OTHER_MACHINES,
    SHAPE_GATES,
    Gate,
)
from benchmarks.analysis.verdicts import AssessmentArrays
from benchmarks.comparison.study_verdicts import (
    RANGE_FIELDS,
    primary_case_ids,
    study_verdicts,
)
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.evidence.baseline_doubts import (
    OTHER_DAY_VARIANCE,
    combined_native,
    doubt_variance,
    flag_differences,
    unmeasured_doubt_variance,
    unsteady_variance,
)
from benchmarks.evidence.model_effects import (
    limit_to_other_machines,
    models_of_cells,
)
from benchmarks.evidence.queries import Question, refresh_public_evidence
from benchmarks.models import (
    Case,
    Cell,
    Effect,
    EffectSummary,
    Efficiency,
    Flag,
    Study,
    System,
)
from benchmarks.studies.bulk_writes import insert_or_replace
from benchmarks.studies.flags import impossible_cells
from benchmarks.uploads.efficiencies import conflicting_native_means

MIN_RUNS: Final = 3
"""The scatter of two runs is not a usable variance: they may agree by chance."""
Exclusion = Effect.Exclusion
Doubt = Effect.Doubt
INCOMPARABLE: Final = (
    (Gate.NO_BASELINE, Exclusion.NO_NATIVE),
    (Gate.OTHER_HOST | Gate.SAME_CPU, Exclusion.OTHER_HOST),
    (Gate.OTHER_PARAMETERS, Exclusion.OTHER_PARAMETERS),
    (Gate.UNIT_MISMATCH, Exclusion.UNIT_MISMATCH),
    (Gate.ZERO, Exclusion.ZERO),
)
# Effects of co-running VMs on each other do not belong to the evidence.
SINGLE_SCENARIO: Final = {"scenario": "single", "load": ""}
EFFECT_FIELDS: Final = (
    *("lab_id", "study_id", "host_id", "machine_id", "system_id", "case_id"),
    *("hypervisor", "virtualization", "work_class"),
    *("log_ratio", "log_low", "log_high", "variance", "n", "verdict"),
    *("exclusion", "doubt", "machine_model", "provider"),
)
SUMMARY_FIELDS: Final = (
    *("system_id", "host_id", "work_class", "cell_count", "min_runs", "max_runs"),
    *("ratio_count", "min_log_ratio", "max_log_ratio", "log_ratio_sum"),
    "doubtful_count",
    *("sure_min_log_ratio", "sure_max_log_ratio", "sure_log_ratio_sum"),
    *("screened_count", "screened_min_log_ratio", "screened_max_log_ratio"),
    "screened_log_ratio_sum",
)


class EffectCell(NamedTuple):
    """A guest cell of a single VM, with its baseline."""

    pk: int
    system_id: int
    case_id: int
    vms: int | None
    mean: float
    minimum: float | None
    maximum: float | None
    original_id: int | None
    state: str
    baseline_id: int | None
    baseline_mean: float | None
    baseline_minimum: float | None
    baseline_maximum: float | None
    native_original_host_id: int | None

    @property
    def range_variance(self) -> float:
        ends = (
            (self.minimum, self.maximum),
            (self.baseline_minimum, self.baseline_maximum),
        )
        return fsum(unsteady_variance(low or 0.0, high or 0.0) for low, high in ends)


def store_effects(study: Study) -> None:
    effects = _effects(study)
    stored = {row.pk: row for row in Effect.objects.filter(study=study)}
    Effect.objects.filter(pk__in=stored.keys() - effects.keys()).delete()
    new = [effect for pk, effect in effects.items() if pk not in stored]
    changed = [
        effect
        for pk, effect in effects.items()
        if pk in stored and _values(effect) != _values(stored[pk])
    ]
    insert_or_replace(
        Effect,
        ("cell_id", *EFFECT_FIELDS),
        [(effect.pk, *_values(effect)) for effect in (*new, *changed)],
    )
    store_summaries(study, effects.values())
    if study.visibility == Study.Visibility.PUBLIC:
        deleted = [stored[pk] for pk in stored.keys() - effects.keys()]
        before = [stored[effect.pk] for effect in changed]
        refresh_public_evidence(
            Question(effect.hypervisor, effect.work_class)
            for effect in (*new, *changed, *before, *deleted)
            if effect.work_class
        )


def store_summaries(study: Study, effects: Iterable[Effect]) -> None:
    groups: dict[tuple[int, int, str], list[Effect]] = defaultdict(list)
    for effect in effects:
        groups[effect.system_id, effect.host_id, effect.work_class].append(effect)
    summaries = {
        (*key, *_summarize(members)) for key, members in sorted(groups.items())
    }
    stored = EffectSummary.objects.filter(study=study)
    if set(stored.values_list(*SUMMARY_FIELDS)) == summaries:
        return
    stored.delete()
    EffectSummary.objects.bulk_create(
        EffectSummary(study=study, **dict(zip(SUMMARY_FIELDS, values, strict=True)))
        for values in summaries
    )


def _summarize(effects: Collection[Effect]) -> tuple[float, ...]:
    usable = [
        effect
        for effect in effects
        if effect.log_ratio is not None
        and effect.exclusion not in Effect.UNUSABLE_EXCLUSIONS
    ]
    screened = [effect for effect in usable if effect.exclusion in Effect.SCREENED]
    counted = [effect for effect in usable if effect.exclusion not in Effect.SCREENED]
    runs = [effect.n for effect in counted]
    return (
        len(effects),
        min(runs, default=0),
        max(runs, default=0),
        len(counted),
        *_range_and_sum(counted),
        sum(bool(effect.doubt) for effect in counted),
        *_range_and_sum(effect for effect in counted if not effect.doubt),
        len(screened),
        *_range_and_sum(screened),
    )


def _range_and_sum(effects: Iterable[Effect]) -> tuple[float, float, float]:
    ratios = [effect.log_ratio or 0.0 for effect in effects]
    return min(ratios, default=0.0), max(ratios, default=0.0), fsum(ratios)


def _values(effect: Effect) -> tuple[Any, ...]:
    return tuple(getattr(effect, name) for name in EFFECT_FIELDS)


def _effects(study: Study) -> dict[int, Effect]:
    cells = _effect_cells(study)
    systems = System.objects.select_related("host__lab").in_bulk(
        {cell.system_id for cell in cells}
    )
    cases = Case.objects.in_bulk({cell.case_id for cell in cells})
    primary = primary_case_ids(cases)
    work_classes = {
        pk: require_tool(case.tool).work_class_of(case.metric, case.parameters)
        for pk, case in cases.items()
    }
    verdicts = study_verdicts(study, is_part_of_check=True)
    assessments = verdicts.assessments
    numbers = _numbers(assessments)
    untimed = assessments.design_intervals.has_design(SessionDesign.ASSUMED_ONE_SESSION)
    impossible = impossible_cells(study)
    flag_doubts = _flag_doubts(study)
    conflicting = conflicting_native_means(
        {cell.pk for cell in cells if cell.state == Efficiency.State.AMBIGUOUS}
    )
    models = models_of_cells(cells, systems, cases)
    effects = {}
    for cell in cells:
        system, case = systems[cell.system_id], cases[cell.case_id]
        row = verdicts.row_by_cell.get(cell.pk)
        if row is None or system.is_native or cell.case_id not in primary:
            continue
        if (cell.vms or 1) > 1:
            continue
        log_ratio, log_low, log_high, variance, own_variance = (
            column[row] for column in numbers
        )
        n = int(min(assessments.n[row], assessments.baseline_n[row]))
        gates = _gates(assessments, row)
        doubts: list[tuple[str, float]] = []
        if means := conflicting.get(cell.pk):
            native, disagreement = combined_native(means)
            sign = 1 if case.better == "higher" else -1
            log_ratio = sign * (log(cell.mean) - native) if cell.mean > 0 else None
            n, variance = int(assessments.n[row]), own_variance
            doubts.append((Doubt.BASELINES_DISAGREE, disagreement))
        doubts += _doubts(cell, gates, flag_doubts, case.component)
        if n < MIN_RUNS:
            variance = None
        if variance is not None:
            # Add the possible shift of the mean by the order of the runs.
            variance += float(assessments.log_stretch[row]) ** 2
            variance += fsum(added for _, added in doubts)
        effect = Effect(
            cell_id=cell.pk,
            lab_id=study.lab_id,
            study_id=study.pk,
            host_id=system.host_id,
            machine_id=cell.native_original_host_id or system.host_id,
            system_id=cell.system_id,
            case_id=cell.case_id,
            hypervisor=system.hypervisor,
            virtualization=system.virtualization,
            work_class=work_classes[cell.case_id],
            log_ratio=log_ratio,
            log_low=log_low,
            log_high=log_high,
            variance=variance,
            n=n,
            verdict=int(assessments.verdict[row]),
            exclusion=_exclusion(
                cell,
                gates,
                system,
                n,
                (log_ratio, variance),
                is_impossible=cell.pk in impossible,
                is_untimed=bool(untimed[row]),
            ),
            doubt=doubts[0][0] if doubts else "",
        )
        if gates & ON_OTHER_MACHINES:
            limit_to_other_machines(effect, models.get(cell.pk))
        effects[cell.pk] = effect
    return effects


def _gates(assessments: AssessmentArrays, row: int) -> int:
    gates = int(assessments.gates[row])
    if assessments.is_separated[row]:
        # Separation decides the direction but does not give a ratio.
        gates |= int(assessments.shape_gates[row])
    return gates


def _effect_cells(study: Study) -> list[EffectCell]:
    rows = (
        Cell.objects.filter(study=study, n__gt=0, **SINGLE_SCENARIO)
        .exclude(efficiency__state__in=STATES_WITHOUT_EFFECT)
        .exclude(efficiency=None)
        .values_list(
            *("pk", "system_id", "case_id", "vms", "mean", "minimum", "maximum"),
            *("original_id", "efficiency__state", "efficiency__baseline_id"),
            *(f"efficiency__baseline__{name}" for name in ("mean", *RANGE_FIELDS)),
            "efficiency__baseline__original__system__host_id",
        )
    )
    return [EffectCell(*row) for row in rows]


def _flag_doubts(study: Study) -> dict[int, list[tuple[str, dict[float, float]]]]:
    """Return the flags that doubt a cell: a kind of doubt, and differences by mean."""
    is_doubt = Q(severity="implausible") | Q(rule="baselines-disagree")
    flags = {
        flag.pk: flag
        for flag in study.flags.current()
        .exclude(status=Flag.Status.DISMISSED)
        .filter(is_doubt)
    }
    doubts: dict[int, list[tuple[str, dict[float, float]]]] = defaultdict(list)
    links = Flag.cells.through._default_manager.filter(flag__in=flags)
    for flag_id, cell_id in links.order_by("flag_id").values_list("flag_id", "cell_id"):
        flag = flags[flag_id]
        is_native = flag.rule in ("baselines-disagree", "baseline-too-slow")
        kind = Doubt.BASELINES_DISAGREE if is_native else Doubt.FLAGGED
        doubts[cell_id].append((kind, flag_differences(flag.rule, flag.evidence)))
    return doubts


def _doubts(
    cell: EffectCell,
    gates: int,
    flag_doubts: Mapping[int, Sequence[tuple[str, dict[float, float]]]],
    component: str,
) -> Iterator[tuple[str, float]]:
    """Yield the doubts about a cell or its baseline, and the variance of each."""
    for pk, mean in ((cell.pk, cell.mean), (cell.baseline_id, cell.baseline_mean)):
        for kind, differences in flag_doubts.get(pk or 0, ()):
            difference = differences.get(mean or 0.0)
            yield (
                kind,
                unmeasured_doubt_variance(component)
                if difference is None
                else doubt_variance(difference),
            )
    if gates & int(Gate.STALE_BASELINE):
        yield Doubt.STALE, OTHER_DAY_VARIANCE
    elif gates & int(Gate.UNREPEATED):
        yield Doubt.OTHER_SESSION, OTHER_DAY_VARIANCE
    if gates & int(Gate.ORDER_CONFOUNDED):
        yield Doubt.ORDER, unmeasured_doubt_variance(component)
    if gates & int(SHAPE_GATES):
        yield Doubt.NO_STEADY_STATE, cell.range_variance
    if gates & int(Gate.NOISY_BASELINE):
        # The variance of the runs says it all.
        yield Doubt.NOISY, 0.0


STATES_WITHOUT_EFFECT: Final = tuple(
    state
    for state in GATES_BY_STATE
    if GATES_BY_STATE[state]
    & (Gate.NATIVE | Gate.UNDIRECTED | Gate.SCALING | Gate.SLOWDOWN | Gate.NO_SPEED)
)


@NO_WARNINGS
def _numbers(assessments: AssessmentArrays) -> tuple[list[float | None], ...]:
    intervals = assessments.intervals
    log_ratio = np.log(intervals.ratio)
    half_width = intervals.log_half_width
    columns = (
        log_ratio,
        log_ratio - half_width,
        log_ratio + half_width,
        assessments.pooling_variance,
        assessments.design_intervals.cell.log_variance(assessments.n),
    )
    return tuple(
        [value if isfinite(value) else None for value in column.tolist()]
        for column in columns
    )


def _exclusion(
    cell: EffectCell,
    gates: int,
    system: System,
    n: int,
    effect: tuple[float | None, float | None],
    *,
    is_impossible: bool,
    is_untimed: bool,
) -> str:
    log_ratio, variance = effect
    no_interval = gates & int(Gate.NOISY_BASELINE | Gate.NO_INTERVAL)
    reasons = (
        (
            cell.state == Efficiency.State.AGAINST_REFERENCE,
            Exclusion.AGAINST_REFERENCE,
        ),
        (system.is_emulated, Exclusion.EMULATION),
        *((gates & int(gate), exclusion) for gate, exclusion in INCOMPARABLE),
        (log_ratio is None, Exclusion.ZERO),
        (cell.original_id is not None, Exclusion.COPY),
        (is_impossible, Exclusion.IMPOSSIBLE),
        (gates & int(Gate.CLOCK_SUSPECT), Exclusion.CLOCK_SUSPECT),
        # Single runs do not claim to know a variance.
        (n < MIN_RUNS, Exclusion.SINGLE_RUN),
        (is_untimed or gates & int(Gate.SUMMARIZED), Exclusion.UNTIMED),
        (not variance and no_interval, Exclusion.NO_INTERVAL),
        (not variance, Exclusion.NO_SPREAD),
    )
    return next((exclusion for holds, exclusion in reasons if holds), "")
