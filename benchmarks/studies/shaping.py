"""The shape of cells and the statistics of their sessions, for a study's check.

Thousands of cells share a few hundred runs, so run facts are read once per set of runs.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import orjson
from django.db import connection
from django.db.models import F, Q

from benchmarks.analysis.clocks import figures_trust, worst
from benchmarks.analysis.many_shapes import CellReadings, shapes_of
from benchmarks.analysis.sessions import lag_one
from benchmarks.analysis.shape import Shape
from benchmarks.analysis.speeds import MIN_RUNS
from benchmarks.analysis.summary import summarise
from benchmarks.database import any_of
from benchmarks.models import Cell, CellSession, Run, Sample, Study, System
from benchmarks.models.run import (
    CELL_OF_SAMPLE,
    PLACE_OF_RUN,
    RUNS_OF_CELLS,
    SAMPLES_OF_CELLS,
    UPLOAD_OF_RUN,
    of_cells,
)
from benchmarks.platforms import NATIVE
from benchmarks.sentences import stored
from benchmarks.studies.writing import insert_new, write_columns

MOST_LOOKED_AT = 1000
SHAPE_FIELDS = ("shape", "shape_codes", "shape_moves", "shaped_at", "clock_trust")
STATISTICS = ("n", "mean", "m2", "minimum", "maximum")
SESSION_FIELDS = (*STATISTICS, "rho", "first", "first_at", "last_at")

# A row a cell: its runs in their order, and what each says of the cell's case.
MEANS = f"""
    {of_cells("cell.id = ANY(%s)")}
    SELECT run.cell_id, run.case_id, max(run.n),
           array_agg(run.id ORDER BY {PLACE_OF_RUN}),
           array_agg(run.mean ORDER BY {PLACE_OF_RUN})
    {RUNS_OF_CELLS}
    GROUP BY run.cell_id, run.case_id
"""
STATED = f"""
    SELECT run.id, run.sitting_id, run.started_at, {UPLOAD_OF_RUN},
           system.hypervisor, run.clock, run.facts->'clock'
    FROM {Run._meta.db_table} AS run
    JOIN {System._meta.db_table} AS system ON system.id = run.system_id
    WHERE run.id = ANY(%s)
"""
# Run by run, each read once: whoever looks for each of a run's cases reads it as often.
ITERATIONS = f"""
    SELECT run_id, case_id,
           (array_agg(value ORDER BY sequence))[1:{MOST_LOOKED_AT}]
    FROM {Sample._meta.db_table}
    WHERE lab_id = %s AND run_id = ANY(%s) AND case_id = ANY(%s)
    GROUP BY run_id, case_id
"""
# Samples numbered through in the order of upload have a known order, too.
NUMBERED = f"""
    {of_cells("cell.id = ANY(%s)")}
    SELECT {CELL_OF_SAMPLE} AS cell_id, run.sitting_id
    {SAMPLES_OF_CELLS}
    GROUP BY 1, 2
    HAVING count(DISTINCT sample.repetition) = count(*)
       AND array_agg(sample.repetition ORDER BY {PLACE_OF_RUN}, sample.sequence)
           = array_agg(sample.repetition ORDER BY sample.repetition)
"""


class Stated(NamedTuple):
    """What a run states of itself, beside what it measured."""

    session_id: int | None
    started_at: datetime | None
    upload_id: int
    hypervisor: str
    clock: str
    facts: str | None


class Sitting(NamedTuple):
    """The places of a session's runs among those of a cell; ``is_ordered`` in time."""

    session_id: int | None
    places: Sequence[int]
    first_at: datetime | None
    last_at: datetime | None
    is_ordered: bool


class Group(NamedTuple):
    """What is the same for all cells of the same runs."""

    runs: tuple[int, ...]
    stated: Sequence[Stated]
    session_ids: Sequence[int | None]
    sittings: Sequence[Sitting]


class CellRuns(NamedTuple):
    """The runs of a cell in their order, and the mean that each says."""

    case_id: int
    most_samples: int
    means: Sequence[float]
    group: Group


