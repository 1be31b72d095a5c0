"""Variance of a log ratio from doubts about its baseline (without Django).

See docs/method.md, Screening. A doubt of size d (the log of the factor by which one of
two readings may be wrong) means that the ratio is right or wrong by d, with the same
probability: the mean square error is d^2 / 2.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import variance
from typing import Any, Final

from benchmarks.plausibility.study_facts import TYPICAL_DEVIATION

DAY_DEVIATION: Final = 0.03
"""The standard deviation of a machine between days, if it was not measured."""
OTHER_DAY_VARIANCE: Final = 2 * DAY_DEVIATION**2
"""Both sides have their own day."""
DEFAULT_DEVIATION: Final = 0.05


def doubt_variance(difference: float) -> float:
    return difference**2 / 2


def flag_differences(rule: str, evidence: Mapping[str, Any]) -> dict[float, float]:
    """Return by how much a flag doubts the log of each mean that it names.

    Empty if the rule gives no number.
    """
    differences: dict[float, float] = {}
    if rule == "baseline-too-slow" and "native" in evidence:
        factor = 1 + evidence["median_percent"] / 100
        differences[evidence["native"]] = math.log(factor)
    elif rule in ("baselines-disagree", "faster-than-native"):
        for first, second in evidence.get("pairs", ()):
            if first > 0 and second > 0:
                difference = abs(math.log(first / second))
                for mean in (first, second):
                    known = differences.get(mean, 0.0)
                    differences[mean] = max(known, difference)
    return differences


def unmeasured_doubt_variance(component: str) -> float:
    """Return the variance of a doubt without a number: that of one run of such work."""
    return TYPICAL_DEVIATION.get(component, DEFAULT_DEVIATION) ** 2


def unsteady_variance(minimum: float, maximum: float) -> float:
    """Return the variance of ln of a value anywhere in the range of its runs."""
    if not 0 < minimum <= maximum:
        return 0.0
    return math.log(maximum / minimum) ** 2 / 12


def combined_native(means: Sequence[float]) -> tuple[float, float]:
    """Return the mean of the logs of native readings that disagree, and its variance.

    For two readings, the variance is d^2 / 2.
    """
    logs = [math.log(mean) for mean in means]
    return math.fsum(logs) / len(logs), variance(logs)
