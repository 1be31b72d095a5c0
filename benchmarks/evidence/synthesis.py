"""Syntheses of the results of all studies on a question (without Django).

See docs/method.md, Across studies. Single runs of a machine count only without repeated
cells, and are pooled separately.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, isfinite
from typing import Final, TypeVar

import numpy as np

from benchmarks.analysis.meta_analysis import (
    UNDECIDED,
    EvidenceStrength,
    Heterogeneity,
    PooledArrays,
    grade_evidence,
    heterogeneity,
    interval_direction,
    pool_effects,
    pool_single_runs,
)
from benchmarks.analysis.verdicts import NORMAL_QUANTILE

QuestionKey = TypeVar("QuestionKey", bound=Hashable)

POOLED: Final = ""
SINGLE_RUN: Final = "single_run"
FLAGGED: Final = "flagged"
METHOD: Final = "reml_reference_prior"
SINGLE_RUN_METHOD: Final = "lab_means_student_t"


@dataclass(frozen=True, slots=True)
class BenchmarkAverage:
    """The mean of a machine's cells for one benchmark that have the same exclusion.

    Ratios are natural logarithms.
    """

    machine: Hashable
    lab: str
    benchmark: tuple[str, str]
    exclusion: str
    log_ratio: float | None
    standard_error: float | None
    cell_count: int = 1
    half_width: float | None = None
    studies: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineEffect:
    """The effect on one machine, whichever studies and labs measured it.

    ``variance`` determines its weight, ``half_width`` the interval that is shown.
    Single runs have no ``variance``. A machine of several labs belongs to the first of
    their names, so that it counts once.
    """

    key: Hashable
    lab: str
    log_ratio: float
    variance: float | None
    cell_count: int
    half_width: float | None = None
    studies: tuple[int, ...] = ()

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.half_width is None:
            return None
        return self.log_ratio - self.half_width, self.log_ratio + self.half_width

    def includes(self, average: BenchmarkAverage) -> bool:
        is_same_kind = (average.standard_error is None) == (self.variance is None)
        return (
            average.machine == self.key
            and is_same_kind
            and average.log_ratio is not None
        )


@dataclass(frozen=True, slots=True)
class WeightedMachine:
    """A machine with its weight, and the pooled log ratio without this machine."""

    machine: MachineEffect
    weight: float
    mean_without: float | None
    is_pooled: bool


@dataclass(frozen=True, slots=True)
class PooledEffect:
    """The pooled effect of machines on the log scale.

    ``mean`` is None for no machine, two machines and two labs. ``predicted`` is the
    prediction interval of a machine of another lab or, with ``is_one_lab``, of another
    machine of the same lab; it needs three labs or machines. ``tau2`` is the variance
    between machines of different labs. Its parts ``tau2_lab`` and ``tau2_machine`` are
    None if they cannot be separated.
    """

    machine_count: int
    lab_count: int
    mean: float | None
    interval: tuple[float, float] | None
    predicted: tuple[float, float] | None
    tau2: float | None
    i2: float | None
    weights: tuple[float, ...]
    tau2_lab: float | None = None
    tau2_machine: float | None = None
    study_count: int = 0
    is_one_lab: bool = False
    method: str = ""

    @property
    def is_pooled(self) -> bool:
        return self.mean is not None and self.machine_count > 1


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The evidence on one question: repeated results, and single runs separately.

    ``excluded_counts`` are numbers of cells by exclusion.
    """

    machines: tuple[MachineEffect, ...]
    single_run_machines: tuple[MachineEffect, ...]
    pool: PooledEffect
    single_run_pool: PooledEffect
    strength: EvidenceStrength
    excluded_counts: Mapping[str, int]
    lab_count: int = 0

    @property
    def is_single_runs(self) -> bool:
        return not self.pool.machine_count and bool(self.single_run_pool.machine_count)

    @property
    def main_pool(self) -> PooledEffect:
        return self.pool if self.pool.machine_count else self.single_run_pool

    @property
    def summary(self) -> Synthesis:
        """The synthesis without machines, unless they are too few to be pooled."""

        def unpooled(
            pool: PooledEffect, machines: tuple[MachineEffect, ...]
        ) -> tuple[MachineEffect, ...]:
            return () if pool.is_pooled else machines

        return replace(
            self,
            machines=unpooled(self.pool, self.machines),
            single_run_machines=unpooled(
                self.single_run_pool, self.single_run_machines
            ),
            pool=replace(self.pool, weights=()),
            single_run_pool=replace(self.single_run_pool, weights=()),
        )


