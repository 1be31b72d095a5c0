"""Complete separation: all runs of a cell are faster, or slower, than the baseline's.

See docs/method.md, Complete separation.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from benchmarks.analysis.intervals import NO_WARNINGS, WELCH_RUNS, Floats
from benchmarks.analysis.session_intervals import (
    ACROSS_SESSION_DESIGNS,
    WITHIN_SESSION_DESIGNS,
    DesignIntervals,
)
from benchmarks.analysis.sessions import Indices, SessionStatistics

# Larger differences (as factors) are not effects of days (docs/figures/method.md).
MAX_DAY_FACTOR: Final = 2.0
MAX_CHANCE: Final = 0.01


@dataclass(frozen=True, slots=True)
class SeparationRange:
    """The range of the log ratio between runs of a cell and of its baseline.

    ``rounding`` is how much the last digits may change ``low`` and ``high``.
    ``design_chance`` and ``run_chance`` are the probabilities that an equally fast cell
    and baseline are separated by chance: if the units of the session design are
    assigned to both at random, or if single runs are.
    """

    low: Floats
    high: Floats
    rounding: Floats
    design_chance: Floats
    run_chance: Floats
    n: Floats

    def direction(self, margin: float) -> NDArray[np.int8]:
        """Return 1 if all runs are faster by more than the margin, -1 if slower, 0
        otherwise.
        """
        slower = self.high + self.rounding < np.log1p(-margin)
        faster = self.low - self.rounding > np.log1p(margin)
        return np.asarray(faster * 1 - slower * 1, dtype=np.int8)

    @property
    def exceeds_day_effects(self) -> NDArray[np.bool_]:
        far = np.log(MAX_DAY_FACTOR)
        slower, faster = self.high + self.rounding, self.low - self.rounding
        return np.asarray((slower < -far) | (faster > far), dtype=bool)

    @property
    def is_significant(self) -> NDArray[np.bool_]:
        is_rare = self.design_chance <= MAX_CHANCE
        by_size = self.exceeds_day_effects & (self.run_chance <= MAX_CHANCE)
        return np.asarray((self.n >= WELCH_RUNS) & (is_rare | by_size), dtype=bool)

    @property
    def p_values(self) -> Floats:
        return np.where(
            self.design_chance <= MAX_CHANCE, self.design_chance, self.run_chance
        )


@NO_WARNINGS
def separation_ranges(
    design_intervals: DesignIntervals,
    sessions: tuple[SessionStatistics, SessionStatistics],
    higher_is_better: ArrayLike,
) -> SeparationRange:
    cell, baseline = sessions
    pairs, size = design_intervals.shared_sessions, design_intervals.design.size
    sign = np.where(np.broadcast_to(higher_is_better, (size,)), 1.0, -1.0)
    is_paired = design_intervals.has_design(*WITHIN_SESSION_DESIGNS)

    def minimum_by_row(row: Indices, values: Floats) -> Floats:
        minima = np.full(size, np.inf)
        np.minimum.at(minima, row, values)
        return np.where(np.isfinite(minima), minima, np.nan)

    def low_end(
        minimum: Floats, maximum: Floats, low: Floats, high: Floats, up: Floats
    ) -> Floats:
        return np.where(
            up > 0, np.log(minimum) - np.log(high), np.log(low) - np.log(maximum)
        )

    cell_ends = cell.minimum[pairs.own], cell.maximum[pairs.own]
    baseline_ends = baseline.minimum[pairs.other], baseline.maximum[pairs.other]
    up = sign[pairs.row]
    pair_low = minimum_by_row(pairs.row, low_end(*cell_ends, *baseline_ends, up))
    pair_high = -minimum_by_row(pairs.row, low_end(*baseline_ends, *cell_ends, up))
    all_cell_ends = (
        minimum_by_row(cell.row, cell.minimum),
        -minimum_by_row(cell.row, -cell.maximum),
    )
    all_baseline_ends = (
        minimum_by_row(baseline.row, baseline.minimum),
        -minimum_by_row(baseline.row, -baseline.maximum),
    )
    low = np.where(
        is_paired, pair_low, low_end(*all_cell_ends, *all_baseline_ends, sign)
    )
    high = np.where(
        is_paired, pair_high, -low_end(*all_baseline_ends, *all_cell_ends, sign)
    )

    pair_log_counts = _log_choose(
        cell.effective_runs[pairs.own], baseline.effective_runs[pairs.other]
    )
    arrangements = np.bincount(pairs.row, pair_log_counts, size)
    runs, effective = (
        [np.bincount(side.row, counted, size) for side, counted in counts]
        for counts in (
            [(side, side.n) for side in sessions],
            [(side, side.effective_runs) for side in sessions],
        )
    )
    counts = [np.bincount(side.row, minlength=size) for side in sessions]
    logs = np.select(
        [is_paired, design_intervals.has_design(*ACROSS_SESSION_DESIGNS)],
        [arrangements, _log_choose(*counts)],
        _log_choose(*effective),
    )
    chance, among_runs = (
        np.minimum(2 * np.exp(-log_count), 1)
        for log_count in (logs, _log_choose(*runs))
    )
    steps = [_half_step(side, size) for side in sessions]
    rounding = np.log1p(steps[0]) + np.log1p(steps[1])
    return SeparationRange(low, high, rounding, chance, among_runs, np.minimum(*runs))


def _half_step(side: SessionStatistics, size: int) -> Floats:
    parts = np.nan_to_num(side.resolution / side.minimum / 2, nan=0.0, posinf=0.0)
    largest = np.zeros(size)
    np.maximum.at(largest, side.row, parts)
    return largest


def _log_choose(first: Indices | Floats, second: Indices | Floats) -> Floats:
    total = gammaln(first + second + 1.0)
    return np.asarray(total - gammaln(first + 1.0) - gammaln(second + 1.0), dtype=float)
