"""Studies put together, hypervisor by hypervisor and one class of work at a time. PURE.

The unit that is pooled is a machine: what several studies measured on one host shares
its native runs, and is one measurement. Within a unit every benchmark (a tool and its
metric) counts the same, and within a benchmark every cell: options and parameters are
averaged before machines are pooled. Cells of one machine share its days and its native
runs, so an average is no surer than its parts: standard deviations are averaged, too,
and never divided by the root of their number.

Where a unit has replicated cells of a benchmark, its single runs of that benchmark tell
nothing more; a unit of single runs only is hollow and pooled apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Final, TypeVar

import numpy as np

from benchmarks.analysis.pooling import (
    FEWEST_POOLED,
    EvidenceStrength,
    Heterogeneity,
    Pools,
    direction,
    heterogeneity,
    pooled,
    pooled_equally,
    strength,
)
from benchmarks.analysis.verdicts import SURE

Asked = TypeVar("Asked", bound=Hashable)

POOLED: Final = ""
SINGLE_RUN: Final = "single_run"
FLAGGED: Final = "flagged"


@dataclass(frozen=True, slots=True)
class Part:
    """Cells of one benchmark that a unit measured under one obstacle, averaged.

    ``log_ratio`` is the mean ln ratio of ``cells`` cells and ``sd`` their mean standard
    error; None where there is no ratio, or nobody knows it. ``reach`` is half of their
    mean interval, which few runs make wider; None: that of endless runs.
    """

    unit: Hashable
    lab: str
    benchmark: tuple[str, str]
    obstacle: str
    log_ratio: float | None
    sd: float | None
    cells: int = 1
    reach: float | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """What one machine says. ``variance`` is None of single runs: a hollow mark.

    It weighs by its ``variance``; its interval, to ``reach`` on both sides, is the one
    that its studies show.
    """

    key: Hashable
    lab: str
    log_ratio: float
    variance: float | None
    cells: int
    reach: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.reach is None:
            return None
        return self.log_ratio - self.reach, self.log_ratio + self.reach

    def rests_on(self, part: Part) -> bool:
        is_of_its_kind = (part.sd is None) == (self.variance is None)
        return part.unit == self.key and is_of_its_kind and part.log_ratio is not None


@dataclass(frozen=True, slots=True)
class Weighed:
    """A unit with its share of its pool, and the pooled mean (ln) without it.

    ``without`` is None where no pool would be left; ``is_pooled``: there is a mean that
    the share is of.
    """

    unit: Unit
    weight: float
    without: float | None
    is_pooled: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """Units put together, on the log scale; None where there is too little for it."""

    k: int
    labs: int
    mean: float | None
    interval: tuple[float, float] | None
    predicted: tuple[float, float] | None
    tau2: float | None
    i2: float | None
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """All that is known of one question.

    ``pool`` is of replicated units, ``single`` of those of single runs.
    ``screened`` counts the cells that went nowhere, by their obstacle. A summary has
    only as many units as there may be without a pool.
    """

    units: tuple[Unit, ...]
    hollow: tuple[Unit, ...]
    pool: Pool
    single: Pool
    strength: EvidenceStrength
    screened: Mapping[str, int]
    labs: int = 0
    """How many labs measured what counts."""

    @property
    def is_hollow(self) -> bool:
        return not self.pool.k and bool(self.single.k)

    @property
    def counted(self) -> Pool:
        """The pool that the answer is of: of repeated runs, if there are any."""
        return self.pool if self.pool.k else self.single

    @property
    def summary(self) -> Synthesis:
        def few(pool: Pool, units: tuple[Unit, ...]) -> tuple[Unit, ...]:
            return units if pool.k < FEWEST_POOLED else ()

        return replace(
            self,
            units=few(self.pool, self.units),
            hollow=few(self.single, self.hollow),
            pool=replace(self.pool, weights=()),
            single=replace(self.single, weights=()),
        )


def syntheses(
    parts: Iterable[tuple[Asked, Part]], *, with_flagged: bool = False
) -> dict[Asked, Synthesis]:
    by_question: dict[Asked, list[Part]] = defaultdict(list)
    for question, part in parts:
        by_question[question].append(part)
    questions = list(by_question)
    kept = {POOLED, FLAGGED} if with_flagged else {POOLED}
    solid: list[list[Unit]] = []
    hollow: list[list[Unit]] = []
    for question in questions:
        both = _units(by_question[question], kept)
        solid.append([unit for unit in both if unit.variance is not None])
        hollow.append([unit for unit in both if unit.variance is None])
    pools, places = _pooled(solid)
    singles, single_places = _pooled(hollow, is_single=True)
    return {
        question: _synthesis(
            by_question[question],
            (solid[row], hollow[row]),
            _pool(pools, row, solid[row], places),
            _pool(singles, row, hollow[row], single_places),
            kept,
        )
        for row, question in enumerate(questions)
    }


def synthesis(parts: Iterable[Part], *, with_flagged: bool = False) -> Synthesis:
    found = syntheses(((None, part) for part in parts), with_flagged=with_flagged)
    return found.get(None) or NOTHING


def weighed(whole: Synthesis, spread: Heterogeneity | None) -> tuple[Weighed, ...]:
    """Return the units of a synthesis: replicated ones, then those of single runs.

    ``spread`` is that of its units (`spread_of`).
    """
    left = spread.without if spread else (float("nan"),) * len(whole.units)
    nothing = (float("nan"),) * len(whole.hollow)
    return tuple(
        Weighed(
            unit,
            weight,
            mean if np.isfinite(mean) else None,
            is_pooled=pool.mean is not None and pool.k > 1,
        )
        for pool, units, means in (
            (whole.pool, whole.units, left),
            (whole.single, whole.hollow, nothing),
        )
        for unit, weight, mean in zip(units, pool.weights, means, strict=True)
    )


def spread_of(
    units: Sequence[Unit], left_out: Sequence[int] | None = None
) -> Heterogeneity | None:
    """Say how much replicated units differ; None below three.

    ``left_out``: only what is found without these is asked for.
    """
    known = [unit for unit in units if unit.variance is not None]
    return heterogeneity(
        [unit.log_ratio for unit in known],
        [unit.variance or 0.0 for unit in known],
        left_out=left_out,
    )


def _units(parts: Iterable[Part], kept: set[str]) -> list[Unit]:
    """Return what each machine says: by replicated cells, else by single runs.

    They are sorted: floats added in another order differ in their last digits, and one
    question has one answer, in whatever order its rows were read.
    """
    by_unit: dict[Hashable, list[Part]] = defaultdict(list)
    for part in parts:
        if part.log_ratio is None:
            continue
        is_replicated = part.obstacle in kept and part.sd is not None
        is_single = part.obstacle == SINGLE_RUN or (
            part.obstacle in kept and part.sd is None
        )
        if is_replicated or is_single:
            by_unit[part.unit].append(part)
    units = []
    for key, members in by_unit.items():
        if len(members) == 1:
            # As most do that many labs measured: nothing is averaged.
            (part,) = members
            variance = None if part.sd is None else part.sd**2
            reach = None if part.sd is None else _reach(part)
            log_ratio = part.log_ratio or 0.0
            units.append(Unit(key, part.lab, log_ratio, variance, part.cells, reach))
            continue
        replicated = [part for part in members if part.sd is not None]
        used = replicated or members
        benchmarks: dict[tuple[str, str], list[Part]] = defaultdict(list)
        for part in used:
            benchmarks[part.benchmark].append(part)
        log_ratio = _mean(_averages(benchmarks.values(), lambda it: it.log_ratio))
        variance = reach = None
        if replicated:
            variance = _mean(_averages(benchmarks.values(), lambda it: it.sd)) ** 2
            reach = _mean(_averages(benchmarks.values(), _reach))
        cells = sum(part.cells for part in used)
        units.append(Unit(key, members[0].lab, log_ratio, variance, cells, reach))
    return sorted(units, key=lambda unit: (unit.log_ratio, unit.variance or 0.0))


def _reach(part: Part) -> float:
    return SURE * (part.sd or 0.0) if part.reach is None else part.reach


def _averages(
    benchmarks: Iterable[Sequence[Part]], of: Callable[[Part], float | None]
) -> list[float]:
    return [
        fsum((of(part) or 0.0) * part.cells for part in parts)
        / sum(part.cells for part in parts)
        for parts in benchmarks
    ]


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _pooled(
    groups: Sequence[Sequence[Unit]], *, is_single: bool = False
) -> tuple[Pools, list[int]]:
    """Pool all questions at once; also at which entry the units of each begin."""
    places = np.repeat(np.arange(len(groups)), [len(units) for units in groups])
    flat = [unit for units in groups for unit in units]
    effects = [unit.log_ratio for unit in flat]
    begins = np.cumsum([0, *(len(units) for units in groups)]).tolist()
    if is_single:
        return pooled_equally(effects, places, len(groups)), begins
    variances = [unit.variance or 0.0 for unit in flat]
    return pooled(effects, variances, places, len(groups)), begins


def _pool(pools: Pools, row: int, units: Sequence[Unit], begins: Sequence[int]) -> Pool:
    def known(column: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
        value = float(column[row])
        return value if np.isfinite(value) else None

    def ends(low: float | None, high: float | None) -> tuple[float, float] | None:
        return None if low is None or high is None else (low, high)

    weights = pools.weight[begins[row] : begins[row + 1]].tolist()
    mean_interval = ends(known(pools.low), known(pools.high))
    return Pool(
        k=len(units),
        labs=len({unit.lab for unit in units}),
        mean=known(pools.mean),
        # One machine speaks for itself.
        interval=units[0].interval if len(units) == 1 else mean_interval,
        predicted=ends(known(pools.predicted_low), known(pools.predicted_high)),
        tau2=known(pools.tau2),
        i2=known(pools.i2),
        weights=tuple(weights),
    )


UNKNOWN: Final = (float("nan"), float("nan"))


def _synthesis(
    parts: Sequence[Part],
    units: tuple[list[Unit], list[Unit]],
    pool: Pool,
    single: Pool,
    kept: set[str],
) -> Synthesis:
    solid, hollow = units
    screened: dict[str, int] = defaultdict(int)
    for part in parts:
        if part.obstacle not in {*kept, SINGLE_RUN}:
            screened[part.obstacle] += part.cells
    if solid:
        graded = strength(
            labs=pool.labs,
            mean_interval=pool.interval or UNKNOWN,
            predicted=pool.predicted or UNKNOWN,
            i2=pool.i2 or 0.0,
            directions=[direction(*unit.interval) for unit in solid if unit.interval],
        )
    else:
        # Single runs count for something where they agree.
        sides = {direction(unit.log_ratio, unit.log_ratio) for unit in hollow}
        graded = EvidenceStrength.WEAK if len(sides) == 1 else EvidenceStrength.NONE
    return Synthesis(
        tuple(solid),
        tuple(hollow),
        pool,
        single,
        graded,
        dict(screened),
        labs=len({unit.lab for unit in (*solid, *hollow)}),
    )


_NO_POOL: Final = Pool(0, 0, None, None, None, None, None, ())
NOTHING: Final = Synthesis((), (), _NO_POOL, _NO_POOL, EvidenceStrength.NONE, {})