def syntheses_by_question(
    averages: Iterable[tuple[QuestionKey, BenchmarkAverage]],
    *,
    with_flagged: bool = False,
) -> dict[QuestionKey, Synthesis]:
    by_question: dict[QuestionKey, list[BenchmarkAverage]] = defaultdict(list)
    for question, average in averages:
        by_question[question].append(average)
    questions = list(by_question)
    counted = {POOLED, FLAGGED} if with_flagged else {POOLED}
    replicated: list[list[MachineEffect]] = []
    single: list[list[MachineEffect]] = []
    for question in questions:
        effects = _machine_effects(by_question[question], counted)
        replicated.append([effect for effect in effects if effect.variance is not None])
        single.append([effect for effect in effects if effect.variance is None])
    pools, single_pools = _pool_all(replicated), _pool_all(single, is_single=True)
    return {
        question: _synthesis(
            by_question[question],
            (replicated[row], single[row]),
            pools[row],
            single_pools[row],
            counted,
        )
        for row, question in enumerate(questions)
    }


def synthesis(
    averages: Iterable[BenchmarkAverage], *, with_flagged: bool = False
) -> Synthesis:
    results = syntheses_by_question(
        ((None, average) for average in averages), with_flagged=with_flagged
    )
    return results.get(None) or NO_EVIDENCE


def weighted_machines(
    synthesis: Synthesis, heterogeneity: Heterogeneity | None
) -> tuple[WeightedMachine, ...]:
    means_without = (
        heterogeneity.leave_one_out
        if heterogeneity
        else (float("nan"),) * len(synthesis.machines)
    )
    unknown = (float("nan"),) * len(synthesis.single_run_machines)
    return tuple(
        WeightedMachine(
            machine,
            weight,
            mean if np.isfinite(mean) else None,
            is_pooled=pool.is_pooled,
        )
        for pool, machines, means in (
            (synthesis.pool, synthesis.machines, means_without),
            (synthesis.single_run_pool, synthesis.single_run_machines, unknown),
        )
        for machine, weight, mean in zip(machines, pool.weights, means, strict=True)
    )


def machine_heterogeneity(
    machines: Sequence[MachineEffect], left_out: Sequence[int] | None = None
) -> Heterogeneity | None:
    replicated = [machine for machine in machines if machine.variance is not None]
    return heterogeneity(
        [machine.log_ratio for machine in replicated],
        [machine.variance or 0.0 for machine in replicated],
        labs=[machine.lab for machine in replicated],
        left_out=left_out,
    )


def _machine_effects(
    parts: Iterable[BenchmarkAverage], counted: set[str]
) -> list[MachineEffect]:
    """Return each machine's effect: from repeated cells or, without any, from single
    runs.

    The parts are sorted because sums of floats depend on their order.
    """
    by_machine: dict[Hashable, list[BenchmarkAverage]] = defaultdict(list)
    for average in parts:
        if average.log_ratio is None:
            continue
        is_replicated = (
            average.exclusion in counted and average.standard_error is not None
        )
        is_single = average.exclusion == SINGLE_RUN or (
            average.exclusion in counted and average.standard_error is None
        )
        if is_replicated or is_single:
            by_machine[average.machine].append(average)
    effects = []
    for key, machine_averages in by_machine.items():
        replicated = [
            average
            for average in machine_averages
            if average.standard_error is not None
        ]
        averages = replicated or machine_averages
        lab = min(average.lab for average in averages)
        studies = tuple(sorted({pk for average in averages for pk in average.studies}))
        if len(averages) == 1:
            (average,) = averages
            error = average.standard_error
            effects.append(
                MachineEffect(
                    key,
                    lab,
                    average.log_ratio or 0.0,
                    None if error is None else error**2,
                    average.cell_count,
                    None if error is None else _half_width(average),
                    studies,
                )
            )
            continue
        benchmarks: dict[tuple[str, str], list[BenchmarkAverage]] = defaultdict(list)
        for average in averages:
            benchmarks[average.benchmark].append(average)
        log_ratio = _mean(
            _averages(benchmarks.values(), lambda average: average.log_ratio)
        )
        variance = half_width = None
        if replicated:
            variance = (
                _mean(
                    _averages(
                        benchmarks.values(), lambda average: average.standard_error
                    )
                )
                ** 2
            )
            half_width = _mean(_averages(benchmarks.values(), _half_width))
        cells = sum(average.cell_count for average in averages)
        effects.append(
            MachineEffect(key, lab, log_ratio, variance, cells, half_width, studies)
        )
    return sorted(
        effects, key=lambda effect: (effect.log_ratio, effect.variance or 0.0)
    )


def _half_width(average: BenchmarkAverage) -> float:
    return (
        NORMAL_QUANTILE * (average.standard_error or 0.0)
        if average.half_width is None
        else average.half_width
    )


