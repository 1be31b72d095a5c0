"""Complete separation: every run of one side lies beyond every run of the other.

Then the direction needs no single figure. Under equal sides each assignment of runs to
sides is as likely, so chance separates them in 2 of all assignments (Fisher, "The
design of experiments", 1935, section 21): for five runs a side 2 in 252. What is
exchanged follows the design: runs within a session, whole sessions if days differ.

Sides more than a quarter apart (`BEYOND_DAYS`) in every run are different, whatever the
days.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from benchmarks.analysis.designs import ACROSS_DAYS, PAIRED, Designed
from benchmarks.analysis.intervals import NO_WARNINGS, WELCH_RUNS, Floats
from benchmarks.analysis.sessions import Places, SessionRollups

BEYOND_DAYS: Final = 1.25
RARE: Final = 0.01  # five runs a side are separated by chance in 0.8 %


@dataclass(frozen=True, slots=True)
class Ends:
    """The range of a log ratio, from the extreme runs of both sides.

    ``chance`` is of separation under equal sides within the design, ``of_runs`` over
    all runs; ``n`` is the smaller side's runs; ``rounding`` the effect of last digits.
    """

    low: Floats
    high: Floats
    rounding: Floats
    chance: Floats
    of_runs: Floats
    n: Floats

    def side(self, margin: float) -> NDArray[np.int8]:
        """Return -1 where every run is slower by more than the margin, 1 faster."""
        slower = self.high + self.rounding < np.log1p(-margin)
        faster = self.low - self.rounding > np.log1p(margin)
        return np.asarray(faster * 1 - slower * 1, dtype=np.int8)

    @property
    def is_beyond_days(self) -> NDArray[np.bool_]:
        """Whether every run is apart by more than days could put it."""
        far = np.log(BEYOND_DAYS)
        slower, faster = self.high + self.rounding, self.low - self.rounding
        return np.asarray((slower < -far) | (faster > far), dtype=bool)

    @property
    def decides(self) -> NDArray[np.bool_]:
        """Whether a separation, where there is one, is no chance."""
        is_rare = self.chance <= RARE
        by_size = self.is_beyond_days & (self.of_runs <= RARE)
        return np.asarray((self.n >= WELCH_RUNS) & (is_rare | by_size), dtype=bool)

    @property
    def p_values(self) -> Floats:
        """Return the chance by which each separation decides."""
        return np.where(self.chance <= RARE, self.chance, self.of_runs)


@NO_WARNINGS
def ends_of(
    designed: Designed,
    sessions: tuple[SessionRollups, SessionRollups],
    higher_is_better: ArrayLike,
) -> Ends:
    """Return ranges and chances of separation, within sessions that both share."""
    own, other = sessions
    pairs, size = designed.pairs, designed.design.size
    sign = np.where(np.broadcast_to(higher_is_better, (size,)), 1.0, -1.0)
    is_paired = designed.is_of(*PAIRED)

    def least(row: Places, values: Floats) -> Floats:
        ends = np.full(size, np.inf)
        np.minimum.at(ends, row, values)
        return np.where(np.isfinite(ends), ends, np.nan)

    def range_of(a: Floats, b: Floats, c: Floats, d: Floats, up: Floats) -> Floats:
        """Return the least ratio of a..b and c..d; the greatest is its reciprocal's."""
        return np.where(up > 0, np.log(a) - np.log(d), np.log(c) - np.log(b))

    mine = own.minimum[pairs.own], own.maximum[pairs.own]
    theirs = other.minimum[pairs.other], other.maximum[pairs.other]
    up = sign[pairs.row]
    pair_low = least(pairs.row, range_of(*mine, *theirs, up))
    pair_high = -least(pairs.row, range_of(*theirs, *mine, up))
    all_mine = least(own.row, own.minimum), -least(own.row, -own.maximum)
    all_theirs = least(other.row, other.minimum), -least(other.row, -other.maximum)
    low = np.where(is_paired, pair_low, range_of(*all_mine, *all_theirs, sign))
    high = np.where(is_paired, pair_high, -range_of(*all_theirs, *all_mine, sign))

    of_pairs = _log_choose(own.independent[pairs.own], other.independent[pairs.other])
    arrangements = np.bincount(pairs.row, of_pairs, size)
    runs, worth = (
        [np.bincount(side.row, counted, size) for side, counted in counts]
        for counts in (
            [(side, side.n) for side in sessions],
            [(side, side.independent) for side in sessions],
        )
    )
    counts = [np.bincount(side.row, minlength=size) for side in sessions]
    logs = np.select(
        [is_paired, designed.is_of(*ACROSS_DAYS)],
        [arrangements, _log_choose(*counts)],
        _log_choose(*worth),
    )
    chance, among_runs = (
        np.minimum(2 * np.exp(-each), 1) for each in (logs, _log_choose(*runs))
    )
    steps = [_half_step(side, size) for side in sessions]
    rounding = np.log1p(steps[0]) + np.log1p(steps[1])
    return Ends(low, high, rounding, chance, among_runs, np.minimum(*runs))


def _half_step(side: SessionRollups, size: int) -> Floats:
    """Return half of each cell's last digit in parts of its least run, 0 if unknown."""
    parts = np.nan_to_num(side.resolution / side.minimum / 2, nan=0.0, posinf=0.0)
    most = np.zeros(size)
    np.maximum.at(most, side.row, parts)
    return most


def _log_choose(one: Places | Floats, other: Places | Floats) -> Floats:
    """Return the log of the ways to choose which of all runs are one side's."""
    whole = gammaln(one + other + 1.0)
    return np.asarray(whole - gammaln(one + 1.0) - gammaln(other + 1.0), dtype=float)