def shape_cells(study: Study) -> None:
    """Update the shapes and sessions of cells that changed since the last look."""
    of_study = Cell.objects.filter(study=study)
    changed = of_study.filter(~Q(shaped_at=F("updated_at")) | Q(shaped_at=None))
    # Without the old shapes, which are much to read.
    read = changed.only("updated_at", "decimals").order_by("pk")
    cells = {cell.pk: cell for cell in read}
    runs = _runs_of(cells)
    unordered = _unordered_sessions(runs)
    unordered_ids = {cell_id for cell_id, _session in unordered}
    readings = _readings(study, runs)
    looked_at = {
        pk: CellReadings(*series, cells[pk].resolution, pk not in unordered_ids)
        for pk, series in readings.items()
        if len(series[0]) >= MIN_RUNS
    }
    band = study.equivalence_margin_percent / 100
    found = shapes_of(list(looked_at.values()), band=band)
    shapes = dict(zip(looked_at, found, strict=True))
    trust = _trusts(study)
    for pk, cell in cells.items():
        cell.clock_trust = trust(runs[pk].group) if pk in runs else ""
        # What was looked at, not when: a run may be added meanwhile.
        cell.shaped_at = cell.updated_at
        cell.shape, cell.shape_codes, cell.shape_moves = None, "", 0.0
        if shape := shapes.get(pk):
            cell.shape_codes = ",".join(shape.doubts)
            cell.shape_moves = shape.order_moves
            cell.shape = _kept(shape)
    # These fields alone: a worker may summarise the same cells meanwhile.
    write_columns(Cell, SHAPE_FIELDS, list(cells.values()))
    _store_sessions(study, cells, runs, shapes, unordered)


def unordered_cells(cell_ids: Collection[int]) -> set[int]:
    """Return the cells that have a session whose order of runs is unknown."""
    unordered = _unordered_sessions(_runs_of(cell_ids))
    return {cell_id for cell_id, _session in unordered}


def _runs_of(cell_ids: Collection[int]) -> dict[int, CellRuns]:
    with connection.cursor() as cursor:
        cursor.execute(MEANS, [list(cell_ids)])
        rows = cursor.fetchall()
        ids = {run for *_, runs, _means in rows for run in runs}
        cursor.execute(STATED, [list(ids)])
        stated = {pk: Stated(*rest) for pk, *rest in cursor.fetchall()}

    @cache
    def group_of(runs: tuple[int, ...]) -> Group:
        said = [stated[run] for run in runs]
        places: dict[int | None, list[int]] = defaultdict(list)
        for place, run in enumerate(said):
            places[run.session_id].append(place)
        sittings = [
            _sitting(session, own, [said[place] for place in own])
            for session, own in places.items()
        ]
        return Group(runs, said, [run.session_id for run in said], sittings)

    return {
        cell_id: CellRuns(case_id, most, means, group_of(tuple(runs)))
        for cell_id, case_id, most, runs, means in rows
    }


def _sitting(
    session_id: int | None, places: Sequence[int], runs: Sequence[Stated]
) -> Sitting:
    uploads = {run.upload_id for run in runs}
    starts = [run.started_at for run in runs if run.started_at]
    moments = {(run.started_at, run.upload_id) for run in runs}
    has_starts = len(starts) == len(runs) and len(set(starts)) == len(moments)
    return Sitting(
        session_id,
        places,
        min(starts, default=None),
        max(starts, default=None),
        is_ordered=len(uploads) == 1 or has_starts,
    )


def _unordered_sessions(
    runs: Mapping[int, CellRuns],
) -> set[tuple[int, int | None]]:
    """Return the sessions of cells of whose runs nobody knows the order."""
    unordered = {
        (cell_id, sitting.session_id)
        for cell_id, own in runs.items()
        for sitting in own.group.sittings
        if not sitting.is_ordered
    }
    with connection.cursor() as cursor:
        # Of none, too: a page asks as often whatever its study holds.
        cursor.execute(NUMBERED, [sorted({cell_id for cell_id, _ in unordered})])
        return unordered.difference(cursor.fetchall())


