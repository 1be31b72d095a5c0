"""Co-runs: throughput, fairness and consolidation of k virtual machines.

Slots hold rates; of a time, pass the reciprocal. Formulas: ``docs/method.md``, co-runs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import stdtrit

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.summary import last_place
from benchmarks.analysis.verdicts import MARGIN
from benchmarks.sentences import Sentence, template

# One row a co-run, one column a slot.
CoRunTable = Sequence[Sequence[float]]

MIN_OVERLAP: Final = 0.9
# No rate is smaller in any unit; squares of such numbers are still numbers.
SMALLEST: Final = 1e-75

MORE: Final = template(
    "Printed {printed:.10g}, but the slots' sum is {recomputed:.10g}: {percent:.2g} % "
    "more than they make."
)
LESS: Final = template(
    "Printed {printed:.10g}, but the slots' sum is {recomputed:.10g}: {percent:.2g} % "
    "less than they make."
)


@dataclass(frozen=True, slots=True)
class Fairness:
    """Jain's index over repeated co-runs; no interval for one, or without spread."""

    jain: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Target:
    """A CPU-bound time against what the cores allow; ``ratio`` = measured / target.

    ``ideal_s`` starts from one VM alone, ``lmu_s`` from as many VMs as cores.
    """

    ideal_s: float
    ideal_ratio: float
    lmu_s: float | None
    lmu_ratio: float | None


@dataclass(frozen=True, slots=True)
class SumCheck:
    """A printed sum beside the slots' sum; ``rounding`` is what rounding explains."""

    printed: float
    recomputed: float
    rounding: float

    @property
    def difference(self) -> float:
        return self.printed - self.recomputed

    @property
    def is_within_rounding(self) -> bool:
        # Decimals are no floats: sums that agree differ in their last digits.
        slack = 1e-9 * max(abs(self.printed), abs(self.recomputed))
        return abs(self.difference) <= self.rounding + slack

    @property
    def sentence(self) -> Sentence:
        if self.is_within_rounding:
            return Sentence(
                "The slots' sum is {recomputed:g}, as printed.",
                recomputed=self.recomputed,
            )
        return Sentence(
            MORE if self.difference > 0 else LESS,
            printed=self.printed,
            recomputed=self.recomputed,
            percent=abs(self.difference) / self.recomputed * 100,
        )


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The curve at k VMs.

    ``noise`` is the relative half-width of the sum's 95 % interval.
    """

    k: int
    sum: float
    noise: float | None
    mean: float
    fairness: Fairness
    scaling: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Consolidation:
    """Sum, mean and fairness per number of VMs.

    ``knee`` is the last number of VMs that raised the sum.
    """

    points: tuple[CurvePoint, ...]
    knee: int

    @property
    def is_end_reached(self) -> bool:
        return self.knee < self.points[-1].k


def fairness(coruns: CoRunTable) -> Fairness:
    """Return J = (sum x)^2 / (k sum x^2) with its jackknife interval over co-runs.

    R. Jain, D. Chiu and W. Hawe (DEC-TR-301, 1984); jackknife (B. Efron, 1982) on
    ln(1/J - 1), which covers 92 to 96 % [sim].
    """
    values = _rates_of(coruns)
    n, k = values.shape
    squared, squares = values.sum(axis=1) ** 2, (values**2).sum(axis=1)
    jain = float(squared.sum() / (k * squares.sum()))
    if n == 1:
        return Fairness(jain, None, None, n)
    # Added up anew: the total less a co-run loses the digits of much slower ones.
    others = 1 - np.eye(n)
    left_out = (others @ squared) / (k * (others @ squares))
    unfairness = 1 / np.append(left_out, jain) - 1
    # Equal slots have no logarithm, equal co-runs no spread: neither is certainty.
    if (unfairness < 1e-12).any() or np.ptp(unfairness) < 1e-12:
        return Fairness(jain, None, None, n)
    logs = np.log(unfairness)
    pseudo = n * logs[-1] - (n - 1) * logs[:-1]
    ends = pseudo.mean() + np.array([1, -1]) * half_width(pseudo)
    low, high = 1 / (1 + np.exp(ends))
    # J cannot be below 1 / k; the interval of the logarithm knows no such bound.
    return Fairness(jain, max(float(low), 1 / k), float(high), n)


def scaling(slots: Sequence[float], single: float) -> float:
    """Sum / single: k on a machine that serves k VMs as well as one."""
    return float(_rates_of([slots]).sum()) / _positive("single run", single)


def slowdown(slots: Sequence[float], single: float) -> float:
    """Mean / single: below 1 for rates, above 1 for times, if sharing costs."""
    return float(_rates_of([slots]).mean()) / _positive("single run", single)


def interference(under_load: float, alone: float) -> float:
    """Under load / alone: what a neighbour of another kind leaves."""
    return _positive("run under load", under_load) / _positive("run alone", alone)


def cpu_target(
    measured_s: float,
    *,
    single_s: float,
    virtual: int,
    cores: int,
    full_s: float | None = None,
) -> Target:
    """Compare a CPU-bound time of v virtual on c physical cores with its target.

    Ideal: single x max(1, v/c); LMU: ``full_s`` x v/c. ValueError without cores or
    time.
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
    """Add all slots up again; each number may be off by half its last decimal place."""
    values = _rates_of([slots])[0]
    step = min(last_place(rate) for rate in slots)
    rounding = (values.size * step + last_place(printed)) / 2
    return SumCheck(printed, math.fsum(slots), rounding)


