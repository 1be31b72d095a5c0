"""Throughput, fairness and consolidation of k co-running VMs (``docs/method.md``).

A slot is one of the VMs. Slots have rates: pass the reciprocals of times.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import stdtrit

from benchmarks.analysis.cell_statistics import last_digit_step
from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.verdicts import DEFAULT_MARGIN
from benchmarks.sentences import Sentence, template

CoRunTable = Sequence[Sequence[float]]
"""Rates: one row per repetition of a co-run, one column per slot."""

MIN_OVERLAP: Final = 0.9
# The square of a smaller rate would underflow to 0.
MIN_RATE: Final = 1e-75

SUM_TOO_LARGE: Final = template(
    "The printed sum {printed:.10g} is {percent:.2g}% more than the sum of the "
    "slots ({recomputed:.10g})."
)
SUM_TOO_SMALL: Final = template(
    "The printed sum {printed:.10g} is {percent:.2g}% less than the sum of the "
    "slots ({recomputed:.10g})."
)


@dataclass(frozen=True, slots=True)
class Fairness:
    """Jain's index (1: equal slots) with its 95 % interval over ``n`` co-runs."""

    jain: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Target:
    """Target times of a CPU-bound run; each ``ratio`` is measured / target."""

    ideal_s: float
    ideal_ratio: float
    full_load_s: float | None
    full_load_ratio: float | None


