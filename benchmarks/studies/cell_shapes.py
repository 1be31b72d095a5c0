"""Distribution shapes and session statistics of cells, for the study check.

Thousands of cells share a few hundred runs, so run facts are read once per set of runs.
"""

import math
import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import orjson
from django.db import connection
from django.db.models import F, Q

from benchmarks.analysis.batch_distribution_shapes import CellReadings, find_shapes
from benchmarks.analysis.bimodality import MIN_RUNS
from benchmarks.analysis.cell_statistics import (
    display_step,
    dominating_outliers,
    summarize,
)
from benchmarks.analysis.clock_reliability import figures_trust, worst_trust
from benchmarks.analysis.distribution_shape import Shape
from benchmarks.analysis.sessions import lag_one_autocorrelation
from benchmarks.database import ids_subquery
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import Cell, CellSession, Run, Sample, Study, System
from benchmarks.models.run import (
    CELL_ID_OF_SAMPLE_SQL,
    COUNTED_SESSION_SQL,
    RUN_ORDER_SQL,
    RUNS_OF_CELLS_SQL,
    SAMPLES_OF_CELLS_SQL,
    UPLOAD_ID_SQL,
    runs_of_cells_sql,
)
from benchmarks.sentences import serialize
from benchmarks.studies.bulk_writes import insert_new, update_columns

MAX_ITERATIONS_READ = 1000
SHAPE_FIELDS = (
    *("shape", "shape_codes", "order_shift", "shaped_at", "clock_trust"),
    *("is_dependent", "outlier_runs", "display_step"),
)
STATISTICS = ("n", "mean", "m2", "minimum", "maximum")
SESSION_FIELDS = (
    *(*STATISTICS, "rho", "first_mean", "first_at", "last_at"),
    *("run_means", "run_starts"),
)

ORDERED_CELL_RUNS_SQL = f"""
    {runs_of_cells_sql("cell.id = ANY(%s)")}
    SELECT run.cell_id, run.case_id, max(run.n),
           array_agg(run.id ORDER BY {RUN_ORDER_SQL}),
           array_agg(run.mean ORDER BY {RUN_ORDER_SQL})
    {RUNS_OF_CELLS_SQL}
    GROUP BY run.cell_id, run.case_id
"""
STATED_RUNS_SQL = f"""
    SELECT run.id, {COUNTED_SESSION_SQL}, run.started_at, {UPLOAD_ID_SQL},
           system.hypervisor, run.clock, run.facts->'clock'
    FROM {Run._meta.db_table} AS run
    JOIN {System._meta.db_table} AS system ON system.id = run.system_id
    WHERE run.id = ANY(%s)
"""
# Grouped by run first: by case, a run's samples would be read once per case.
ITERATIONS_SQL = f"""
    SELECT run_id, case_id,
           (array_agg(value ORDER BY sequence))[1:{MAX_ITERATIONS_READ}]
    FROM {Sample._meta.db_table}
    WHERE lab_id = %s AND run_id = ANY(%s) AND case_id = ANY(%s)
    GROUP BY run_id, case_id
"""
# If samples are numbered across uploads, the numbers give the order of a session.
SESSIONS_ORDERED_BY_REPETITION_SQL = f"""
    {runs_of_cells_sql("cell.id = ANY(%s)")}
    SELECT {CELL_ID_OF_SAMPLE_SQL} AS cell_id, run.session_id
    {SAMPLES_OF_CELLS_SQL}
    GROUP BY 1, 2
    HAVING count(DISTINCT sample.repetition) = count(*)
       AND array_agg(sample.repetition ORDER BY {RUN_ORDER_SQL}, sample.sequence)
           = array_agg(sample.repetition ORDER BY sample.repetition)
"""


class StatedRun(NamedTuple):
    session_id: int | None
    started_at: datetime | None
    upload_id: int
    hypervisor: str
    clock: str
    facts: str | None


class CellSessionRuns(NamedTuple):
    """A session's runs, as indexes of a cell's runs.

    ``is_ordered`` means that start times or a common upload give their order.
    """

    session_id: int | None
    run_indexes: Sequence[int]
    first_at: datetime | None
    last_at: datetime | None
    run_starts: bytes
    is_ordered: bool


class RunGroup(NamedTuple):
    """A set of runs, with the data that all cells of these runs share."""

    runs: tuple[int, ...]
    runs_stated: Sequence[StatedRun]
    session_ids: Sequence[int | None]
    sessions: Sequence[CellSessionRuns]


class OrderedCellRuns(NamedTuple):
    """The runs of a cell; ``most_samples`` is the largest number of samples in one."""

    case_id: int
    most_samples: int
    means: Sequence[float]
    run_group: RunGroup