def half_width(values: Floats) -> float:
    """Half the 95 % interval of a mean (Student's t)."""
    error = values.std(ddof=1) / math.sqrt(values.size)
    return float(stdtrit(values.size - 1, 0.975) * error)


def _rates_of(coruns: CoRunTable) -> Floats:
    """Return co-runs as an array (co-run x slot).

    ValueError for other widths, invalid rates or all zeros.
    """
    if not len(coruns) or not len(coruns[0]):
        raise ValueError(Sentence("a co-run needs at least one slot"))
    if len({len(slots) for slots in coruns}) > 1:
        raise ValueError(Sentence("repeated co-runs need the same number of slots"))
    values = np.asarray(coruns, dtype=float)
    is_rate = (values == 0) | ((values > SMALLEST) & (values < 1 / SMALLEST))
    if not is_rate.all() or not values.any(axis=1).all():
        raise ValueError(
            Sentence("every slot needs a finite number, and one of them above 0")
        )
    return values


def is_rate(value: float) -> bool:
    """Whether a rate can be this large, or this small: above 0, and so are squares."""
    return SMALLEST < value < 1 / SMALLEST


def _positive(name: str, value: float) -> float:
    if not is_rate(value):
        raise ValueError(f"the {name} is {value}: no ratio can be formed")
    return value


def consolidation(coruns_by_k: Mapping[int, CoRunTable]) -> Consolidation:
    """Return the curve over the number of VMs, and its knee.

    VMs raised the sum if it grew beyond the margin and the noise of both sums.
    ValueError without co-runs, or where a co-run of k VMs does not have k slots.
    """
    if not coruns_by_k:
        raise ValueError("a consolidation curve needs at least one co-run")
    single = coruns_by_k.get(1)
    alone = None if single is None else float(_rates_of(single).mean())
    points = []
    for k, coruns in sorted(coruns_by_k.items()):
        values = _rates_of(coruns)
        if values.shape[1] != k:
            raise ValueError(f"a co-run of {k} VMs has {values.shape[1]} slots")
        sums = values.sum(axis=1)
        total, mean = float(sums.mean()), float(values.mean())
        points.append(
            CurvePoint(
                k=k,
                sum=total,
                noise=half_width(sums) / total if sums.size > 1 else None,
                mean=mean,
                fairness=fairness(coruns),
                scaling=total / alone if alone else None,
                share=mean / alone if alone else None,
            )
        )
    best = points[0]
    for point in points[1:]:
        noise = math.hypot(best.noise or 0.0, point.noise or 0.0)
        if math.log(point.sum / best.sum) > max(math.log1p(MARGIN), noise):
            best = point
    return Consolidation(tuple(points), best.k)
