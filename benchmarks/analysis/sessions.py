"""Sessions: which runs belong together by start and machine state; their statistics.

All runs of a study on one host are one sequence in time. A session begins
(``docs/method.md``, sessions)

- where more than six hours lie between two starts,
- on another calendar day (UTC) if the host was booted in between,
- where the host runs another kernel, firmware or microcode.

A run that does not state them counts under the last known state. The order of uploads
does not matter.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from math import fsum
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.intervals import NO_WARNINGS, WELCH_RUNS, Floats, Rollups
from benchmarks.sentences import Sentence, joined

LONGEST_PAUSE: Final = timedelta(hours=6)
# Facts of a run under which its host is another machine than it was, as people say it.
MACHINE: Final = {
    "host_kernel": Sentence("kernel"),
    "host_firmware": Sentence("firmware"),
    "host_microcode": Sentence("microcode"),
}
BOOT: Final = "host_boot"
# What an agent calls one start of it, where nobody named a session: native machine and
# guests of one afternoon would be as many sessions.
OWN_NAME: Final = re.compile(r"agent-[0-9a-f]{12}")

LEAST_LAGGED: Final = 5
LEAST_UNBIASING: Final = 4
MOST_RHO: Final = 0.99
# From here on a spread between sessions can be relied on.
REPEATED_SESSIONS: Final = 3


@dataclass(frozen=True, slots=True)
class RunStart:
    """When a run started, and the names of `MACHINE` and `BOOT` that it states."""

    id: int
    started_at: datetime
    states: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DerivedSession:
    """Runs of one sitting in the order of their starts, and why it begins."""

    runs: tuple[int, ...]
    starts: tuple[datetime, ...]
    reason: Sentence

    def name_of(self, run: int) -> str:
        """The name of the session that begins with this run: 2021-05-03 14:10 (UTC)."""
        return f"{self.starts[self.runs.index(run)]:%Y-%m-%d %H:%M}"


def is_named(name: str) -> bool:
    """Whether somebody named this session, or a plan did; not an agent by itself."""
    return bool(name) and not OWN_NAME.fullmatch(name)


def host_states(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return what a run's facts say of its host's kernel, firmware, microcode, boot."""
    stated = {name: facts.get(name) for name in (*MACHINE, BOOT)}
    return {name: one for name, one in stated.items() if one and isinstance(one, str)}


def derive_sessions(runs: Iterable[RunStart]) -> list[DerivedSession]:
    """Cut the runs of one host (aware UTC starts, any order) into sessions."""
    # Of runs that start at once, those alike stand together, whoever came first.
    ordered = sorted(
        runs, key=lambda run: (run.started_at, sorted(run.states.items()), run.id)
    )
    groups: list[list[RunStart]] = []
    reasons: list[Sentence] = []
    known: dict[str, tuple[str, RunStart]] = {}
    for run in ordered:
        reason = _beginning(groups[-1][-1], run, known) if groups else FIRST
        if reason is not None:
            groups.append([])
            reasons.append(reason)
            known = {}
        groups[-1].append(run)
        known |= {name: (stated, run) for name, stated in run.states.items()}
    return [
        DerivedSession(
            tuple(run.id for run in group),
            tuple(run.started_at for run in group),
            reason,
        )
        for group, reason in zip(groups, reasons, strict=True)
    ]


FIRST: Final = Sentence("the first runs on this host")


def _beginning(
    before: RunStart, run: RunStart, known: Mapping[str, tuple[str, RunStart]]
) -> Sentence | None:
    """Return why a run begins a session, or None if it belongs to that before."""
    parts: list[Sentence] = []
    pause = run.started_at - before.started_at
    if pause > LONGEST_PAUSE:
        hours = pause / timedelta(hours=1)
        parts.append(
            Sentence("{hours:.1f} hours after the run before", hours=hours)
            if hours < 48
            else Sentence("{days:.1f} days after the run before", days=hours / 24)
        )
    for name, stated in run.states.items():
        was, then = known.get(name, (stated, run))
        if was == stated:
            continue
        if name in MACHINE:
            parts.append(
                Sentence(
                    "{what} {before} to {now}",
                    what=MACHINE[name],
                    before=was,
                    now=stated,
                )
            )
        elif run.started_at.date() != then.started_at.date():
            parts.append(Sentence("another day and a reboot"))
    return joined(parts, ", ") if parts else None


def followed(session: DerivedSession, placed: Mapping[int, int]) -> dict[int, int]:
    """Return the session of each unplaced run: that of the nearest placed run.

    The earlier one of two equally near runs.
    """
    pairs = zip(session.starts, session.runs, strict=True)
    marks = [(at, placed[run]) for at, run in pairs if run in placed]
    if not marks:
        return {}
    times = [at for at, _ in marks]
    places = {}
    for at, run in zip(session.starts, session.runs, strict=True):
        if run in placed:
            continue
        after = bisect_left(times, at)
        near = marks[max(after - 1, 0) : after + 1]
        places[run] = min(near, key=lambda mark: abs(mark[0] - at))[1]
    return places


