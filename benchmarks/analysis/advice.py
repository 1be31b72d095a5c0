"""How many runs would help, from the width of the interval.

The formula of the interval is solved for the number of runs, as if mean and spread
stayed what they are: an expectation, not a promise. Runs stop when the interval is
narrow enough, never when a difference becomes significant: looking after every run and
stopping at the first difference finds one in 19 % of equal systems.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.intervals import NOISY_G, WELCH_RUNS, Rollups, welch_df
from benchmarks.analysis.student import Floats, t_of_runs, t_quantiles
from benchmarks.sentences import Sentence, counted

MOST_RUNS: Final = 200  # more than this nobody runs: say so instead


def runs_for_width(
    cell: Rollups,
    baseline: Rollups,
    half_width: ArrayLike,
    *,
    extra_log_variance: ArrayLike = 0.0,
    confidence: float = 0.95,
) -> NDArray[np.int64]:
    """Return how many runs a side make the interval this narrow, counted in all.

    ``half_width`` is a part of the ratio: 0.01 for 1 %. A side that has more runs keeps
    them. At least 5, which a verdict needs; 0 where MOST_RUNS are not enough or where
    the spread of a side is not known.
    """
    wanted = np.broadcast_to(np.arcsinh(half_width), cell.n.shape)
    extra = np.broadcast_to(np.asarray(extra_log_variance, dtype=float), cell.n.shape)
    probability = (1 + confidence) / 2
    too_few = np.full(cell.n.shape, WELCH_RUNS - 1)
    enough = np.full(cell.n.shape, MOST_RUNS + 1)
    while np.any(enough - too_few > 1):
        middle = (too_few + enough + 1) // 2
        is_enough = _is_enough(cell, baseline, middle, wanted, extra, probability)
        enough = np.where(is_enough, middle, enough)
        too_few = np.where(is_enough, too_few, middle)
    return np.where(enough > MOST_RUNS, 0, enough)


def _is_enough(
    cell: Rollups,
    baseline: Rollups,
    runs: NDArray[np.int64],
    wanted: Floats,
    extra: Floats,
    probability: float,
) -> NDArray[np.bool_]:
    """Whether so many runs a side make the interval narrow and both sides calm."""
    own_n, other_n = np.maximum(cell.n, runs), np.maximum(baseline.n, runs)
    own, other = cell.log_variance(own_n), baseline.log_variance(other_n)
    own_g = t_of_runs(own_n, probability) ** 2 * own
    other_g = t_of_runs(other_n, probability) ** 2 * other
    df = welch_df(own, own_n, other, other_n, extra)
    half_width = t_quantiles(df, probability) * np.sqrt(own + other + extra)
    is_calm = np.maximum(own_g, other_g) < NOISY_G
    return np.asarray((half_width < wanted) & is_calm, dtype=bool)


def width_sentence(runs: int, wanted: int, half_width: float) -> Sentence:
    """Say how many more runs a side bring the interval below a width."""
    percent = half_width * 100
    if not wanted:
        return Sentence(
            "{n} runs a side do not bring the interval below {percent:g} %.",
            n=MOST_RUNS,
            percent=percent,
        )
    if wanted <= runs:
        return Sentence("The interval is below {percent:g} %.", percent=percent)
    return counted(
        "{n} more run a side brings the interval below {percent:g} %.",
        "{n} more runs a side bring the interval below {percent:g} %.",
        n=wanted - runs,
        percent=percent,
    )
