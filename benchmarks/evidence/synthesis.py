"""Syntheses of the results of all studies on a question (without Django).

See docs/method.md, Across studies. Single runs of a machine count only without repeated
cells, and are pooled separately.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import (
    Callable,
    Container,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from enum import StrEnum
from math import fsum, hypot, isfinite
from statistics import stdev
from typing import Final, TypeVar

import numpy as np

from benchmarks.analysis.intervals import normal_quantile
from benchmarks.analysis.machine_models import MIN_VERDICT, pool_models
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
from benchmarks.analysis.verdicts import CONFIDENCE, NORMAL_QUANTILE

QuestionKey = TypeVar("QuestionKey", bound=Hashable)

POOLED: Final = frozenset({"", "single_run"})
SCREENED: Final = frozenset({"impossible", "clock_suspect"})
"""Exclusions with which a pool is compared."""
DOUBTFUL: Final = "doubtful"
FEW_MODELS: Final = "few_models"
MAX_LISTED_CONFIGURATIONS: Final = 3
CLEAR_DEVIATIONS: Final = 3.3
"""Configurations with single runs differ if they are this many deviations apart."""
METHOD: Final = "reml_reference_prior"
SINGLE_RUN_METHOD: Final = "lab_means_student_t"


class Screening(StrEnum):
    """Which results are pooled."""

    ALL = "all"
    POSSIBLE = "possible"
    SURE = "sure"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The mean of the cells of one system in a study, or on a machine."""

    system: int
    log_ratio: float
    half_width: float | None
    cell_count: int = 1


