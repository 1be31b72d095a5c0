"""What each session of a cell says: a study's check writes it, its verdicts read it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.session_rollups import UNKNOWN_TIME, SessionRollups
from benchmarks.analysis.sessions import lag_one
from benchmarks.analysis.shape import Shape
from benchmarks.analysis.summary import summarise
from benchmarks.models import Cell, CellSession, Efficiency, Sample, Study
from benchmarks.models.run import (
    CELL_OF_PLACED,
    IS_ORDER_KNOWN,
    PLACE_OF_RUN,
    RUNS_OF_CELLS,
    of_cells,
)
from benchmarks.studies.writing import write_columns

STATISTICS = ("n", "mean", "m2", "minimum", "maximum", "rho", "first")
FIELDS = (*STATISTICS, "first_at", "last_at")
MEANS = f"""
    {of_cells("cell.id = ANY(%s)")}
    SELECT run.cell_id, run.sitting_id,
           array_agg(run.mean ORDER BY {PLACE_OF_RUN}),
           min(run.started_at), max(run.started_at)
    {RUNS_OF_CELLS}
    GROUP BY run.cell_id, run.sitting_id
"""
UNORDERED = f"""
    {of_cells("cell.id = ANY(%s)")}
    SELECT run.cell_id, run.sitting_id
    {RUNS_OF_CELLS}
    GROUP BY run.cell_id, run.sitting_id
    HAVING NOT {IS_ORDER_KNOWN}
"""
# The order is known all the same of sessions whose samples were numbered through, and
# uploaded in that order. Samples are many: looked at only where runs do not say it, and
# run by run: whoever looks for each of a run's cases reads all of it as often.
NUMBERED = f"""
    {of_cells("cell.id = ANY(%s)")}
    SELECT {CELL_OF_PLACED.format("sample")} AS cell_id, run.sitting_id
    FROM placed AS run
    JOIN {Sample._meta.db_table} AS sample
      ON sample.lab_id = run.lab_id AND sample.run_id = run.id
     AND sample.case_id = ANY(run.cases)
    GROUP BY 1, 2
    HAVING count(DISTINCT sample.repetition) = count(*)
       AND array_agg(sample.repetition ORDER BY {PLACE_OF_RUN}, sample.sequence)
           = array_agg(sample.repetition ORDER BY sample.repetition)
