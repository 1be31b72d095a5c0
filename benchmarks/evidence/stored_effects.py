"""Stored effects of studies, which pages over all studies read."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from math import fsum, isfinite
from typing import Any, Final

import numpy as np

from benchmarks.analysis.intervals import NO_WARNINGS
from benchmarks.analysis.verdict_gates import GATES_BY_STATE, SHAPE_GATES, Gate
from benchmarks.analysis.verdicts import AssessmentArrays
from benchmarks.comparison.study_verdicts import primary_case_ids, study_verdicts
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.evidence.queries import Question, refresh_public_evidence
from benchmarks.models import (
    Case,
    Cell,
    Effect,
    EffectSummary,
    Efficiency,
    Study,
    System,
)
from benchmarks.studies.bulk_writes import insert_or_replace
from benchmarks.studies.flags import impossible_cells

MIN_RUNS: Final = 3
"""The scatter of two runs is not a usable variance: they may agree by chance."""
Exclusion = Effect.Exclusion
EXCLUSIONS_BY_GATE: Final = (
    (Gate.NO_BASELINE, Exclusion.NO_NATIVE),
    (Gate.OTHER_HOST, Exclusion.OTHER_HOST),
    (Gate.OTHER_PARAMETERS, Exclusion.OTHER_PARAMETERS),
    (Gate.UNIT_MISMATCH, Exclusion.UNIT_MISMATCH),
    (Gate.AMBIGUOUS_BASELINE, Exclusion.AMBIGUOUS),
    (Gate.ZERO, Exclusion.ZERO),
    (Gate.FLAGGED, Exclusion.FLAGGED),
    (Gate.CLOCK_SUSPECT, Exclusion.CLOCK_SUSPECT),
    (Gate.NOISY_BASELINE | Gate.NO_INTERVAL, Exclusion.NOISY_BASELINE),
    (SHAPE_GATES, Exclusion.NO_STEADY_STATE),
)
# Effects of co-running VMs on each other do not belong to the evidence.
SINGLE_SCENARIO: Final = {"scenario": "single", "load": ""}
EFFECT_FIELDS: Final = (
    *("lab_id", "study_id", "host_id", "system_id", "case_id"),
    *("hypervisor", "virtualization", "work_class"),
    *("log_ratio", "log_low", "log_high", "variance", "n", "verdict", "exclusion"),
)

SUMMARY_FIELDS: Final = (
    *("system_id", "host_id", "work_class"),
    *("cell_count", "ratio_count", "min_log_ratio", "max_log_ratio", "log_ratio_sum"),
    *("min_runs", "max_runs", "flagged_count"),
    "impossible_count",
)


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
    impossible = impossible_cells(study)
    summaries = {
        (*key, *_summarize(members, impossible))
        for key, members in sorted(groups.items())
    }
    stored = EffectSummary.objects.filter(study=study)
    if set(stored.values_list(*SUMMARY_FIELDS)) == summaries:
        return
    stored.delete()
    EffectSummary.objects.bulk_create(
        EffectSummary(study=study, **dict(zip(SUMMARY_FIELDS, values, strict=True)))
        for values in summaries
    )


def _summarize(
    effects: Collection[Effect], impossible: Collection[int]
) -> tuple[float, ...]:
    usable = [
        (effect, effect.log_ratio)
        for effect in effects
        if effect.log_ratio is not None
        and effect.exclusion not in Effect.UNUSABLE_EXCLUSIONS
    ]
    possible = [pair for pair in usable if pair[0].pk not in impossible]
    ratios = [log_ratio for _, log_ratio in possible]
    runs = [effect.n for effect, _ in possible]
    return (
        len(effects),
        len(possible),
        min(ratios, default=0.0),
        max(ratios, default=0.0),
        fsum(ratios),
        min(runs, default=0),
        max(runs, default=0),
        sum(effect.exclusion == Exclusion.FLAGGED for effect, _ in possible),
        len(usable) - len(possible),
    )


def _values(effect: Effect) -> tuple[Any, ...]:
    return tuple(getattr(effect, name) for name in EFFECT_FIELDS)


def _effects(study: Study) -> dict[int, Effect]:
    columns = ("pk", "system_id", "case_id", "vms", "efficiency__state")
    cells = list(
        Cell.objects.filter(study=study, n__gt=0, **SINGLE_SCENARIO)
        .exclude(efficiency__state__in=STATES_WITHOUT_EFFECT)
        .exclude(efficiency=None)
        .values_list(*columns)
    )
    systems = System.objects.in_bulk({row[1] for row in cells})
    cases = Case.objects.in_bulk({row[2] for row in cells})
    primary = primary_case_ids(cases)
    work_classes = {
        pk: require_tool(case.tool).work_class_of(case.metric, case.parameters)
        for pk, case in cases.items()
    }
    verdicts = study_verdicts(study)
    assessments = verdicts.assessments
    numbers = _numbers(assessments)
    effects = {}
    for pk, system_id, case_id, vms, state in cells:
        system = systems[system_id]
        row = verdicts.row_by_cell.get(pk)
        if row is None or system.is_native or case_id not in primary or (vms or 1) > 1:
            continue
        log_ratio, log_low, log_high, variance = (column[row] for column in numbers)
        n = int(min(assessments.n[row], assessments.baseline_n[row]))
        gates = int(assessments.gates[row])
        if assessments.is_separated[row]:
            # Separation decides the direction but does not give a ratio.
            gates |= int(assessments.shape_gates[row])
        if variance is not None:
            # Add the possible shift of the mean by the order of the runs.
            variance += float(assessments.log_stretch[row]) ** 2
        if n < MIN_RUNS:
            variance = None
        exclusion = _exclusion(gates, state, system, n, variance)
        effects[pk] = Effect(
            cell_id=pk,
            lab_id=study.lab_id,
            study_id=study.pk,
            host_id=system.host_id,
            system_id=system_id,
            case_id=case_id,
            hypervisor=system.hypervisor,
            virtualization=system.virtualization,
            work_class=work_classes[case_id],
            log_ratio=log_ratio,
            log_low=log_low,
            log_high=log_high,
            variance=variance,
            n=n,
            verdict=int(assessments.verdict[row]),
            exclusion=exclusion,
        )
    return effects


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
        intervals.standard_error**2,
    )
    return tuple(
        [value if isfinite(value) else None for value in column.tolist()]
        for column in columns
    )


def _exclusion(
    gates: int, state: str, system: System, n: int, variance: float | None
) -> str:
    if state == Efficiency.State.AGAINST_REFERENCE:
        return Exclusion.AGAINST_REFERENCE
    if system.is_emulated:
        return Exclusion.EMULATION
    for gate, exclusion in EXCLUSIONS_BY_GATE:
        if gates & int(gate):
            return exclusion
    if n < MIN_RUNS:
        return Exclusion.SINGLE_RUN
    return "" if variance else Exclusion.NO_SPREAD
