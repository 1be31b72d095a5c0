"""Number of runs or sessions needed for a given width of the confidence interval.

It solves the interval's formula for the same mean and spread.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.intervals import (
    NOISY_G,
    WELCH_RUNS,
    Floats,
    RunStatistics,
    t_quantiles,
    t_quantiles_of_runs,
    welch_df,
)
from benchmarks.analysis.sessions import REPEATED_SESSIONS
from benchmarks.sentences import Sentence, pluralized

MAX_RUNS: Final = 200
MAX_SESSIONS: Final = 60


def runs_for_width(
    cell: RunStatistics,
    baseline: RunStatistics,
    half_width: ArrayLike,
    *,
    extra_log_variance: ArrayLike = 0.0,
    confidence: float = 0.95,
) -> NDArray[np.int64]:
    """Return how many runs per side narrow the interval to a relative ``half_width``.

    Return 0 if `MAX_RUNS` are not enough or the spread is unknown.
    """
    max_log_width = np.broadcast_to(np.arcsinh(half_width), cell.n.shape)
    extra = np.broadcast_to(np.asarray(extra_log_variance, dtype=float), cell.n.shape)
    probability = (1 + confidence) / 2
    too_few = np.full(cell.n.shape, WELCH_RUNS - 1)
    enough = np.full(cell.n.shape, MAX_RUNS + 1)
    while np.any(enough - too_few > 1):
        middle = (too_few + enough + 1) // 2
        is_enough = _is_enough(
            cell, baseline, middle, max_log_width, extra, probability
        )
        enough = np.where(is_enough, middle, enough)
        too_few = np.where(is_enough, too_few, middle)
    return np.where(enough > MAX_RUNS, 0, enough)


def _is_enough(
    cell: RunStatistics,
    baseline: RunStatistics,
    runs: NDArray[np.int64],
    max_log_width: Floats,
    extra: Floats,
    probability: float,
) -> NDArray[np.bool_]:
    cell_n, baseline_n = np.maximum(cell.n, runs), np.maximum(baseline.n, runs)
    cell_variance = cell.log_variance(cell_n)
    baseline_variance = baseline.log_variance(baseline_n)
    cell_g = t_quantiles_of_runs(cell_n, probability) ** 2 * cell_variance
    baseline_g = t_quantiles_of_runs(baseline_n, probability) ** 2 * baseline_variance
    df = welch_df(cell_variance, cell_n, baseline_variance, baseline_n, extra)
    half_width = t_quantiles(df, probability) * np.sqrt(
        cell_variance + baseline_variance + extra
    )
    is_not_noisy = np.maximum(cell_g, baseline_g) < NOISY_G
    return np.asarray((half_width < max_log_width) & is_not_noisy, dtype=bool)


def with_blocks_as_runs(
    cell: RunStatistics, baseline: RunStatistics, blocks: RunStatistics
) -> tuple[RunStatistics, RunStatistics]:
    """Return both sides with interleaved blocks (if n > 0) instead of runs.

    Blocks are relative to an exact baseline.
    """
    has_blocks = blocks.n > 0
    exact = RunStatistics.from_sums(
        np.full(cell.n.shape, MAX_RUNS + 1), 1.0, 0.0, np.nan
    )
    first, second = (
        RunStatistics(
            *(
                np.where(has_blocks, getattr(by, name), getattr(side, name))
                for name in ("n", "mean", "variance", "resolution", "effective_n")
            )
        )
        for side, by in ((cell, blocks), (baseline, exact))
    )
    return first, second


def runs_for_mean(cell: RunStatistics, half_width: ArrayLike) -> NDArray[np.int64]:
    exact_baseline = RunStatistics.from_sums(
        np.full(cell.n.shape, MAX_RUNS + 1), 1.0, 0.0, 0.0
    )
    return runs_for_width(cell, exact_baseline, half_width)


def sessions_for_width(
    between_sd: Floats, is_shared: NDArray[np.bool_], log_half_width: Floats
) -> NDArray[np.int64]:
    """Return how many sessions narrow the interval to ``log_half_width``.

    Return 0 if `MAX_SESSIONS` are not enough or the spread is unknown.
    """
    counts = np.arange(REPEATED_SESSIONS, MAX_SESSIONS + 1)
    shared_widths = t_quantiles_of_runs(counts, 0.975) / np.sqrt(counts)
    separate_widths = t_quantiles(np.asarray(2.0 * counts - 2), 0.975) * np.sqrt(
        2 / counts
    )
    needed = log_half_width / between_sd
    too_few = [
        np.searchsorted(-widths, -needed, "right")
        for widths in (shared_widths, separate_widths)
    ]
    index = np.where(is_shared, *too_few)
    is_enough = (index < counts.size) & np.isfinite(needed)
    return np.where(is_enough, counts[np.minimum(index, counts.size - 1)], 0)


def width_sentence(
    runs: int, needed: int, half_width: float, *, side_count: int = 2
) -> Sentence:
    percent = half_width * 100
    if needed and needed <= runs:
        return Sentence(
            "The confidence interval is within ±{percent:g}%.", percent=percent
        )
    if not needed and side_count == 2:
        return Sentence(
            "{n} runs per side are not enough to bring the confidence interval "
            "within ±{percent:g}%.",
            n=MAX_RUNS,
            percent=percent,
        )
    if not needed:
        return Sentence(
            "{n} runs are not enough to bring the confidence interval within "
            "±{percent:g}%.",
            n=MAX_RUNS,
            percent=percent,
        )
    if side_count == 2:
        return pluralized(
            "{n} more run per side brings the confidence interval within "
            "±{percent:g}%.",
            "{n} more runs per side bring the confidence interval within "
            "±{percent:g}%.",
            n=needed - runs,
            percent=percent,
        )
    return pluralized(
        "{n} more run brings the confidence interval within ±{percent:g}%.",
        "{n} more runs bring the confidence interval within ±{percent:g}%.",
        n=needed - runs,
        percent=percent,
    )
