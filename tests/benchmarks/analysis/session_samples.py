"""Cells as {session: runs}, for tests with sessions."""

import numpy as np

from benchmarks.analysis.intervals import RunStatistics
from benchmarks.analysis.sessions import SessionStatistics

UNKNOWN = float("nan")


def rolled(*cells):
    values = [np.concatenate([np.asarray(s, float) for s in c.values()]) for c in cells]
    return RunStatistics.from_sums(
        [v.size for v in values],
        [v.mean() for v in values],
        [((v - v.mean()) ** 2).sum() for v in values],
        UNKNOWN,
    )


def in_sessions(
    *cells, rho=UNKNOWN, resolution=UNKNOWN, first=UNKNOWN, starts=(UNKNOWN, UNKNOWN)
):
    rows = [
        (row, session, np.asarray(runs, dtype=float))
        for row, cell in enumerate(cells)
        for session, runs in cell.items()
    ]
    return SessionStatistics.from_sums(
        [row for row, _, _ in rows],
        [session for _, session, _ in rows],
        [runs.size for *_, runs in rows],
        [runs.mean() for *_, runs in rows],
        [((runs - runs.mean()) ** 2).sum() for *_, runs in rows],
        [runs.min() for *_, runs in rows],
        [runs.max() for *_, runs in rows],
        rho,
        resolution,
        first,
        *starts,
    )


def runs(level, n=5):
    return [level * (1 + 0.004 * (k - (n - 1) / 2)) for k in range(n)]


A, B, C, D, E, F = range(6)


def days(*sessions, n=5, level=100.0):
    return {session: runs(level + session, n) for session in sessions}