@dataclass(frozen=True, slots=True)
class BenchmarkAverage:
    """The mean of a machine's cells for one benchmark that have the same exclusion.

    Ratios are natural logarithms. ``run_deviation`` is the usual standard deviation of
    single runs of such work.
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
    is_doubtful: bool = False
    configurations: tuple[Configuration, ...] = ()
    run_deviation: float = 0.05
    model: str = ""
    """The machine model, if guests and native runs are of other machines of it.

    Then ``machine`` and ``lab`` are the provider, and ``specimen`` is the machine.
    """
    specimen: int = 0

    def exclusion_reason(self, screening: Screening) -> str:
        """Return why the average is not pooled, "" if it is."""
        if self.exclusion in SCREENED and screening == Screening.ALL:
            return ""
        if self.exclusion not in POOLED:
            return self.exclusion
        return DOUBTFUL if self.is_doubtful and screening == Screening.SURE else ""


@dataclass(frozen=True, slots=True)
class MachineEffect:
    """The effect on one machine, whichever studies and labs measured it.

    ``variance`` determines its weight, ``half_width`` the interval that is shown. If
    its configurations differ by more than their intervals, ``configurations`` lists
    them, and the variance includes their spread.
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
    configurations: tuple[Configuration, ...] = ()
    model_count: int = 0
    """The machine models of a provider. Its machines count as one."""
    specimen_count: int = 0
    predicted: tuple[float, float] | None = None
    """The prediction interval for a machine of another model."""
    flagged_models: tuple[str, ...] = ()
    """Models that are left out, because native runs were probably held back."""
    log_ratio_with_flagged: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.half_width is None:
            return None
        return self.log_ratio - self.half_width, self.log_ratio + self.half_width

    @property
    def listed_configurations(self) -> tuple[Configuration, ...]:
        """The configurations if they are few enough to be shown instead of a mean."""
        few = len(self.configurations) <= MAX_LISTED_CONFIGURATIONS
        return self.configurations if few else ()

    @property
    def shown_log_ratios(self) -> tuple[float, ...]:
        parts = self.listed_configurations
        return tuple(part.log_ratio for part in parts) or (self.log_ratio,)

    def includes(self, average: BenchmarkAverage) -> bool:
        is_same_kind = bool(average.model) or (
            (average.standard_error is None) == (self.variance is None)
        )
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

    ``mean`` is None for no machine, two machines, two labs, and a machine whose
    configurations are listed instead. ``predicted`` is the
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
    provider_count: int = 0
    """How many of the machines are providers, with their models and machines."""
    model_count: int = 0
    specimen_count: int = 0

    @property
    def is_pooled(self) -> bool:
        return self.mean is not None and self.machine_count > 1


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The evidence on one question: repeated results, and single runs separately.

    ``excluded_counts`` are numbers of cells by reason (an exclusion or `DOUBTFUL`), of
    the pooled ones ``doubtful_count`` are in doubt. ``without_doubtful`` and
    ``with_screened`` are other syntheses of the same question, if they differ.
    """

    machines: tuple[MachineEffect, ...]
    single_run_machines: tuple[MachineEffect, ...]
    pool: PooledEffect
    single_run_pool: PooledEffect
    strength: EvidenceStrength
    excluded_counts: Mapping[str, int]
    lab_count: int = 0
    screening: Screening = Screening.POSSIBLE
    doubtful_count: int = 0
    without_doubtful: Synthesis | None = None
    with_screened: Synthesis | None = None
    without_models: Synthesis | None = None
    """The synthesis of guests and native runs of the same machine only."""

    @property
    def screened_count(self) -> int:
        return sum(self.excluded_counts.get(reason, 0) for reason in SCREENED)

    @property
    def main_machines(self) -> tuple[MachineEffect, ...]:
        return self.machines or self.single_run_machines

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
            without_doubtful=self.without_doubtful and self.without_doubtful.summary,
            with_screened=self.with_screened and self.with_screened.summary,
            without_models=self.without_models and self.without_models.summary,
        )


def syntheses_by_question(
    averages: Iterable[tuple[QuestionKey, BenchmarkAverage]],
    *,
    screening: Screening = Screening.POSSIBLE,
) -> dict[QuestionKey, Synthesis]:
    by_question: dict[QuestionKey, list[BenchmarkAverage]] = defaultdict(list)
    for question, average in averages:
        by_question[question].append(average)
    questions = list(by_question)
    replicated: list[list[MachineEffect]] = []
    single: list[list[MachineEffect]] = []
    for question in questions:
        effects = _machine_effects(by_question[question], screening)
        replicated.append([effect for effect in effects if effect.variance is not None])
        single.append([effect for effect in effects if effect.variance is None])
    pools, single_pools = _pool_all(replicated), _pool_all(single, is_single=True)
    return {
        question: _synthesis(
            by_question[question],
            (replicated[row], single[row]),
            pools[row],
            single_pools[row],
            screening,
        )
        for row, question in enumerate(questions)
    }


def screened_syntheses(
    averages: Iterable[tuple[QuestionKey, BenchmarkAverage]],
) -> dict[QuestionKey, Synthesis]:
    """Return syntheses together with those without doubtful and with screened
    results.
    """
    averages = list(averages)
    syntheses = syntheses_by_question(averages)

    def others(
        screening: Screening, questions: Container[QuestionKey]
    ) -> dict[QuestionKey, Synthesis]:
        chosen = (item for item in averages if item[0] in questions)
        return syntheses_by_question(chosen, screening=screening)

    sure = others(Screening.SURE, {q for q, s in syntheses.items() if s.doubtful_count})
    every = others(Screening.ALL, {q for q, s in syntheses.items() if s.screened_count})
    with_models = {question for question, average in averages if average.model}
    same_machine = syntheses_by_question(
        (question, average)
        for question, average in averages
        if question in with_models and not average.model
    )
    return {
        question: replace(
            synthesis,
            without_doubtful=sure.get(question),
            with_screened=every.get(question),
            without_models=same_machine.get(question),
        )
        for question, synthesis in syntheses.items()
    }


def synthesis(
    averages: Iterable[BenchmarkAverage], *, without_doubtful: bool = False
) -> Synthesis:
    found = screened_syntheses((None, average) for average in averages).get(None)
    if found is None:
        return NO_EVIDENCE
    return (found.without_doubtful or found) if without_doubtful else found


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
    parts: Iterable[BenchmarkAverage], screening: Screening
) -> list[MachineEffect]:
    """Return each machine's effect: from repeated cells or, without any, from single
    runs.

    The parts are sorted because sums of floats depend on their order.
    """
    by_machine: dict[Hashable, list[BenchmarkAverage]] = defaultdict(list)
    for average in parts:
        if average.log_ratio is not None and not average.exclusion_reason(screening):
            by_machine[average.machine].append(average)
    effects = []
    for key, machine_averages in by_machine.items():
        replicated = [
            average
            for average in machine_averages
            if average.standard_error is not None
        ]
        averages = replicated or machine_averages
        if averages[0].model:
            effects += _provider_effects(key, machine_averages)
            continue
        lab = min(average.lab for average in averages)
        studies = tuple(sorted({pk for average in averages for pk in average.studies}))
        configurations, spreads = _configurations(averages)
        if len(averages) == 1 and not configurations:
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
            errors = _averages(
                benchmarks.values(), lambda average: average.standard_error
            )
            widths = _averages(benchmarks.values(), _half_width)
            extra = [spreads.get(benchmark, 0.0) for benchmark in benchmarks]
            variance = _mean(list(map(hypot, errors, extra))) ** 2
            half_width = _mean(
                [
                    hypot(width, NORMAL_QUANTILE * spread)
                    for width, spread in zip(widths, extra, strict=True)
                ]
            )
        cells = sum(average.cell_count for average in averages)
        effects.append(
            MachineEffect(
                *(key, lab, log_ratio, variance, cells, half_width),
                *(studies, configurations),
            )
        )
    return sorted(
        effects, key=lambda effect: (effect.log_ratio, effect.variance or 0.0)
    )


def _provider_effects(
    key: Hashable, averages: Sequence[BenchmarkAverage]
) -> list[MachineEffect]:
    """Return the effect on the machines of a provider; none for too few models.

    Each model has equal weight. Models with a doubtful benchmark are left out.
    """
    flagged = sorted({average.model for average in averages if average.is_doubtful})
    models = _log_ratios_by_model(averages)
    pool = pool_models(
        {model: logs for model, logs in models.items() if model not in flagged}
    )
    error = pool.standard_error
    if pool.log_ratio is None or pool.interval is None or not error:
        return []
    counted = [average for average in averages if average.model not in flagged]
    return [
        MachineEffect(
            key,
            averages[0].lab,
            pool.log_ratio,
            error**2,
            sum(average.cell_count for average in counted),
            (pool.interval[1] - pool.interval[0]) / 2,
            tuple(sorted({pk for average in averages for pk in average.studies})),
            model_count=pool.model_count,
            specimen_count=pool.pair_count,
            predicted=pool.predicted,
            flagged_models=tuple(flagged),
            log_ratio_with_flagged=pool_models(models).log_ratio if flagged else None,
        )
    ]


def _log_ratios_by_model(
    averages: Iterable[BenchmarkAverage],
) -> dict[str, list[float]]:
    """Return the mean over benchmarks of each machine, by model."""
    machines: dict[tuple[str, int], list[BenchmarkAverage]] = defaultdict(list)
    for average in averages:
        machines[average.model, average.specimen].append(average)
    models: dict[str, list[float]] = defaultdict(list)
    for (model, _), members in sorted(machines.items()):
        benchmarks: dict[tuple[str, str], list[BenchmarkAverage]] = defaultdict(list)
        for average in members:
            benchmarks[average.benchmark].append(average)
        logs = _averages(benchmarks.values(), lambda average: average.log_ratio)
        models[model].append(_mean(logs))
    return models


def _configurations(
    averages: Sequence[BenchmarkAverage],
) -> tuple[tuple[Configuration, ...], dict[tuple[str, str], float]]:
    """Return the configurations of a machine that differ, and the standard error of
    their mean by benchmark.

    Two configurations differ if their intervals do not overlap in a benchmark. Single
    runs have no interval: they differ by more than `CLEAR_DEVIATIONS`.
    """
    benchmarks: dict[tuple[str, str], list[BenchmarkAverage]] = defaultdict(list)
    for average in averages:
        benchmarks[average.benchmark].append(average)
    spreads: dict[tuple[str, str], float] = {}
    by_system: dict[int, list[Configuration]] = defaultdict(list)
    for benchmark, members in benchmarks.items():
        systems: dict[int, list[Configuration]] = defaultdict(list)
        for average in members:
            for configuration in average.configurations:
                systems[configuration.system].append(configuration)
        means = {system: _joined(parts) for system, parts in systems.items()}
        for system, mean in means.items():
            by_system[system].append(mean)
        unknown = CLEAR_DEVIATIONS * members[0].run_deviation / 2**0.5
        if _differ(list(means.values()), unknown):
            logs = [mean.log_ratio for mean in means.values()]
            spreads[benchmark] = stdev(logs) / len(logs) ** 0.5
    if not spreads:
        return (), {}
    joined = [_joined(parts) for parts in by_system.values()]
    return tuple(
        sorted(joined, key=lambda part: (part.log_ratio, part.system))
    ), spreads


def _joined(parts: Sequence[Configuration]) -> Configuration:
    cells = sum(part.cell_count for part in parts)
    widths = [part.half_width for part in parts if part.half_width is not None]
    return Configuration(
        parts[0].system,
        fsum(part.log_ratio * part.cell_count for part in parts) / cells,
        _mean(widths) if widths else None,
        cells,
    )


def _differ(parts: Sequence[Configuration], unknown: float) -> bool:
    """Return whether the highest lower end is above the lowest upper end.

    Intervals of more than two are widened (Bonferroni), so that chance is as rare.
    """
    if len(parts) < 2:
        return False
    factor = normal_quantile(1 - (1 - CONFIDENCE) / 2 / (len(parts) - 1))
    widths = [
        factor
        / NORMAL_QUANTILE
        * (unknown if part.half_width is None else part.half_width)
        for part in parts
    ]
    logs = [part.log_ratio for part in parts]
    highest = max(log - width for log, width in zip(logs, widths, strict=True))
    return highest > min(log + width for log, width in zip(logs, widths, strict=True))


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
    if len(machines) == 1:
        mean_interval = machines[0].interval
    is_listed = len(machines) == 1 and bool(machines[0].listed_configurations)
    return PooledEffect(
        machine_count=len(machines),
        lab_count=int(pools.lab_count[row]),
        mean=None if is_listed else finite(pools.mean),
        interval=None if is_listed else mean_interval,
        predicted=interval(finite(pools.predicted_low), finite(pools.predicted_high)),
        tau2=finite(pools.tau2),
        i2=finite(pools.i2),
        weights=tuple(pools.weight[start : start + len(machines)].tolist()),
        tau2_lab=finite(pools.tau2_lab),
        tau2_machine=finite(pools.tau2_machine),
        study_count=len({pk for machine in machines for pk in machine.studies}),
        is_one_lab=bool(pools.is_one_lab[row]),
        provider_count=sum(machine.model_count > 0 for machine in machines),
        model_count=sum(machine.model_count for machine in machines),
        specimen_count=sum(machine.specimen_count for machine in machines),
        method=method if np.isfinite(pools.mean[row]) and len(machines) > 1 else "",
    )


UNKNOWN_INTERVAL: Final = (float("nan"), float("nan"))


def _synthesis(
    averages: Sequence[BenchmarkAverage],
    machines: tuple[list[MachineEffect], list[MachineEffect]],
    pool: PooledEffect,
    single: PooledEffect,
    screening: Screening,
) -> Synthesis:
    replicated, single_runs = machines
    keys = {machine.key for machine in replicated}
    excluded: dict[str, int] = defaultdict(int)
    doubtful = 0
    for average in averages:
        if reason := average.exclusion_reason(screening):
            excluded[reason] += average.cell_count
        elif average.is_doubtful:
            doubtful += average.cell_count
        if not reason and average.model and average.machine not in keys:
            excluded[FEW_MODELS] += average.cell_count
    if replicated and all(machine.model_count for machine in replicated):
        strength = _provider_strength(replicated)
    elif replicated:
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
        screening=screening,
        doubtful_count=doubtful,
    )


def _provider_strength(providers: Sequence[MachineEffect]) -> EvidenceStrength:
    """Return the strength of results of machines of one model, at most moderate."""
    directions = {
        interval_direction(*provider.interval)
        for provider in providers
        if provider.interval and provider.model_count >= MIN_VERDICT
    }
    is_decided = len(directions) == 1 and UNDECIDED not in directions
    return EvidenceStrength.MODERATE if is_decided else EvidenceStrength.WEAK


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
