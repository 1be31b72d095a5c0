"""Syntheses of the results of all studies on a question (without Django).

See docs/method.md, Across studies. Single runs of a machine count only without repeated
cells, and are pooled separately.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Final, TypeVar

import numpy as np

from benchmarks.analysis.meta_analysis import (
    MIN_POOLED,
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


@dataclass(frozen=True, slots=True)
class MachineEffect:
    """The effect on one machine; single runs have no ``variance``.

    ``variance`` determines its weight, ``half_width`` the interval that is shown.
    """

    key: Hashable
    lab: str
    log_ratio: float
    variance: float | None
    cell_count: int
    half_width: float | None = None

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

    ``predicted`` is the prediction interval of another machine.
    """

    machine_count: int
    lab_count: int
    mean: float | None
    interval: tuple[float, float] | None
    predicted: tuple[float, float] | None
    tau2: float | None
    i2: float | None
    weights: tuple[float, ...]


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
            return machines if pool.machine_count < MIN_POOLED else ()

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
    pools, starts = _pool_all(replicated)
    singles, single_starts = _pool_all(single, is_single=True)
    return {
        question: _synthesis(
            by_question[question],
            (replicated[row], single[row]),
            _pool(pools, row, replicated[row], starts),
            _pool(singles, row, single[row], single_starts),
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
            is_pooled=pool.mean is not None and pool.machine_count > 1,
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
        if len(machine_averages) == 1:
            (average,) = machine_averages
            variance = (
                None if average.standard_error is None else average.standard_error**2
            )
            half_width = (
                None if average.standard_error is None else _half_width(average)
            )
            log_ratio = average.log_ratio or 0.0
            effects.append(
                MachineEffect(
                    key,
                    average.lab,
                    log_ratio,
                    variance,
                    average.cell_count,
                    half_width,
                )
            )
            continue
        replicated = [
            average
            for average in machine_averages
            if average.standard_error is not None
        ]
        averages = replicated or machine_averages
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
            MachineEffect(
                key, machine_averages[0].lab, log_ratio, variance, cells, half_width
            )
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
) -> tuple[PooledArrays, list[int]]:
    pool_index = np.repeat(
        np.arange(len(groups)), [len(machines) for machines in groups]
    )
    all_machines = [machine for machines in groups for machine in machines]
    effects = [machine.log_ratio for machine in all_machines]
    starts = np.cumsum([0, *(len(machines) for machines in groups)]).tolist()
    if is_single:
        return pool_single_runs(effects, pool_index, len(groups)), starts
    variances = [machine.variance or 0.0 for machine in all_machines]
    return pool_effects(effects, variances, pool_index, len(groups)), starts


def _pool(
    pools: PooledArrays,
    row: int,
    machines: Sequence[MachineEffect],
    starts: Sequence[int],
) -> PooledEffect:
    def finite(column: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
        value = float(column[row])
        return value if np.isfinite(value) else None

    def interval(low: float | None, high: float | None) -> tuple[float, float] | None:
        return None if low is None or high is None else (low, high)

    weights = pools.weight[starts[row] : starts[row + 1]].tolist()
    mean_interval = interval(finite(pools.low), finite(pools.high))
    return PooledEffect(
        machine_count=len(machines),
        lab_count=len({machine.lab for machine in machines}),
        mean=finite(pools.mean),
        interval=machines[0].interval if len(machines) == 1 else mean_interval,
        predicted=interval(finite(pools.predicted_low), finite(pools.predicted_high)),
        tau2=finite(pools.tau2),
        i2=finite(pools.i2),
        weights=tuple(weights),
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
            directions=[
                interval_direction(*machine.interval)
                for machine in replicated
                if machine.interval
            ],
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


_NO_POOL: Final = PooledEffect(0, 0, None, None, None, None, None, ())
NO_EVIDENCE: Final = Synthesis((), (), _NO_POOL, _NO_POOL, EvidenceStrength.NONE, {})
