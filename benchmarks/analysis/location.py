"""Estimates beside the mean that a few odd runs do not move, from 10 runs on.

Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
Statistics 34 (1963). They need the run means themselves, not their summary.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.analysis.student import Floats

LEAST_RUNS: Final = 10


def median(run_means: ArrayLike) -> float:
    """Return the median of at least 10 run means."""
    return float(np.median(_values(run_means)))


def hodges_lehmann(run_means: ArrayLike) -> float:
    """Return the median of the means of all pairs, each run paired with itself too."""
    values = _values(run_means)
    first, second = np.triu_indices(len(values))
    return float(np.median((values[first] + values[second]) / 2))


def hodges_lehmann_ratio(
    run_means: ArrayLike, baseline_means: ArrayLike, *, higher_is_better: bool
) -> float:
    """Return the median ratio of all pairs of a run and a baseline run.

    Hodges and Lehmann's shift on the log scale: 1 is the baseline's speed. ValueError
    with a reading that is not above 0, or fewer runs on a side than it needs.
    """
    values, baselines = _values(run_means), _values(baseline_means)
    if min(values.min(), baselines.min()) <= 0:
        raise ValueError("a ratio needs readings above 0")
    logs = np.log(values)[:, None] - np.log(baselines)[None, :]
    ratio = float(np.exp(np.median(logs)))
    return ratio if higher_is_better else 1 / ratio


def _values(run_means: ArrayLike) -> Floats:
    values = np.asarray(run_means, dtype=float)
    if values.size < LEAST_RUNS:
        raise ValueError(f"{values.size} runs: this estimate needs {LEAST_RUNS}")
    return values
