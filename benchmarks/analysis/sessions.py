"""Sessions: runs grouped by start time and machine state, and their statistics.

See docs/method.md, Sessions.
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

from benchmarks.analysis.intervals import NO_WARNINGS, WELCH_RUNS, Floats, RunStatistics
from benchmarks.sentences import Sentence, join_sentences

LONGEST_PAUSE: Final = timedelta(hours=6)
MACHINE_STATES: Final = {
    "host_kernel": Sentence("kernel"),
    "host_firmware": Sentence("firmware"),
    "host_microcode": Sentence("microcode"),
}
BOOT_FACT: Final = "host_boot"
# Agents generate such a name at each start. If it counted as declared, the runs of one
# afternoon would be separate sessions.
AGENT_SESSION_NAME: Final = re.compile(r"agent-[0-9a-f]{12}")

MIN_LAG_RUNS: Final = 5
MIN_BIAS_DIVISOR: Final = 4
MAX_RHO: Final = 0.99
REPEATED_SESSIONS: Final = 3


@dataclass(frozen=True, slots=True)
class RunStart:
    id: int
    started_at: datetime
    states: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DerivedSession:
    runs: tuple[int, ...]
    starts: tuple[datetime, ...]
    reason: Sentence

    def session_name(self, run: int) -> str:
        return f"{self.starts[self.runs.index(run)]:%Y-%m-%d %H:%M}"


def is_declared_name(name: str) -> bool:
    return bool(name) and not AGENT_SESSION_NAME.fullmatch(name)


def host_states(facts: Mapping[str, Any]) -> dict[str, str]:
    stated = {name: facts.get(name) for name in (*MACHINE_STATES, BOOT_FACT)}
    return {
        name: value
        for name, value in stated.items()
        if value and isinstance(value, str)
    }


def derive_sessions(runs: Iterable[RunStart]) -> list[DerivedSession]:
    """Starts are aware UTC times of one host, in any order."""
    ordered = sorted(
        runs, key=lambda run: (run.started_at, sorted(run.states.items()), run.id)
    )
    groups: list[list[RunStart]] = []
    reasons: list[Sentence] = []
    last_states: dict[str, tuple[str, RunStart]] = {}
    for run in ordered:
        reason = (
            _session_reason(groups[-1][-1], run, last_states)
            if groups
            else FIRST_RUNS_PHRASE
        )
        if reason is not None:
            groups.append([])
            reasons.append(reason)
            last_states = {}
        groups[-1].append(run)
        last_states |= {name: (stated, run) for name, stated in run.states.items()}
    return [
        DerivedSession(
            tuple(run.id for run in group),
            tuple(run.started_at for run in group),
            reason,
        )
        for group, reason in zip(groups, reasons, strict=True)
    ]


FIRST_RUNS_PHRASE: Final = Sentence("the first runs on this host")


def _session_reason(
    before: RunStart, run: RunStart, last_states: Mapping[str, tuple[str, RunStart]]
) -> Sentence | None:
    parts: list[Sentence] = []
    pause = run.started_at - before.started_at
    if pause > LONGEST_PAUSE:
        hours = pause / timedelta(hours=1)
        parts.append(
            Sentence("{hours:.1f} hours after the previous run", hours=hours)
            if hours < 48
            else Sentence("{days:.1f} days after the previous run", days=hours / 24)
        )
    for name, stated in run.states.items():
        previous, previous_run = last_states.get(name, (stated, run))
        if previous == stated:
            continue
        if name in MACHINE_STATES:
            parts.append(
                Sentence(
                    "{what} changed from {before} to {now}",
                    what=MACHINE_STATES[name],
                    before=previous,
                    now=stated,
                )
            )
        elif run.started_at.date() != previous_run.started_at.date():
            parts.append(Sentence("a reboot on another day"))
    return join_sentences(parts, ", ") if parts else None


OVERLAP_REASON: Final = Sentence("their runs overlap in time")
SITTING_REASON: Final = Sentence("less than six hours apart, in the same machine state")


@dataclass(frozen=True, slots=True)
class CountedSession:
    """Another session as part of which a session counts, and why."""

    counted_with: int
    reason: Sentence


def sessions_counted_together(
    hosts: Iterable[Sequence[RunStart]], session_by_run: Mapping[int, int]
) -> dict[int, CountedSession]:
    """Return the sessions that are no repetitions of an earlier one.

    ``hosts`` has the runs of each host. Sessions count as one if their runs overlap in
    time on a host, or belong to one session that `derive_sessions` returns.
    """
    links: list[tuple[int, int]] = []
    overlapping: set[int] = set()
    starts: dict[int, datetime] = {}
    for runs in hosts:
        ranges: dict[int, tuple[datetime, datetime]] = {}
        for sitting in derive_sessions(runs):
            known = [
                (session_by_run[run], start)
                for run, start in zip(sitting.runs, sitting.starts, strict=True)
                if run in session_by_run
            ]
            links += [(known[0][0], session) for session, _start in known]
            for session, start in known:
                # Starts are in order.
                ranges[session] = ranges.get(session, (start, start))[0], start
                starts[session] = min(starts.get(session, start), start)
        overlaps = _overlaps(ranges)
        overlapping.update(session for link in overlaps for session in link)
        links += overlaps
    groups = _linked_groups(sorted(starts, key=lambda pk: (starts[pk], pk)), links)
    return {
        session: CountedSession(
            first, OVERLAP_REASON if session in overlapping else SITTING_REASON
        )
        for first, *others in groups
        for session in others
    }


def _overlaps(
    ranges: Mapping[int, tuple[datetime, datetime]],
) -> list[tuple[int, int]]:
    """Return each range that begins before the end of an earlier one, with that one."""
    found = []
    latest: int | None = None
    for key in sorted(ranges, key=lambda key: (ranges[key], key)):
        if latest is not None and ranges[key][0] < ranges[latest][1]:
            found.append((latest, key))
        if latest is None or ranges[key][1] > ranges[latest][1]:
            latest = key
    return found


def _linked_groups(
    keys: Iterable[int], links: Iterable[tuple[int, int]]
) -> list[list[int]]:
    """Group directly or indirectly linked keys, in order of ``keys``."""
    parents: dict[int, int] = {}

    def root(key: int) -> int:
        while (parent := parents.get(key, key)) != key:
            key = parent
        return key

    for one, other in links:
        parents[root(other)] = root(one)
    groups: dict[int, list[int]] = {}
    for key in keys:
        groups.setdefault(root(key), []).append(key)
    return list(groups.values())


def nearest_sessions(
    session: DerivedSession, known_sessions: Mapping[int, int]
) -> dict[int, int]:
    """Map each run without a known session to the known session of the run nearest in
    time.

    Return an empty map if no run has a known session.
    """
    pairs = zip(session.starts, session.runs, strict=True)
    placed = [
        (start, known_sessions[run]) for start, run in pairs if run in known_sessions
    ]
    if not placed:
        return {}
    times = [start for start, _ in placed]
    sessions = {}
    for start, run in zip(session.starts, session.runs, strict=True):
        if run in known_sessions:
            continue
        after = bisect_left(times, start)
        candidates = placed[max(after - 1, 0) : after + 1]
        sessions[run] = min(candidates, key=lambda pair: abs(pair[0] - start))[1]
    return sessions


def match_stored_sessions(
    groups: Sequence[Sequence[int]], stored_sessions: Mapping[int, int | None]
) -> list[int | None]:
    """Return the stored session that each group of runs continues, or None.

    The pairs with most shared runs are matched first; each group and each session is
    matched at most once.
    """
    shared = Counter(
        (index, session)
        for index, runs in enumerate(groups)
        for run in runs
        if (session := stored_sessions.get(run)) is not None
    )
    matches: list[int | None] = [None] * len(groups)
    taken: set[int] = set()
    for (index, session), _ in sorted(
        shared.items(), key=lambda item: (-item[1], item[0])
    ):
        if matches[index] is None and session not in taken:
            matches[index] = session
            taken.add(session)
    return matches


def lag_one_autocorrelation(
    values: Sequence[float], slope: float = 0.0
) -> float | None:
    """Return the lag-1 autocorrelation of runs without its bias; None below 5 runs.

    The result is at most 0.99. ``slope``, the drift per run, is removed first.
    """
    n = len(values)
    if n < MIN_LAG_RUNS:
        return None
    largest = max(map(abs, values)) or 1.0
    # Scaled, because squares of large values overflow.
    parts = [value / largest - slope / largest * k for k, value in enumerate(values)]
    mean = math.fsum(parts) / n
    residuals = [part - mean for part in parts]
    total = math.fsum(residual * residual for residual in residuals)
    # The mean of equal readings may differ in the last bit.
    if min(values) == max(values) or not total:
        return None
    r = math.fsum(before * after for before, after in pairwise(residuals)) / total
    bias = 2 if slope else 1
    return min((n * r + bias) / max(n - 4, MIN_BIAS_DIVISOR), MAX_RHO)


Indices = NDArray[np.int64]

UNKNOWN_TIME: Final = -1  # runs without a start time
MIN_EFFECTIVE_RUNS: Final = 3.0
# docs/method.md, Dependent runs, explains these constants.
EFFECTIVE_EXPONENT: Final = 0.75
RHO_ALLOWANCE: Final = 1.0
FEW_RUNS_RHO_ALLOWANCE: Final = 3.5
MIN_ALLOWANCE_RUNS: Final = 8
RHO_CLEAR_FACTOR: Final = 13.0
RHO_CLEAR_OFFSET: Final = 1.5
MAX_MEMORY_FACTOR: Final = 1.5


@dataclass(frozen=True, slots=True)
class SessionStatistics:
    """Statistics of the sessions of many cells, ordered by ``row`` (cell) and session.

    ``rho`` is the lag-1 autocorrelation of the session's runs (NaN: too few runs),
    ``first_mean`` the mean of the first run if it is an outlier, else NaN.
    ``first_start`` and ``last_start`` are in seconds, NaN if unknown.
    """

    row: Indices
    session: Indices
    n: Indices
    mean: Floats
    variance: Floats
    minimum: Floats
    maximum: Floats
    rho: Floats
    resolution: Floats
    first_mean: Floats
    first_start: Floats
    last_start: Floats

    @classmethod
    def from_sums(
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
        first_start: ArrayLike = np.nan,
        last_start: ArrayLike = np.nan,
    ) -> SessionStatistics:
        rows, sessions = (
            np.asarray(values, dtype=np.int64) for values in (row, session)
        )
        runs = RunStatistics.from_sums(n, mean, m2, resolution)
        low, high, rhos, first_means, first_starts, last_starts = (
            np.broadcast_to(np.asarray(values, dtype=float), rows.shape)
            for values in (minimum, maximum, rho, first, first_start, last_start)
        )
        order = np.lexsort((sessions, rows))
        return cls(
            rows[order],
            sessions[order],
            runs.n[order],
            runs.mean[order],
            runs.variance[order],
            low[order],
            high[order],
            rhos[order],
            runs.resolution[order],
            first_means[order],
            first_starts[order],
            last_starts[order],
        )

    @classmethod
    def one_session(
        cls,
        cells: RunStatistics,
        minimum: ArrayLike = np.nan,
        maximum: ArrayLike = np.nan,
        session: int = UNKNOWN_TIME,
    ) -> SessionStatistics:
        rows = np.flatnonzero(cells.n > 0)
        statistics = cells.take(rows)
        low, high = (
            np.broadcast_to(np.asarray(values, dtype=float), cells.n.shape)[rows]
            for values in (minimum, maximum)
        )
        unknown = np.full(rows.shape, np.nan)
        return cls(
            rows,
            np.full(rows.shape, session),
            statistics.n,
            statistics.mean,
            statistics.variance,
            low,
            high,
            unknown,
            statistics.resolution,
            *(unknown, unknown, unknown),
        )

    @classmethod
    def from_runs(
        cls, cells: Sequence[Sequence[float]], sessions: Sequence[Sequence[int]]
    ) -> SessionStatistics:
        runs_by_session: dict[tuple[int, int], list[float]] = {}
        for row, (values, run_sessions) in enumerate(zip(cells, sessions, strict=True)):
            known_sessions = run_sessions or (UNKNOWN_TIME,) * len(values)
            for value, session in zip(values, known_sessions, strict=True):
                runs_by_session.setdefault((row, session), []).append(value)
        keys, runs = list(runs_by_session), list(runs_by_session.values())
        return cls.from_sums(
            [row for row, _session in keys],
            [session for _row, session in keys],
            [len(values) for values in runs],
            *_moments(runs),
            [min(values) for values in runs],
            [max(values) for values in runs],
        )

    @NO_WARNINGS
    def exclude_first_runs(self) -> SessionStatistics:
        """Return statistics without outlying first runs of sessions with at least five
        other runs.
        """
        is_excluded = np.isfinite(self.first_mean) & (self.n > WELCH_RUNS)
        n = np.where(is_excluded, self.n - 1, self.n)
        distance = np.where(is_excluded, self.first_mean - self.mean, 0.0)
        squares = self.variance * (self.n - 1) - distance**2 * (self.n / n)
        variance = np.where(
            is_excluded, np.maximum(squares, 0) / (n - 1), self.variance
        )
        return replace(self, n=n, mean=self.mean - distance / n, variance=variance)

    @property
    @NO_WARNINGS
    def _inflation(self) -> Floats:
        max_rho = np.clip(1 - MAX_MEMORY_FACTOR / self.n, 0, MAX_RHO)
        rho = np.where(self.rho > 0, np.minimum(self.rho, max_rho), 0.0)
        infinite = (1 + rho) / (1 - rho)
        correction = 2 * rho * (1 - rho**self.n) / (self.n * (1 - rho) ** 2)
        return np.asarray(infinite - correction, dtype=float)

    @property
    @NO_WARNINGS
    def effective_runs(self) -> Floats:
        """The numbers of independent runs that the runs are worth, at least three (or
        all).

        Each is between n / w for the mean (w: inflation of its variance) and n (1 -
        rho^2) / (1 + rho^2) for the variance.
        """
        effective = np.where(
            self.rho > 0, self.n / self._inflation**EFFECTIVE_EXPONENT, self.n
        )
        minimum = np.minimum(self.n, MIN_EFFECTIVE_RUNS)
        return np.asarray(np.maximum(effective, minimum), dtype=float)

    @property
    @NO_WARNINGS
    def effective_variance(self) -> Floats:
        """Variances that give the variance of the mean if divided by `effective_runs`.

        Dependent runs show only (n - w) / (n - 1) of their variance.
        """
        inflation = self._inflation
        mean_variance = (
            self.variance * (self.n - 1) / (self.n - inflation) * inflation / self.n
        )
        return np.where(
            self.rho > 0, mean_variance * self.effective_runs, self.variance
        )

    @property
    def independent_runs(self) -> RunStatistics:
        """Statistics of the runs as if none depended on another."""
        return RunStatistics(self.n, self.mean, self.variance, self.resolution)

    @property
    def run_statistics(self) -> RunStatistics:
        return RunStatistics(
            self.n,
            self.mean,
            self.effective_variance,
            self.resolution,
            self.effective_runs,
        )


@NO_WARNINGS
def with_pooled_rho(
    own: SessionStatistics, other: SessionStatistics, size: int
) -> tuple[SessionStatistics, SessionStatistics]:
    """Pool ``rho`` by cell over both sides. See docs/method.md, Dependent runs."""
    sides = (own, other)
    weight_sum, excess_sum, error_variance, run_sum, weight_squares = np.zeros(
        (5, size)
    )
    for side in sides:
        weight = side.variance / (side.n * side.mean**2)
        weight = np.where(np.isfinite(side.rho) & (weight > 0), weight, 0.0)
        excess = np.nan_to_num(side.rho) * np.maximum(side.n - 4, MIN_BIAS_DIVISOR)
        # For independent runs: Moran, Biometrika 35 (1948).
        spread = (side.n - 2) / (side.n * np.sqrt(side.n - 1))
        for sums, values in (
            (weight_sum, weight),
            (excess_sum, weight * excess / side.n),
            (error_variance, (weight * np.nan_to_num(spread)) ** 2),
            (run_sum, weight * side.n),
            (weight_squares, weight**2 / side.n),
        ):
            sums += np.bincount(side.row, values, size)
    n = run_sum / weight_sum
    rho = excess_sum / weight_sum * n / np.maximum(n - 4, MIN_BIAS_DIVISOR)
    allowance = np.where(n < MIN_ALLOWANCE_RUNS, FEW_RUNS_RHO_ALLOWANCE, RHO_ALLOWANCE)
    allowed = np.maximum(rho + allowance * weight_squares / weight_sum**2, 0)
    is_clear = (
        excess_sum / np.sqrt(error_variance) > RHO_CLEAR_FACTOR / n - RHO_CLEAR_OFFSET
    )
    rho = np.where(is_clear, allowed, 0.0)
    return (
        replace(own, rho=np.where(np.isfinite(own.rho), rho[own.row], np.nan)),
        replace(other, rho=np.where(np.isfinite(other.rho), rho[other.row], np.nan)),
    )


def statistics_of_runs(cells: Sequence[Sequence[float]]) -> RunStatistics:
    return RunStatistics.from_sums(
        [len(values) for values in cells], *_moments(cells), np.nan
    )


def _moments(cells: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    means = [fmean(values) for values in cells]
    m2 = [
        fsum((value - mean) ** 2 for value in values)
        for values, mean in zip(cells, means, strict=True)
    ]
    return means, m2