def _averages(
    benchmarks: Iterable[Sequence[BenchmarkAverage]],
    value: Callable[[BenchmarkAverage], float | None],
) -> list[float]:
    return [
        fsum((value(average) or 0.0) * average.cell_count for average in averages)
        / sum(average.cell_count for average in averages)
        for averages in benchmarks
    ]


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _pool_all(
    groups: Sequence[Sequence[MachineEffect]], *, is_single: bool = False
) -> list[PooledEffect]:
    sizes = [len(machines) for machines in groups]
    pool_index = np.repeat(np.arange(len(groups)), sizes)
    machines = [machine for group in groups for machine in group]
    numbers = {name: row for row, name in enumerate({m.lab for m in machines})}
    labs = np.array([numbers[machine.lab] for machine in machines], dtype=np.int64)
    effects = [machine.log_ratio for machine in machines]
    if is_single:
        pools = pool_single_runs(effects, pool_index, len(groups), lab_index=labs)
    else:
        variances = [machine.variance or 0.0 for machine in machines]
        pools = pool_effects(
            effects, variances, pool_index, len(groups), lab_index=labs
        )
    method = SINGLE_RUN_METHOD if is_single else METHOD
    starts = np.cumsum([0, *sizes]).tolist()
    return [
        _pool(pools, row, group, starts[row], method)
        for row, group in enumerate(groups)
    ]


def _pool(
    pools: PooledArrays,
    row: int,
    machines: Sequence[MachineEffect],
    start: int,
    method: str,
) -> PooledEffect:
    if not machines:
        return _NO_POOL

    def finite(column: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
        value = float(column[row])
        return value if isfinite(value) else None

    def interval(low: float | None, high: float | None) -> tuple[float, float] | None:
        return None if low is None or high is None else (low, high)

    mean_interval = interval(finite(pools.low), finite(pools.high))
    return PooledEffect(
        machine_count=len(machines),
        lab_count=int(pools.lab_count[row]),
        mean=finite(pools.mean),
        interval=machines[0].interval if len(machines) == 1 else mean_interval,
        predicted=interval(finite(pools.predicted_low), finite(pools.predicted_high)),
        tau2=finite(pools.tau2),
        i2=finite(pools.i2),
        weights=tuple(pools.weight[start : start + len(machines)].tolist()),
        tau2_lab=finite(pools.tau2_lab),
        tau2_machine=finite(pools.tau2_machine),
        study_count=len({pk for machine in machines for pk in machine.studies}),
        is_one_lab=bool(pools.is_one_lab[row]),
        method=method if len(machines) > 1 else "",
    )


UNKNOWN_INTERVAL: Final = (float("nan"), float("nan"))


def _synthesis(
    averages: Sequence[BenchmarkAverage],
    machines: tuple[list[MachineEffect], list[MachineEffect]],
    pool: PooledEffect,
    single: PooledEffect,
    counted: set[str],
) -> Synthesis:
    replicated, single_runs = machines
    excluded: dict[str, int] = defaultdict(int)
    for average in averages:
        if average.exclusion not in {*counted, SINGLE_RUN}:
            excluded[average.exclusion] += average.cell_count
    if replicated:
        strength = grade_evidence(
            labs=pool.lab_count,
            mean_interval=pool.interval or UNKNOWN_INTERVAL,
            predicted=pool.predicted or UNKNOWN_INTERVAL,
            i2=pool.i2 or 0.0,
            directions=_lab_directions(replicated),
        )
    else:
        directions = {
            interval_direction(machine.log_ratio, machine.log_ratio)
            for machine in single_runs
        }
        strength = (
            EvidenceStrength.WEAK if len(directions) == 1 else EvidenceStrength.NONE
        )
    return Synthesis(
        tuple(replicated),
        tuple(single_runs),
        pool,
        single,
        strength,
        dict(excluded),
        lab_count=len({machine.lab for machine in (*replicated, *single_runs)}),
    )


def _lab_directions(machines: Iterable[MachineEffect]) -> list[int]:
    """Return the direction on which the deciding machines of each lab agree."""
    by_lab: dict[str, set[int]] = defaultdict(set)
    for machine in machines:
        if machine.interval:
            by_lab[machine.lab].add(interval_direction(*machine.interval))
    decided = [directions - {UNDECIDED} for directions in by_lab.values()]
    return [
        directions.pop() if len(directions) == 1 else UNDECIDED
        for directions in decided
    ]


_NO_POOL: Final = PooledEffect(0, 0, None, None, None, None, None, ())
NO_EVIDENCE: Final = Synthesis((), (), _NO_POOL, _NO_POOL, EvidenceStrength.NONE, {})