def shape_cells(study: Study) -> None:
    """Describe the distributions of changed cells, and update their sessions."""
    study_cells = Cell.objects.filter(study=study)
    changed = study_cells.filter(~Q(shaped_at=F("updated_at")) | Q(shaped_at=None))
    # Old shapes are large and not needed.
    unread = changed.only("updated_at", "decimals", "summarized_runs").order_by("pk")
    cells = {cell.pk: cell for cell in unread}
    all_runs = _runs_of(cells)
    # Summaries have neither a distribution nor an order.
    runs = {pk: r for pk, r in all_runs.items() if not cells[pk].summarized_runs}
    unordered = _unordered_sessions(runs)
    unordered_ids = {cell_id for cell_id, _session in unordered}
    for pk, cell_runs in runs.items():
        means, cell = cell_runs.means, cells[pk]
        cell.display_step = display_step(means, cell.decimals)
        cell.outlier_runs = dominating_outliers(
            means, cell_runs.run_group.session_ids, cell.resolution
        )
    readings = _readings(study, runs)
    readings_by_cell = {
        pk: CellReadings(*series, cells[pk].resolution, pk not in unordered_ids)
        for pk, series in readings.items()
        if len(series[0]) >= MIN_RUNS
    }
    band = study.equivalence_margin_percent / 100
    found_shapes = find_shapes(list(readings_by_cell.values()), band=band)
    shapes = dict(zip(readings_by_cell, found_shapes, strict=True))
    trust = _clock_trust_of_groups(study)
    for pk, cell in cells.items():
        cell.clock_trust = trust(all_runs[pk].run_group) if pk in all_runs else ""
        # Not the current time: a run may be added meanwhile.
        cell.shaped_at = cell.updated_at
        cell.shape, cell.shape_codes, cell.order_shift = None, "", 0.0
        cell.is_dependent = False
        if cell.summarized_runs:
            cell.display_step, cell.outlier_runs = None, 0
        if shape := shapes.get(pk):
            cell.shape_codes = ",".join(shape.shape_codes)
            cell.order_shift = shape.order_shift
            cell.is_dependent = shape.is_dependent
            cell.shape = _stored_shape(shape)
    # Only these columns: a worker may update others meanwhile.
    update_columns(Cell, SHAPE_FIELDS, list(cells.values()))
    _store_sessions(study, cells, runs, shapes, unordered)


def unordered_cells(cell_ids: Collection[int]) -> set[int]:
    """Return cells with a session in which the order of runs is unknown."""
    unordered = _unordered_sessions(_runs_of(cell_ids))
    return {cell_id for cell_id, _session in unordered}


def _runs_of(cell_ids: Collection[int]) -> dict[int, OrderedCellRuns]:
    with connection.cursor() as cursor:
        cursor.execute(ORDERED_CELL_RUNS_SQL, [list(cell_ids)])
        rows = cursor.fetchall()
        ids = {run for *_, runs, _means in rows for run in runs}
        cursor.execute(STATED_RUNS_SQL, [list(ids)])
        stated = {pk: StatedRun(*columns) for pk, *columns in cursor.fetchall()}

    @cache
    def group_of(runs: tuple[int, ...]) -> RunGroup:
        group_runs = [stated[run] for run in runs]
        indexes_by_session: dict[int | None, list[int]] = defaultdict(list)
        for index, run in enumerate(group_runs):
            indexes_by_session[run.session_id].append(index)
        sessions = [
            _cell_session_runs(
                session, indexes, [group_runs[index] for index in indexes]
            )
            for session, indexes in indexes_by_session.items()
        ]
        return RunGroup(
            runs, group_runs, [run.session_id for run in group_runs], sessions
        )

    return {
        cell_id: OrderedCellRuns(case_id, most_samples, means, group_of(tuple(runs)))
        for cell_id, case_id, most_samples, runs, means in rows
    }


def _cell_session_runs(
    session_id: int | None, run_indexes: Sequence[int], runs: Sequence[StatedRun]
) -> CellSessionRuns:
    uploads = {run.upload_id for run in runs}
    starts = [run.started_at for run in runs if run.started_at]
    moments = {(run.started_at, run.upload_id) for run in runs}
    has_starts = len(starts) == len(runs) and len(set(starts)) == len(moments)
    return CellSessionRuns(
        session_id,
        run_indexes,
        min(starts, default=None),
        max(starts, default=None),
        _packed(
            run.started_at.timestamp() if run.started_at else math.nan for run in runs
        ),
        is_ordered=len(uploads) == 1 or has_starts,
    )


def _packed(numbers: Iterable[float]) -> bytes:
    values = list(numbers)
    return struct.pack(f">{len(values)}d", *values)


def _unordered_sessions(
    runs: Mapping[int, OrderedCellRuns],
) -> set[tuple[int, int | None]]:
    unordered = {
        (cell_id, session.session_id)
        for cell_id, cell_runs in runs.items()
        for session in cell_runs.run_group.sessions
        if not session.is_ordered
    }
    with connection.cursor() as cursor:
        # Executed even without ids, for a constant number of queries.
        cursor.execute(
            SESSIONS_ORDERED_BY_REPETITION_SQL,
            [sorted({cell_id for cell_id, _ in unordered})],
        )
        return unordered.difference(cursor.fetchall())


