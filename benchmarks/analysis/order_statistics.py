"""Quantiles with intervals from order statistics, and distribution functions. PURE."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import bdtr

CONFIDENCE: Final = 0.95
MAX_STEPS: Final = 400
"""Points of a distribution function in a chart."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile; an end of its interval is None if the sample is too small for it."""

    value: float
    low: float | None
    high: float | None


def quantile(values: Sequence[float], share: float) -> Quantile:
    """Return the quantile of a sample, with a 95 % interval without assumptions on its
    distribution.

    The median of an even number is the mean of the middle two values; other quantiles
    are values of the sample.
    """
    ordered = sorted(values)
    n = len(ordered)
    tail = (1 - CONFIDENCE) / 2
    # P(the value of this rank is above the quantile) = P(fewer values are below it).
    fewer = bdtr(np.arange(n + 1), n, share)
    below = int(np.searchsorted(fewer, tail, side="right")) - 1
    above = int(np.searchsorted(fewer, 1 - tail)) + 1
    middle = math.ceil(n * share)
    value = ordered[max(middle, 1) - 1]
    if share == 0.5 and n % 2 == 0:
        value = (ordered[n // 2 - 1] + ordered[n // 2]) / 2
    return Quantile(
        value,
        ordered[below] if below >= 0 else None,
        ordered[above - 1] if above <= n else None,
    )


def distribution_function(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return (value, share of values up to it), thinned to `MAX_STEPS` points."""
    ordered = sorted(values)
    n = len(ordered)
    step = max(1, math.ceil(n / MAX_STEPS))
    ranks = [*range(step, n, step), n] if n else []
    return [(ordered[rank - 1], rank / n) for rank in ranks]
