"""Cell statistics per session, as arrays (stored by `cell_shapes`)."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.sessions import UNKNOWN_TIME
from benchmarks.models import Cell, CellSession, Efficiency, Study

STATISTICS = ("n", "mean", "m2", "minimum", "maximum", "rho", "first_mean")


@dataclass(frozen=True)
class ColumnsByCell:
    """Columns ordered by ``cell``."""

    cell: NDArray[np.int64]

    def of_cells(self, cell_ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], Self]:
        """Return the entries of these cells, and for each the index of its cell."""
        first = np.searchsorted(self.cell, cell_ids, "left")
        counts = np.searchsorted(self.cell, cell_ids, "right") - first
        row = np.repeat(np.arange(len(cell_ids)), counts)
        offsets = np.cumsum(counts) - counts
        entries = np.arange(len(row)) + np.repeat(first - offsets, counts)
        return row, type(self)(*(column[entries] for column in vars(self).values()))


@dataclass(frozen=True)
class RunColumns(ColumnsByCell):
    """Means and starts of runs, ordered by cell, session and start.

    ``start`` is in seconds since 1970. Unknown values are as in `SessionColumns`.
    """

    session: NDArray[np.int64]
    mean: Floats
    start: Floats


@dataclass(frozen=True)
class SessionColumns(ColumnsByCell):
    """Columns of `CellSession`, ordered by ``cell``.

    ``first_at`` and ``last_at`` are in seconds since 1970. Unknown values are
    `UNKNOWN_TIME` in ``session`` and NaN elsewhere; ``rho`` is also unknown for too few
    runs.
    """

    session: NDArray[np.int64]
    n: NDArray[np.int64]
    mean: Floats
    m2: Floats
    minimum: Floats
    maximum: Floats
    rho: Floats
    first_mean: Floats
    first_at: Floats
    last_at: Floats

    @property
    def days(self) -> dict[int, str]:
        """The first day of each session whose time is known, as "2021-05-03"."""
        has_start = ~np.isnan(self.first_at)
        starts: dict[int, float] = {}
        pairs = zip(
            self.session[has_start].tolist(),
            self.first_at[has_start].tolist(),
            strict=True,
        )
        for session, start in pairs:
            starts[session] = min(start, starts.get(session, start))
        return {
            session: datetime.fromtimestamp(start, UTC).date().isoformat()
            for session, start in starts.items()
        }


# Format of `array_send`, big-endian: dimensions, nulls, type, length, first index, then
# byte length and value of each number.
NUMBER = np.dtype([("length", ">i4"), ("value", ">f8")])
ARRAY_HEAD_BYTES = 20


def columns_sql(*numbers: str) -> str:
    """Return SQL that aggregates expressions to binary float8 arrays.

    NULL becomes NaN. Ids are exact up to 2^53.
    """
    return ", ".join(
        f"array_send(array_agg(COALESCE({number}::float8, 'NaN')))"
        for number in numbers
    )


def read_columns(arrays: Iterable[bytes | None]) -> Iterator[Floats]:
    for array in arrays:
        if array is None:
            yield np.empty(0)
        else:
            numbers = np.frombuffer(array, NUMBER, offset=ARRAY_HEAD_BYTES)
            yield numbers["value"].astype(float)


TIMES = [f"EXTRACT(EPOCH FROM {name})" for name in ("first_at", "last_at")]
SESSION_COLUMNS_SQL = columns_sql("cell_id", "session_id", *STATISTICS, *TIMES)
STUDY_SESSIONS_SQL = f"""
    SELECT {SESSION_COLUMNS_SQL} FROM {CellSession._meta.db_table}
    WHERE cell_id IN (
        SELECT id FROM {Cell._meta.db_table} WHERE study_id = %(study)s
        UNION
        SELECT against.baseline_id FROM {Efficiency._meta.db_table} AS against
        JOIN {Cell._meta.db_table} AS cell ON cell.id = against.cell_id
        WHERE cell.study_id = %(study)s
    )
"""
RUNS_SQL = f"""
    SELECT {columns_sql("cell_id", "session_id", "length(run_means) / 8")},
           string_agg(run_means, ''), string_agg(run_starts, '')
    FROM {CellSession._meta.db_table} WHERE cell_id = ANY(%(cells)s)
"""
CELL_SESSIONS_SQL = f"""
    SELECT {SESSION_COLUMNS_SQL} FROM {CellSession._meta.db_table}
    WHERE cell_id = ANY(%(cells)s)
"""


def study_sessions(study: Study) -> SessionColumns:
    """Return the sessions of a study's cells and their baselines, with one query."""
    return _columns(STUDY_SESSIONS_SQL, {"study": study.pk})


def cell_sessions(cell_ids: Collection[int]) -> SessionColumns:
    return _columns(CELL_SESSIONS_SQL, {"cells": list(cell_ids)})


def _columns(query: str, parameters: dict[str, Any]) -> SessionColumns:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        cell, session, n, *statistics = read_columns(cursor.fetchone())
    order = np.lexsort((session, cell))
    return SessionColumns(
        cell[order].astype(np.int64),
        np.nan_to_num(session[order], nan=UNKNOWN_TIME).astype(np.int64),
        n[order].astype(np.int64),
        *(column[order] for column in statistics),
    )


def cell_runs(cell_ids: Collection[int]) -> RunColumns:
    """Return the runs of the last check, with one query."""
    with connection.cursor() as cursor:
        cursor.execute(RUNS_SQL, {"cells": list(cell_ids)})
        *sizes, means, starts = cursor.fetchone()
    cell, session, n = read_columns(sizes)
    counts = n.astype(np.int64)
    cells = np.repeat(cell.astype(np.int64), counts)
    sessions = np.repeat(np.nan_to_num(session, nan=UNKNOWN_TIME), counts)
    order = np.lexsort((sessions, cells))  # stable: keeps the order of starts
    return RunColumns(
        cells[order],
        sessions[order].astype(np.int64),
        *(
            np.frombuffer(packed or b"", ">f8").astype(float)[order]
            for packed in (means, starts)
        ),
    )