def _readings(
    study: Study, runs: Mapping[int, OrderedCellRuns]
) -> dict[int, tuple[Sequence[float], Sequence[int | None]]]:
    """Return values by cell with their sessions: run means, or samples of few runs."""
    short_cells = {
        pk: cell_runs
        for pk, cell_runs in runs.items()
        if len(cell_runs.means) < MIN_RUNS and cell_runs.most_samples > 1
    }
    with connection.cursor() as cursor:
        ids = {
            run
            for cell_runs in short_cells.values()
            for run in cell_runs.run_group.runs
        }
        cases = {cell_runs.case_id for cell_runs in short_cells.values()}
        cursor.execute(ITERATIONS_SQL, [study.lab_id, list(ids), list(cases)])
        iterations = {(run, case): values for run, case, values in cursor.fetchall()}
    readings = {}
    for pk, cell_runs in runs.items():
        sessions, means = cell_runs.run_group.session_ids, cell_runs.means
        if pk in short_cells:
            by_run = [
                iterations.get((run, cell_runs.case_id), [])
                for run in cell_runs.run_group.runs
            ]
            pairs = list(zip(sessions, by_run, strict=True))
            means = [value for values in by_run for value in values]
            sessions = [session for session, values in pairs for _ in values]
        elif len(means) > MAX_ITERATIONS_READ:
            means, sessions = (
                means[:MAX_ITERATIONS_READ],
                sessions[:MAX_ITERATIONS_READ],
            )
        readings[pk] = means, sessions
    return readings


def _stored_shape(shape: Shape) -> dict[str, Any]:
    message = shape.sentence
    return {
        "n": shape.n,
        "sentence": message,
        "words": serialize(message),
        "modes": [
            {"centre": mode.median, "share": mode.share, "count": mode.count}
            for mode in shape.modes
        ],
        "eta_squared": shape.eta_squared,
        "cutoff": shape.cutoff,
        "period": shape.period,
        "lag": shape.lag,
        "first_run_p": shape.first_run_p,
        "outliers": list(shape.outliers),
        "moves": dict(shape.mean_shifts),
        "drift": shape.drift,
        "sessions": shape.sessions,
        "band": shape.band,
        "is_ordered": shape.is_ordered,
    }


def _clock_trust_of_groups(study: Study) -> Callable[[RunGroup], str]:
    margin = study.equivalence_margin_percent / 100
    trust_by_runs: dict[tuple[int, ...], str] = {}

    @cache
    def state_of(hypervisor: str, clock: str, stated: str | None) -> str:
        return figures_trust(
            clock,
            {"clock": orjson.loads(stated)} if stated else {},
            is_virtual=hypervisor != NATIVE,
            margin=margin,
        )

    def trust(group: RunGroup) -> str:
        if group.runs not in trust_by_runs:
            clocks = {
                (run.hypervisor, run.clock, run.facts) for run in group.runs_stated
            }
            trust_by_runs[group.runs] = worst_trust(
                {state_of(*clock) for clock in clocks}
            )
        return trust_by_runs[group.runs]

    return trust


def _store_sessions(
    study: Study,
    cells: Collection[int],
    runs: Mapping[int, OrderedCellRuns],
    shapes: Mapping[int, Shape],
    unordered: Collection[tuple[int, int | None]],
) -> None:
    # Locked, because a worker may be about to delete a cell with its sessions.
    locked = Cell.objects.select_for_update(no_key=True).filter(
        pk__in=ids_subquery(cells)
    )
    ids = list(locked.order_by("pk").values_list("pk", flat=True))
    stored_rows = {
        (row.cell_id, row.session_id): row
        for row in CellSession.objects.filter(cell__in=ids_subquery(ids))
    }
    new, changed = [], []
    for cell_id in ids:
        if cell_id not in runs:
            continue
        shape, cell_runs = shapes.get(cell_id), runs[cell_id]
        for (
            session_id,
            run_indexes,
            first_at,
            last_at,
            run_starts,
            _is_ordered,
        ) in cell_runs.run_group.sessions:
            means = [cell_runs.means[index] for index in run_indexes]
            summary, first_mean, rho = summarize(means), None, None
            if (cell_id, session_id) not in unordered:
                first_mean, rho = (
                    shape.first_run_and_rho(means)
                    if shape
                    else (None, lag_one_autocorrelation(means))
                )
            statistics = (getattr(summary, name) for name in STATISTICS)
            values = (
                *(*statistics, rho, first_mean, first_at, last_at),
                *(_packed(means), run_starts),
            )
            row = stored_rows.pop((cell_id, session_id), None)
            if row is None:
                new.append((study.lab_id, cell_id, session_id, *values))
            elif values != tuple(getattr(row, name) for name in SESSION_FIELDS):
                for name, value in zip(SESSION_FIELDS, values, strict=True):
                    setattr(row, name, value)
                changed.append(row)
    CellSession.objects.filter(pk__in=[row.pk for row in stored_rows.values()]).delete()
    update_columns(CellSession, SESSION_FIELDS, changed)
    insert_new(CellSession, ("lab_id", "cell_id", "session_id", *SESSION_FIELDS), new)