"""


def unordered_cells(cell_ids: Collection[int]) -> set[int]:
    """Return those of these cells of whose runs nobody knows in which order they ran.

    It takes one session of which that is not known.
    """
    return {cell_id for cell_id, _session in unordered_sessions(cell_ids)}


def unordered_sessions(cell_ids: Collection[int]) -> set[tuple[int, int | None]]:
    """Return the sessions of these cells of whose runs nobody knows the order."""
    with connection.cursor() as cursor:
        cursor.execute(UNORDERED, [list(cell_ids)])
        unordered = set(cursor.fetchall())
        # Of none, too: a page asks as often whatever its study holds.
        cursor.execute(NUMBERED, [sorted({cell_id for cell_id, _ in unordered})])
        return unordered.difference(cursor.fetchall())


def store_cell_sessions(
    shapes: Mapping[int, Shape | None], unordered: Collection[tuple[int, int | None]]
) -> None:
    """Bring what is kept of these cells' sessions up to date, in the caller's check.

    ``shapes`` are those of the cells, by id; None of one that has too few runs.
    ``unordered`` are the sessions of whose runs nobody knows the order.
    """
    # Locked: a worker may be about to delete one, and its sessions with it.
    locked = Cell.objects.select_for_update(no_key=True).filter(pk__in=shapes)
    lab_of = dict(locked.order_by("pk").values_list("pk", "lab_id"))
    stored = {
        (row.cell_id, row.session_id): row
        for row in CellSession.objects.filter(cell__in=lab_of)
    }
    with connection.cursor() as cursor:
        cursor.execute(MEANS, [list(lab_of)])
        rows = cursor.fetchall()
    # Only what differs is written.
    new, changed = [], []
    for cell_id, session_id, means, first_at, last_at in rows:
        summary, shape = summarise(means), shapes[cell_id]
        first, rho = None, None
        if (cell_id, session_id) not in unordered:
            first, rho = shape.apart(means) if shape else (None, lag_one(means))
        found: dict[str, Any] = {
            **{name: getattr(summary, name) for name in STATISTICS[:-2]},
            "rho": rho,
            "first": first,
            "first_at": first_at,
            "last_at": last_at,
        }
        row = stored.pop((cell_id, session_id), None)
        if row is None:
            key = {"lab_id": lab_of[cell_id], "cell_id": cell_id}
            new.append(CellSession(**key, session_id=session_id, **found))
        elif any(getattr(row, name) != value for name, value in found.items()):
            for name, value in found.items():
                setattr(row, name, value)
            changed.append(row)
    CellSession.objects.filter(pk__in=[row.pk for row in stored.values()]).delete()
    write_columns(CellSession, FIELDS, changed)
    CellSession.objects.bulk_create(new)


@dataclass(frozen=True)
class SessionColumns:
    """What sessions say of cells, a column each, in the order of ``cell``.

    ``session`` is `UNKNOWN_TIME` where nobody knows when they ran, ``rho`` NaN where
    the runs tell none, ``first_at`` seconds since 1970, NaN where no run says when.
    """

    cell: NDArray[np.int64]
    session: NDArray[np.int64]
    n: NDArray[np.int64]
    mean: Floats
    m2: Floats
    minimum: Floats
    maximum: Floats
    rho: Floats
    first: Floats
    first_at: Floats

    @property
    def days(self) -> dict[int, str]:
        """The day on which each session that is known began: "2021-05-03"."""
        known = ~np.isnan(self.first_at)
        starts: dict[int, float] = {}
        pairs = zip(
            self.session[known].tolist(), self.first_at[known].tolist(), strict=True
        )
        for session, start in pairs:
            starts[session] = min(start, starts.get(session, start))
        return {
            session: datetime.fromtimestamp(start, UTC).date().isoformat()
            for session, start in starts.items()
        }

    def of_cells(
        self, cell_ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], "SessionColumns"]:
        """Return the entries of these cells in their order, each with its cell's place.

        A cell that is named twice has its entries twice; one without any has none.
        """
        first = np.searchsorted(self.cell, cell_ids, "left")
        counts = np.searchsorted(self.cell, cell_ids, "right") - first
        row = np.repeat(np.arange(len(cell_ids)), counts)
        before = np.cumsum(counts) - counts
        entries = np.arange(len(row)) + np.repeat(first - before, counts)
        return row, SessionColumns(*(column[entries] for column in vars(self).values()))

    def rollups(
        self, cell_ids: NDArray[np.int64], resolution: Floats
    ) -> SessionRollups:
        """Return the sessions of one side's cells, as intervals by design take them.

        ``resolution`` is that of each cell, NaN if unknown.
        """
        row, entries = self.of_cells(cell_ids)
        return SessionRollups.of(
            row,
            entries.session,
            entries.n,
            entries.mean,
            entries.m2,
            entries.minimum,
            entries.maximum,
            entries.rho,
            resolution[row],
            entries.first,
        )


FIRST_AT = "EXTRACT(EPOCH FROM first_at)"
# One row: each column is one array as PostgreSQL sends them (`comparing.verdicts`).
COLUMNS = ", ".join(
    f"array_send(array_agg(COALESCE({number}::float8, 'NaN')))"
    for number in ("cell_id", "session_id", *STATISTICS, FIRST_AT)
)
OF_STUDY = f"""
    SELECT {COLUMNS} FROM {CellSession._meta.db_table}
    WHERE cell_id IN (
        SELECT id FROM {Cell._meta.db_table} WHERE study_id = %(study)s
        UNION
        SELECT against.baseline_id FROM {Efficiency._meta.db_table} AS against
        JOIN {Cell._meta.db_table} AS cell ON cell.id = against.cell_id
        WHERE cell.study_id = %(study)s
    )
"""
OF_CELLS = f"""
    SELECT {COLUMNS} FROM {CellSession._meta.db_table}
    WHERE cell_id = ANY(%(cells)s)
"""
# What `array_send` gives: five integers (dimensions, nulls, type, length, first index),
# then each number behind its own length in bytes. All big-endian.
NUMBER = np.dtype([("length", ">i4"), ("value", ">f8")])
ARRAY_HEAD_BYTES = 20


def study_sessions(study: Study) -> SessionColumns:
    """Return what sessions say of a study's cells and of their baselines, in one query.

    Baselines that are cells of other studies are among them.
    """
    return _columns(OF_STUDY, {"study": study.pk})


def cell_sessions(cell_ids: Collection[int]) -> SessionColumns:
    """Return what sessions say of a few cells, in one query."""
    return _columns(OF_CELLS, {"cells": list(cell_ids)})


def _columns(query: str, named: dict[str, Any]) -> SessionColumns:
    with connection.cursor() as cursor:
        cursor.execute(query, named)
        row = cursor.fetchone()
    # An aggregate over nothing is one row of nulls.
    cell, session, n, *statistics = (
        np.empty(0)
        if array is None
        else np.frombuffer(array, NUMBER, offset=ARRAY_HEAD_BYTES)["value"]
        for array in row
    )
    order = np.lexsort((session, cell))
    return SessionColumns(
        cell[order].astype(np.int64),
        np.nan_to_num(session[order], nan=UNKNOWN_TIME).astype(np.int64),
        n[order].astype(np.int64),
        *(column[order].astype(float) for column in statistics),
    )