def _readings(
    study: Study, runs: Mapping[int, CellRuns]
) -> dict[int, tuple[Sequence[float], Sequence[int | None]]]:
    """Return each cell's run means, or iterations if few runs, and their sessions."""
    few = {
        pk: own
        for pk, own in runs.items()
        if len(own.means) < MIN_RUNS and own.most_samples > 1
    }
    with connection.cursor() as cursor:
        ids = {run for own in few.values() for run in own.group.runs}
        cases = {own.case_id for own in few.values()}
        cursor.execute(ITERATIONS, [study.lab_id, list(ids), list(cases)])
        said = {(run, case): values for run, case, values in cursor.fetchall()}
    found = {}
    for pk, own in runs.items():
        sessions, means = own.group.session_ids, own.means
        if pk in few:
            by_run = [said.get((run, own.case_id), []) for run in own.group.runs]
            pairs = list(zip(sessions, by_run, strict=True))
            means = [value for values in by_run for value in values]
            sessions = [session for session, values in pairs for _ in values]
        elif len(means) > MOST_LOOKED_AT:
            means, sessions = means[:MOST_LOOKED_AT], sessions[:MOST_LOOKED_AT]
        found[pk] = means, sessions
    return found


def _kept(shape: Shape) -> dict[str, Any]:
    sentence = shape.sentence
    return {
        "n": shape.n,
        "sentence": sentence,
        "words": stored(sentence),
        "modes": [
            {"centre": mode.centre, "share": mode.share, "count": mode.count}
            for mode in shape.modes
        ],
        "eta_squared": shape.eta_squared,
        "cutoff": shape.cutoff,
        "period": shape.period,
        "lag": shape.lag,
        "first_run_p": shape.first_run_p,
        "outliers": list(shape.outliers),
        "moves": dict(shape.moves),
        "drift": shape.drift,
        "sessions": shape.sessions,
        "band": shape.band,
        "is_ordered": shape.is_ordered,
    }


def _trusts(study: Study) -> Callable[[Group], str]:
    """Return a function for the worst clock state of runs, with a cache."""
    margin = study.equivalence_margin_percent / 100
    known: dict[tuple[int, ...], str] = {}

    @cache
    def state_of(hypervisor: str, clock: str, stated: str | None) -> str:
        return figures_trust(
            clock,
            {"clock": orjson.loads(stated)} if stated else {},
            is_virtual=hypervisor != NATIVE,
            margin=margin,
        )

    def trust(group: Group) -> str:
        if group.runs not in known:
            clocks = {(run.hypervisor, run.clock, run.facts) for run in group.stated}
            known[group.runs] = worst({state_of(*clock) for clock in clocks})
        return known[group.runs]

    return trust


def _store_sessions(
    study: Study,
    cells: Collection[int],
    runs: Mapping[int, CellRuns],
    shapes: Mapping[int, Shape],
    unordered: Collection[tuple[int, int | None]],
) -> None:
    """Bring what is kept of these cells' sessions up to date."""
    # Locked: a worker may be about to delete one, and its sessions with it.
    locked = Cell.objects.select_for_update(no_key=True).filter(pk__in=any_of(cells))
    ids = list(locked.order_by("pk").values_list("pk", flat=True))
    stored_rows = {
        (row.cell_id, row.session_id): row
        for row in CellSession.objects.filter(cell__in=any_of(ids))
    }
    # Only what differs is written.
    new, changed = [], []
    for cell_id in ids:
        if cell_id not in runs:
            continue
        shape, own = shapes.get(cell_id), runs[cell_id]
        for session_id, places, first_at, last_at, _is_ordered in own.group.sittings:
            means = [own.means[place] for place in places]
            summary, first, rho = summarise(means), None, None
            if (cell_id, session_id) not in unordered:
                first, rho = shape.apart(means) if shape else (None, lag_one(means))
            statistics = (getattr(summary, name) for name in STATISTICS)
            found = (*statistics, rho, first, first_at, last_at)
            row = stored_rows.pop((cell_id, session_id), None)
            if row is None:
                new.append((study.lab_id, cell_id, session_id, *found))
            elif found != tuple(getattr(row, name) for name in SESSION_FIELDS):
                for name, value in zip(SESSION_FIELDS, found, strict=True):
                    setattr(row, name, value)
                changed.append(row)
    CellSession.objects.filter(pk__in=[row.pk for row in stored_rows.values()]).delete()
    write_columns(CellSession, SESSION_FIELDS, changed)
    insert_new(CellSession, ("lab_id", "cell_id", "session_id", *SESSION_FIELDS), new)
