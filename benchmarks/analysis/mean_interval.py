"""The mean of a cell's runs with its interval, for drawing it beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import stdtrit


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean and the ends of its 95 % interval, in the unit of the readings."""

    mean: float
    low: float
    high: float


def mean_interval(
    n: int, mean: float, m2: float, resolution: float | None = None
) -> MeanInterval | None:
    """Return Student's interval of the mean of ``n`` runs; None below two.

    ``m2`` is the sum of squared deviations. Readings that spread less than rounding
    alone would spread them get the variance of rounding, resolution^2 / 12, which no
    repetition lessens (GUM, F.2.2.1); without a resolution they have no interval.
    """
    if n < 2:
        return None
    variance, rounding = m2 / (n - 1), (resolution or 0.0) ** 2 / 12
    of_mean = rounding if variance < rounding else variance / n
    if of_mean == 0:
        return None
    half_width = float(stdtrit(n - 1, 0.975)) * math.sqrt(of_mean)
    return MeanInterval(mean, mean - half_width, mean + half_width)