def kept_sessions(
    groups: Sequence[Sequence[int]], stored: Mapping[int, int | None]
) -> list[int | None]:
    """Return for each group of runs the stored session that it continues, or None.

    A session continues in the group that shares most runs with it.
    """
    shared = Counter(
        (place, session)
        for place, runs in enumerate(groups)
        for run in runs
        if (session := stored.get(run)) is not None
    )
    kept: list[int | None] = [None] * len(groups)
    taken: set[int] = set()
    for (place, session), _ in sorted(
        shared.items(), key=lambda item: (-item[1], item[0])
    ):
        if kept[place] is None and session not in taken:
            kept[place] = session
            taken.add(session)
    return kept


def lag_one(values: Sequence[float], slope: float = 0.0) -> float | None:
    """Return the lag-1 autocorrelation of runs without its bias; None if unknown.

    The bias is -(1 + 4 rho) / n (F. H. C. Marriott and J. A. Pope, Biometrika 41,
    1954), taken as of eight runs for fewer. The result may be negative and is at most
    0.99. None below 5 runs and for equal values. ``slope`` is a drift per run that is
    removed first.
    """
    n = len(values)
    if n < LEAST_LAGGED:
        return None
    largest = max(map(abs, values)) or 1.0
    # In parts of the largest no square overflows.
    parts = [value / largest - slope / largest * k for k, value in enumerate(values)]
    mean = math.fsum(parts) / n
    off = [part - mean for part in parts]
    total = math.fsum(one * one for one in off)
    # Equal readings have no order; their mean may differ from them in the last bit.
    if min(values) == max(values) or not total:
        return None
    r = math.fsum(one * other for one, other in pairwise(off)) / total
    # A line that is fitted takes as much again.
    bias = 2 if slope else 1
    return min((n * r + bias) / max(n - 4, LEAST_UNBIASING), MOST_RHO)


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
    """Statistics of one side's cells by session, ordered by row and session.

    Entry k is cell ``row[k]`` in ``session[k]`` (`UNKNOWN_TIME`: not known).
    ``variance`` is NaN below two runs, ``rho`` the autocorrelation (NaN: too few runs),
    ``first`` an outlying first run (``shape``), else NaN.
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
        cls, cells: Rollups, minimum: ArrayLike = np.nan, maximum: ArrayLike = np.nan
    ) -> SessionRollups:
        """Take whole cells for one session each, of which nobody knows the time."""
        rows = np.flatnonzero(cells.n > 0)
        taken = cells.take(rows)
        low, high = (
            np.broadcast_to(np.asarray(end, dtype=float), cells.n.shape)[rows]
            for end in (minimum, maximum)
        )
        return cls(
            rows,
            np.full(rows.shape, UNKNOWN_TIME),
            taken.n,
            taken.mean,
            taken.variance,
            low,
            high,
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
        """Leave out first runs that lie apart, where at least five others remain."""
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
        """Return the factors by which dependence widens the variances of means."""
        most = np.clip(1 - LONGEST / self.n, 0, MOST_RHO)
        rho = np.where(self.rho > 0, np.minimum(self.rho, most), 0.0)
        whole = (1 + rho) / (1 - rho)
        ends = 2 * rho * (1 - rho**self.n) / (self.n * (1 - rho) ** 2)
        return np.asarray(whole - ends, dtype=float)

    @property
    @NO_WARNINGS
    def independent(self) -> Floats:
        """Return how many independent runs a session's runs are worth, at least three.

        Between n / w for the mean and n (1 - rho^2) / (1 + rho^2) for the variance:
        three quarters of the way on a log scale.
        """
        worth = np.where(self.rho > 0, self.n / self._widening**WORTH, self.n)
        least = np.minimum(self.n, LEAST_WORTH)
        return np.asarray(np.maximum(worth, least), dtype=float)

    @property
    @NO_WARNINGS
    def scatter(self) -> Floats:
        """Return the variances of as many independent runs.

        Dependent runs show (n - w) / (n - 1) of them.
        """
        widening = self._widening
        of_mean = self.variance * (self.n - 1) / (self.n - widening) * widening / self.n
        return np.where(self.rho > 0, of_mean * self.independent, self.variance)

    @property
    def rollups(self) -> Rollups:
        return Rollups(
            self.n, self.mean, self.scatter, self.resolution, self.independent
        )


@NO_WARNINGS
def dependent(
    own: SessionRollups, other: SessionRollups, size: int
) -> tuple[SessionRollups, SessionRollups]:
    """Return both sides with the ``rho`` that the intervals of ``size`` cells use.

    Weighted mean over sides and sessions by their part in the ratio's variance, plus
    `ALLOWED` / runs. Below nine runs per session only what is beyond chance counts.
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
    return Rollups.of([len(values) for values in cells], *_moments(cells), np.nan)


def _moments(cells: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    means = [fmean(values) for values in cells]
    m2 = [
        fsum((value - mean) ** 2 for value in values)
        for values, mean in zip(cells, means, strict=True)
    ]
    return means, m2
