"""What the check of a study stores for all pages that look over several studies.

Verdicts are made whenever somebody asks for them, for a study at a time. Who looks over
hundreds of studies reads what their last checks found.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from math import fsum, isfinite
from typing import Any, Final

import numpy as np

from benchmarks.analysis.gates import GATES_OF_STATES, SHAPELESS, Gate
from benchmarks.analysis.intervals import NO_WARNINGS
from benchmarks.analysis.verdicts import Judgements
from benchmarks.comparing.verdicts import primary_ids, study_verdicts
from benchmarks.evidence.reading import Question, renew_pools
from benchmarks.models import (
    Case,
    Cell,
    Effect,
    EffectSummary,
    Efficiency,
    Study,
    System,
)
from benchmarks.own_tools.lookup import known_tool
from benchmarks.studies.flags import impossible_results
from benchmarks.studies.writing import insert_or_replace

FEWEST_RUNS: Final = 3
"""Two runs may agree by chance: nobody would trust the variance of such."""
Obstacle = Effect.Obstacle
OBSTACLES_OF_GATES: Final = (
    (Gate.NO_BASELINE, Obstacle.NO_NATIVE),
    (Gate.OTHER_HOST, Obstacle.OTHER_HOST),
    (Gate.OTHER_PARAMETERS, Obstacle.OTHER_PARAMETERS),
    (Gate.UNIT_MISMATCH, Obstacle.UNIT_MISMATCH),
    (Gate.AMBIGUOUS_BASELINE, Obstacle.AMBIGUOUS),
    (Gate.ZERO, Obstacle.ZERO),
    (Gate.FLAGGED, Obstacle.FLAGGED),
    (Gate.CLOCK_SUSPECT, Obstacle.CLOCK_SUSPECT),
    (Gate.NOISY_BASELINE | Gate.NO_INTERVAL, Obstacle.NOISY_BASELINE),
    (SHAPELESS, Obstacle.NO_STEADY_STATE),
)
# Of one machine alone: what several do to each other is another question.
ALONE: Final = {"scenario": "single", "load": ""}
WRITTEN: Final = (
    *("lab_id", "study_id", "host_id", "system_id", "case_id"),
    *("hypervisor", "virtualization", "work"),
    *("log_ratio", "log_low", "log_high", "variance", "n", "verdict", "obstacle"),
)

SUMMARIZED: Final = (
    *("system_id", "host_id", "work"),
    *("cells", "ratios", "low", "high", "total", "fewest", "most", "flagged"),
    "impossible",
)


def store_effects(study: Study) -> None:
    """Bring what is kept of a study's effects up to date, in the caller's check."""
    found = _effects(study)
    stored = {row.pk: row for row in Effect.objects.filter(study=study)}
    Effect.objects.filter(pk__in=stored.keys() - found.keys()).delete()
    # Only what differs is written.
    new = [effect for pk, effect in found.items() if pk not in stored]
    changed = [
        effect
        for pk, effect in found.items()
        if pk in stored and _values(effect) != _values(stored[pk])
    ]
    insert_or_replace(
        Effect,
        ("cell_id", *WRITTEN),
        [(effect.pk, *_values(effect)) for effect in (*new, *changed)],
    )
    store_summaries(study, found.values())
    if study.visibility == Study.Visibility.PUBLIC:
        gone = [stored[pk] for pk in stored.keys() - found.keys()]
        before = [stored[effect.pk] for effect in changed]
        renew_pools(
            Question(effect.hypervisor, effect.work)
            for effect in (*new, *changed, *before, *gone)
            if effect.work
        )


def store_summaries(study: Study, effects: Iterable[Effect]) -> None:
    groups: dict[tuple[int, int, str], list[Effect]] = defaultdict(list)
    for effect in effects:
        groups[effect.system_id, effect.host_id, effect.work].append(effect)
    impossible = impossible_results(study)
    found = {
        (*place, *_counted(members, impossible))
        for place, members in sorted(groups.items())
    }
    stored = EffectSummary.objects.filter(study=study)
    if set(stored.values_list(*SUMMARIZED)) == found:
        return
    stored.delete()
    EffectSummary.objects.bulk_create(
        EffectSummary(study=study, **dict(zip(SUMMARIZED, values, strict=True)))
        for values in found
    )


def _counted(
    effects: Collection[Effect], impossible: Collection[int]
) -> tuple[float, ...]:
    usable = [
        (effect, effect.log_ratio)
        for effect in effects
        if effect.log_ratio is not None and effect.obstacle not in Effect.UNUSABLE
    ]
    known = [each for each in usable if each[0].pk not in impossible]
    ratios = [log_ratio for _, log_ratio in known]
    runs = [effect.n for effect, _ in known]
    return (
        len(effects),
        len(known),
        min(ratios, default=0.0),
        max(ratios, default=0.0),
        fsum(ratios),
        min(runs, default=0),
        max(runs, default=0),
        sum(effect.obstacle == Obstacle.FLAGGED for effect, _ in known),
        len(usable) - len(known),
    )


def _values(effect: Effect) -> tuple[Any, ...]:
    return tuple(getattr(effect, name) for name in WRITTEN)


def _effects(study: Study) -> dict[int, Effect]:
    columns = ("pk", "system_id", "case_id", "vms", "efficiency__state")
    cells = list(
        Cell.objects.filter(study=study, n__gt=0, **ALONE)
        .exclude(efficiency__state__in=NO_EFFECT)
        .exclude(efficiency=None)
        .values_list(*columns)
    )
    systems = System.objects.in_bulk({row[1] for row in cells})
    cases = Case.objects.in_bulk({row[2] for row in cells})
    primary = primary_ids(cases)
    works = _works(cases.values())
    verdicts = study_verdicts(study)
    judged = verdicts.judgements
    numbers = _numbers(judged)
    effects = {}
    for pk, system_id, case_id, vms, state in cells:
        system = systems[system_id]
        row = verdicts.rows.get(pk)
        if row is None or system.is_native or case_id not in primary or (vms or 1) > 1:
            continue
        log_ratio, log_low, log_high, variance = (each[row] for each in numbers)
        n = int(min(judged.n[row], judged.baseline_n[row]))
        gates = int(judged.gates[row])
        if judged.is_separated[row]:
            # That every run is slower is sure, by how much they are is not.
            gates |= int(judged.shapeless[row])
        if variance is not None:
            # The order of the runs may have moved the mean by as much.
            variance += float(judged.stretch[row]) ** 2
        if n < FEWEST_RUNS:
            variance = None
        obstacle = _obstacle(gates, state, system, n, variance)
        effects[pk] = Effect(
            cell_id=pk,
            lab_id=study.lab_id,
            study_id=study.pk,
            host_id=system.host_id,
            system_id=system_id,
            case_id=case_id,
            hypervisor=system.hypervisor,
            virtualization=system.virtualization,
            work=works[case_id],
            log_ratio=log_ratio,
            log_low=log_low,
            log_high=log_high,
            variance=variance,
            n=n,
            verdict=int(judged.verdict[row]),
            obstacle=obstacle,
        )
    return effects


# What has no speed, what others are compared with, what several machines did.
NO_EFFECT: Final = tuple(
    state
    for state in GATES_OF_STATES
    if GATES_OF_STATES[state]
    & (Gate.NATIVE | Gate.UNDIRECTED | Gate.SCALING | Gate.SLOWDOWN | Gate.NO_SPEED)
)


@NO_WARNINGS
def _numbers(judged: Judgements) -> tuple[list[float | None], ...]:
    intervals = judged.intervals
    log_ratio = np.log(intervals.ratio)
    half = intervals.log_half_width
    columns = (
        log_ratio,
        log_ratio - half,
        log_ratio + half,
        intervals.standard_error**2,
    )
    return tuple(
        [each if isfinite(each) else None for each in column.tolist()]
        for column in columns
    )


def _obstacle(
    gates: int, state: str, system: System, n: int, variance: float | None
) -> str:
    if state == Efficiency.State.RELATIVE:
        return Obstacle.RELATIVE
    if system.is_emulated:
        return Obstacle.EMULATION
    for gate, obstacle in OBSTACLES_OF_GATES:
        if gates & int(gate):
            return obstacle
    if n < FEWEST_RUNS:
        return Obstacle.SINGLE_RUN
    return "" if variance else Obstacle.NO_SPREAD


def _works(cases: Iterable[Case]) -> Mapping[int, str]:
    return {
        case.pk: known_tool(case.tool).work_of(case.metric, case.parameters)
        for case in cases
    }
