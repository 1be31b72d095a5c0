"""What one side's runs say, session by session.

Runs that follow each other may depend on each other. The effective number of such
runs, and how far their variance is too small: Bayley and Hammersley, JRSS Supplement 8
(1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.intervals import NO_WARNINGS, WELCH_RUNS, Floats, Rollups
from benchmarks.analysis.sessions import LEAST_UNBIASING, MOST_RHO

Places = NDArray[np.int64]

UNKNOWN_TIME: Final = -1  # the session of runs that state no start
LEAST_WORTH: Final = 3.0  # independent runs
# What dependence takes of the number of runs, as a power of what it adds to a variance.
WORTH: Final = 0.75
# What is added to an autocorrelation, divided by the number of runs it rests on.
ALLOWED: Final = 3.5
# How clear it must be, in standard errors: the first of these / n less the second.
FEW_CLEAR: Final = 13.0
FEW_LESS: Final = 1.5
# Of n runs no longer memory is believed than 1 - this / n.
LONGEST: Final = 1.5


@dataclass(frozen=True, slots=True)
class SessionRollups:
    """The statistics of one side's cells, session by session: flat arrays.

    Entry k is what cell ``row[k]`` measured in session ``session[k]`` (`UNKNOWN_TIME`:
    nobody knows when); entries are in the order of rows, then sessions. ``variance`` is
    NaN below two runs, ``rho`` the autocorrelation of neighbouring runs (`dependent`
    says what both sides make of it), NaN where too few tell. ``first`` is the reading
    of the first run where it lies apart from the others and moves their mean
    (``shape``), else NaN.
    """

    row: Places
    session: Places
    n: Places
    mean: Floats
    variance: Floats
    minimum: Floats
    maximum: Floats
    rho: Floats
    resolution: Floats
    first: Floats

    @classmethod
    def of(
        cls,
        row: ArrayLike,
        session: ArrayLike,
        n: ArrayLike,
        mean: ArrayLike,
        m2: ArrayLike,
        minimum: ArrayLike,
        maximum: ArrayLike,
        rho: ArrayLike = np.nan,
        resolution: ArrayLike = np.nan,
        first: ArrayLike = np.nan,
    ) -> SessionRollups:
        """Take what is stored of sessions, in any order; ``m2`` as in `Rollups.of`."""
        rows, sessions = (np.asarray(each, dtype=np.int64) for each in (row, session))
        rolled = Rollups.of(n, mean, m2, resolution)
        low, high, lag, cold = (
            np.broadcast_to(np.asarray(each, dtype=float), rows.shape)
            for each in (minimum, maximum, rho, first)
        )
        order = np.lexsort((sessions, rows))
        return cls(
            rows[order],
            sessions[order],
            rolled.n[order],
            rolled.mean[order],
            rolled.variance[order],
            low[order],
            high[order],
            lag[order],
            rolled.resolution[order],
            cold[order],
        )

    @classmethod
    def of_one_sitting(
        cls, cells: Rollups, minimum: ArrayLike, maximum: ArrayLike
    ) -> SessionRollups:
        """Take whole cells for one session each, of which nobody knows the time."""
        rows = np.flatnonzero(cells.n > 0)
        taken = cells.take(rows)
        return cls(
            rows,
            np.full(rows.shape, UNKNOWN_TIME),
            taken.n,
            taken.mean,
            taken.variance,
            np.asarray(minimum, dtype=float)[rows],
            np.asarray(maximum, dtype=float)[rows],
            np.full(rows.shape, np.nan),
            taken.resolution,
            np.full(rows.shape, np.nan),
        )

    @classmethod
    def of_runs(
        cls, cells: Sequence[Sequence[float]], sessions: Sequence[Sequence[int]]
    ) -> SessionRollups:
        """Take the runs of cells, each with its session; a cell may tell of none."""
        found: dict[tuple[int, int], list[float]] = {}
        for row, (values, told) in enumerate(zip(cells, sessions, strict=True)):
            own = told or (UNKNOWN_TIME,) * len(values)
            for value, session in zip(values, own, strict=True):
                found.setdefault((row, session), []).append(value)
        places, runs = list(found), list(found.values())
        return cls.of(
            [row for row, _session in places],
            [session for _row, session in places],
            [len(values) for values in runs],
            *_moments(runs),
            [min(values) for values in runs],
            [max(values) for values in runs],
        )

    @NO_WARNINGS
    def without_firsts(self) -> SessionRollups:
        """Return what is left of the sessions whose first run lies apart.

        It would count twice: it moves the mean, by an amount that is known, and makes
        it look unsure. ``rho`` is that of the others already. Sessions that have fewer
        than five others stay whole.
        """
        is_cold = np.isfinite(self.first) & (self.n > WELCH_RUNS)
        n = np.where(is_cold, self.n - 1, self.n)
        off = np.where(is_cold, self.first - self.mean, 0.0)
        # Of the squares around the mean, what one reading has of them.
        squares = self.variance * (self.n - 1) - off**2 * (self.n / n)
        variance = np.where(is_cold, np.maximum(squares, 0) / (n - 1), self.variance)
        return replace(self, n=n, mean=self.mean - off / n, variance=variance)

    @property
    @NO_WARNINGS
    def _widening(self) -> Floats:
        """By how much dependence multiplies the variance of each session's mean.

        Of n runs in a chain of autocorrelation rho^k at distance k, which reaches no
        further than the n runs do (`LONGEST`): a longer memory they cannot show.
        """
        most = np.clip(1 - LONGEST / self.n, 0, MOST_RHO)
        rho = np.where(self.rho > 0, np.minimum(self.rho, most), 0.0)
        whole = (1 + rho) / (1 - rho)
        ends = 2 * rho * (1 - rho**self.n) / (self.n * (1 - rho) ** 2)
        return np.asarray(whole - ends, dtype=float)

    @property
    @NO_WARNINGS
    def independent(self) -> Floats:
        """How many independent runs those of each session are worth, at least three.

        Of their mean it is n / w, of their variance more: n (1 - rho^2) / (1 + rho^2)
        of a long series. A t of three quarters of the way on a log scale holds at ten
        runs, where neither is known. Few runs know their own autocorrelation too badly
        for a t of still fewer than three.
        """
        worth = np.where(self.rho > 0, self.n / self._widening**WORTH, self.n)
        least = np.minimum(self.n, LEAST_WORTH)
        return np.asarray(np.maximum(worth, least), dtype=float)

    @property
    @NO_WARNINGS
    def scatter(self) -> Floats:
        """The variance that this many independent runs would have.

        Runs that follow each other stay near their own mean: around it n of them show
        only (n - w) / (n - 1) of their variance, where w widens that of the mean.
        """
        widening = self._widening
        of_mean = self.variance * (self.n - 1) / (self.n - widening) * widening / self.n
        return np.where(self.rho > 0, of_mean * self.independent, self.variance)

    @property
    def rollups(self) -> Rollups:
        """Each session as if it were a cell."""
        return Rollups(
            self.n, self.mean, self.scatter, self.resolution, self.independent
        )


@NO_WARNINGS
def dependent(
    own: SessionRollups, other: SessionRollups, size: int
) -> tuple[SessionRollups, SessionRollups]:
    """Return both sides with the ``rho`` that the intervals of ``size`` cells count.

    A few runs know their own autocorrelation badly, those of both sides and of all
    sessions together better: each counts by what its mean adds to the variance of the
    ratio, for then the mean of all is right wherever the noise comes from.

    How wrong it still is costs more words than it saves, so something is added to it:
    `ALLOWED` divided by how many runs it rests on. From nine runs a session on it
    counts wherever it is then above 0; of fewer only where it is beyond chance, of five
    where one in seven cells without any order would show as much: were all of them to
    pay for what so few can hardly show, few words would be left.
    """
    sides = (own, other)
    # Sums over the sessions of each cell: of weights, excess, its variance, ...
    whole, total, of_error, runs, squares = np.zeros((5, size))
    for side in sides:
        weight = side.variance / (side.n * side.mean**2)
        weight = np.where(np.isfinite(side.rho) & (weight > 0), weight, 0.0)
        excess = np.nan_to_num(side.rho) * np.maximum(side.n - 4, LEAST_UNBIASING)
        # Of runs without any order: Moran, Biometrika 35 (1948).
        spread = (side.n - 2) / (side.n * np.sqrt(side.n - 1))
        for sums, values in (
            (whole, weight),
            (total, weight * excess / side.n),
            (of_error, (weight * np.nan_to_num(spread)) ** 2),
            (runs, weight * side.n),
            (squares, weight**2 / side.n),
        ):
            sums += np.bincount(side.row, values, size)
    n = runs / whole
    rho = total / whole * n / np.maximum(n - 4, LEAST_UNBIASING)
    allowed = np.maximum(rho + ALLOWED * squares / whole**2, 0)
    is_clear = total / np.sqrt(of_error) > FEW_CLEAR / n - FEW_LESS
    rho = np.where(is_clear, allowed, 0.0)
    return (
        replace(own, rho=np.where(np.isfinite(own.rho), rho[own.row], np.nan)),
        replace(other, rho=np.where(np.isfinite(other.rho), rho[other.row], np.nan)),
    )


def rollups_of_runs(cells: Sequence[Sequence[float]]) -> Rollups:
    """Return the statistics of cells whose runs are known."""
    return Rollups.of([len(values) for values in cells], *_moments(cells), np.nan)


def _moments(cells: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Return means and sums of squares around them."""
    means = [fmean(values) for values in cells]
    m2 = [
        fsum((value - mean) ** 2 for value in values)
        for values, mean in zip(cells, means, strict=True)
    ]
    return means, m2