@dataclass(frozen=True, slots=True)
class SumCheck:
    """A printed sum; ``rounding`` is the largest difference that rounding causes."""

    printed: float
    recomputed: float
    rounding: float

    @property
    def difference(self) -> float:
        return self.printed - self.recomputed

    @property
    def is_within_rounding(self) -> bool:
        # Equal sums can differ in their last digits.
        slack = 1e-9 * max(abs(self.printed), abs(self.recomputed))
        return abs(self.difference) <= self.rounding + slack

    @property
    def sentence(self) -> Sentence:
        if self.is_within_rounding:
            return Sentence(
                "The sum of the slots is {recomputed:g}, as printed.",
                recomputed=self.recomputed,
            )
        return Sentence(
            SUM_TOO_LARGE if self.difference > 0 else SUM_TOO_SMALL,
            printed=self.printed,
            recomputed=self.recomputed,
            percent=abs(self.difference) / self.recomputed * 100,
        )


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Co-runs of one number of VMs; ``scaling`` is the sum relative to a single VM."""

    vm_count: int
    sum: float
    relative_half_width: float | None
    mean: float
    fairness: Fairness
    scaling: float | None
    mean_relative_to_single: float | None


@dataclass(frozen=True, slots=True)
class Consolidation:
    """Sum, mean and fairness for each number of VMs.

    ``knee`` is the number of VMs up to which the sum increases.
    """

    points: tuple[CurvePoint, ...]
    knee: int

    @property
    def is_knee_observed(self) -> bool:
        return self.knee < self.points[-1].vm_count


def fairness(coruns: CoRunTable) -> Fairness:
    """Return Jain's index J = (sum x)^2 / (k sum x^2), with its interval over co-runs.

    See docs/method.md, Co-runs.
    """
    values = _rates_array(coruns)
    n, k = values.shape
    squared, squares = values.sum(axis=1) ** 2, (values**2).sum(axis=1)
    jain = float(squared.sum() / (k * squares.sum()))
    if n == 1:
        return Fairness(jain, None, None, n)
    # Add up the remaining co-runs each time, because subtracting would lose digits.
    is_kept = 1 - np.eye(n)
    jain_without_one = (is_kept @ squared) / (k * (is_kept @ squares))
    unfairness = 1 / np.append(jain_without_one, jain) - 1
    # The logarithm does not exist for equal slots, the spread not for equal co-runs.
    if (unfairness < 1e-12).any() or np.ptp(unfairness) < 1e-12:
        return Fairness(jain, None, None, n)
    logs = np.log(unfairness)
    pseudo = n * logs[-1] - (n - 1) * logs[:-1]
    ends = pseudo.mean() + np.array([1, -1]) * half_width(pseudo)
    low, high = 1 / (1 + np.exp(ends))
    return Fairness(jain, max(float(low), 1 / k), float(high), n)


def scaling(slots: Sequence[float], single: float) -> float:
    return float(_rates_array([slots]).sum()) / _positive("single run", single)


def slowdown(slots: Sequence[float], single: float) -> float:
    return float(_rates_array([slots]).mean()) / _positive("single run", single)


def interference(under_load: float, unloaded: float) -> float:
    return _positive("run under load", under_load) / _positive("run alone", unloaded)


def cpu_target(
    measured_s: float,
    *,
    single_s: float,
    virtual: int,
    cores: int,
    full_s: float | None = None,
) -> Target:
    """Return the targets of a CPU-bound time with v virtual CPUs on c physical cores.

    The ideal target is ``single_s`` (one VM) x max(1, v/c). The target at full load
    (LMU), from v = c on, is ``full_s`` (as many VMs as cores) x v/c.
    """
    if min(virtual, cores) < 1:
        raise ValueError("a target needs at least one virtual and one physical core")
    measured_s = _positive("measured time", measured_s)
    factor = max(1.0, virtual / cores)
    ideal_s = _positive("single run", single_s) * factor
    if full_s is None or virtual < cores:
        return Target(ideal_s, measured_s / ideal_s, None, None)
    lmu_s = _positive("run of as many VMs as cores", full_s) * factor
    return Target(ideal_s, measured_s / ideal_s, lmu_s, measured_s / lmu_s)


def check_sum(slots: Sequence[float], printed: float) -> SumCheck:
    values = _rates_array([slots])[0]
    step = min(last_digit_step(rate) for rate in slots)
    rounding = (values.size * step + last_digit_step(printed)) / 2
    return SumCheck(printed, math.fsum(slots), rounding)


def half_width(values: Floats) -> float:
    error = values.std(ddof=1) / math.sqrt(values.size)
    return float(stdtrit(values.size - 1, 0.975) * error)


def _rates_array(coruns: CoRunTable) -> Floats:
    if not len(coruns) or not len(coruns[0]):
        raise ValueError(Sentence("a co-run needs at least one slot"))
    if len({len(slots) for slots in coruns}) > 1:
        raise ValueError(Sentence("repeated co-runs need the same number of slots"))
    values = np.asarray(coruns, dtype=float)
    is_rate = (values == 0) | ((values > MIN_RATE) & (values < 1 / MIN_RATE))
    if not is_rate.all() or not values.any(axis=1).all():
        raise ValueError(
            Sentence(
                "every slot needs a finite number, and at least one must be above 0"
            )
        )
    return values


def is_rate(value: float) -> bool:
    return MIN_RATE < value < 1 / MIN_RATE


def _positive(name: str, value: float) -> float:
    if not is_rate(value):
        raise ValueError(f"the {name} is {value}: no ratio can be formed")
    return value


def consolidation(coruns_by_k: Mapping[int, CoRunTable]) -> Consolidation:
    """Return the curve over the number of VMs, and its knee.

    Raise ValueError without co-runs, or if a co-run of k VMs does not have k slots.
    """
    if not coruns_by_k:
        raise ValueError("a consolidation curve needs at least one co-run")
    single = coruns_by_k.get(1)
    single_mean = None if single is None else float(_rates_array(single).mean())
    points = []
    for k, coruns in sorted(coruns_by_k.items()):
        values = _rates_array(coruns)
        if values.shape[1] != k:
            raise ValueError(f"a co-run of {k} VMs has {values.shape[1]} slots")
        sums = values.sum(axis=1)
        total, mean = float(sums.mean()), float(values.mean())
        points.append(
            CurvePoint(
                vm_count=k,
                sum=total,
                relative_half_width=half_width(sums) / total if sums.size > 1 else None,
                mean=mean,
                fairness=fairness(coruns),
                scaling=total / single_mean if single_mean else None,
                mean_relative_to_single=mean / single_mean if single_mean else None,
            )
        )
    best = points[0]
    for point in points[1:]:
        noise = math.hypot(
            best.relative_half_width or 0.0, point.relative_half_width or 0.0
        )
        if math.log(point.sum / best.sum) > max(math.log1p(DEFAULT_MARGIN), noise):
            best = point
    return Consolidation(tuple(points), best.vm_count)
