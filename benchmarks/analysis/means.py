"""The interval of one cell's mean, on the log scale like those of ratios.

Student's interval of a log mean: mean * exp(+- t s / (sqrt(n) mean)), whose variance is
that of `intervals.Rollups.log_variance` (Hedges, Gurevitch and Curtis, 1999). It says
how well a mean is known; two systems are compared by their ratio, never by whether two
such intervals overlap.
"""

from __future__ import annotations

import numpy as np

from benchmarks.analysis.intervals import LEAST_G, NO_WARNINGS, Rollups
from benchmarks.analysis.student import Floats, t_of_runs


@NO_WARNINGS
def mean_intervals(cells: Rollups, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return the lower and upper ends; NaN for single runs and readings of 0 or less,
    for identical readings of unknown resolution and where the interval reaches 0."""
    g = t_of_runs(cells.n, (1 + confidence) / 2) ** 2 * cells.log_variance()
    exists = (cells.n > 1) & (cells.mean > 0) & (g < 1) & (g > LEAST_G)
    factor = np.exp(np.sqrt(np.where(exists, g, np.nan)))
    return cells.mean / factor, cells.mean * factor
