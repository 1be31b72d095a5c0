"""How many more runs, or sessions, would narrow an interval or decide.

The interval's formula is solved for the number of runs, for the same mean and spread.
Stop by width, never by significance: stopping at the first difference finds one in 19 %
of equal systems.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.intervals import (
    NOISY_G,
    WELCH_RUNS,
    Floats,
    Rollups,
    t_of_runs,
    t_quantiles,
    welch_df,
)
from benchmarks.analysis.sessions import REPEATED_SESSIONS
from benchmarks.sentences import Sentence, counted

MOST_RUNS: Final = 200  # more than this nobody runs: say so instead
MOST_SESSIONS: Final = 60


def runs_for_width(
    cell: Rollups,
    baseline: Rollups,
    half_width: ArrayLike,
    *,
    extra_log_variance: ArrayLike = 0.0,
    confidence: float = 0.95,
) -> NDArray[np.int64]:
    """Return how many runs a side narrow the interval to a relative ``half_width``.

    At least 5; 0 if MOST_RUNS are not enough or a side's spread is unknown.
    """
    wanted = np.broadcast_to(np.arcsinh(half_width), cell.n.shape)
    extra = np.broadcast_to(np.asarray(extra_log_variance, dtype=float), cell.n.shape)
    probability = (1 + confidence) / 2
    too_few = np.full(cell.n.shape, WELCH_RUNS - 1)
    enough = np.full(cell.n.shape, MOST_RUNS + 1)
    # Halving finds the least: a run more never widens the interval.
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


def runs_for_mean(cell: Rollups, half_width: ArrayLike) -> NDArray[np.int64]:
    """Return how many runs narrow the interval of a mean, as `runs_for_width`."""
    certain = Rollups.of(np.full(cell.n.shape, MOST_RUNS + 1), 1.0, 0.0, 0.0)
    return runs_for_width(cell, certain, half_width)


def sessions_for_width(
    between_sd: Floats, is_shared: NDArray[np.bool_], log_half_width: Floats
) -> NDArray[np.int64]:
    """Return how many sessions narrow the interval; ``between_sd`` is of logs.

    At least 3; 0 if `MOST_SESSIONS` are not enough or the spread is unknown.
    """
    counts = np.arange(REPEATED_SESSIONS, MOST_SESSIONS + 1)
    shared = t_of_runs(counts, 0.975) / np.sqrt(counts)
    apart = t_quantiles(np.asarray(2.0 * counts - 2), 0.975) * np.sqrt(2 / counts)
    # Falling with the count: how many are too few is the place to insert.
    needed = log_half_width / between_sd
    too_few = [np.searchsorted(-each, -needed, "right") for each in (shared, apart)]
    place = np.where(is_shared, *too_few)
    is_enough = (place < counts.size) & np.isfinite(needed)
    return np.where(is_enough, counts[np.minimum(place, counts.size - 1)], 0)


def width_sentence(
    runs: int, wanted: int, half_width: float, *, sides: int = 2
) -> Sentence:
    """Say how many more runs of one or both sides narrow an interval to a width."""
    percent = half_width * 100
    if wanted and wanted <= runs:
        return Sentence("The interval is below {percent:g} %.", percent=percent)
    if not wanted and sides == 2:
        return Sentence(
            "{n} runs a side do not bring the interval below {percent:g} %.",
            n=MOST_RUNS,
            percent=percent,
        )
    if not wanted:
        return Sentence(
            "{n} runs do not bring the interval below {percent:g} %.",
            n=MOST_RUNS,
            percent=percent,
        )
    if sides == 2:
        return counted(
            "{n} more run a side brings the interval below {percent:g} %.",
            "{n} more runs a side bring the interval below {percent:g} %.",
            n=wanted - runs,
            percent=percent,
        )
    return counted(
        "{n} more run brings the interval below {percent:g} %.",
        "{n} more runs bring the interval below {percent:g} %.",
        n=wanted - runs,
        percent=percent,
    )
