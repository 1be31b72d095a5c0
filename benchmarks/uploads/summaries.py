"""Keep each cell's statistics true to its runs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from benchmarks.analysis.summary import summarise
from benchmarks.database import any_of
from benchmarks.models import Cell, Run, RunMean
from benchmarks.models.run import MEANS_OF_SAMPLES, RUNS_OF_CELLS, of_cells
from benchmarks.studies.writing import insert_new, write_columns

SEVERAL_CLOCKS = "mixed"
# Facts of a run that decide whether its cell can be compared with another.
SETTING = ("host_kernel", "host_firmware", "meter")
STATISTICS = ("n", "mean", "m2", "minimum", "maximum", "median", "q1", "q3")
SUMMARY_FIELDS = (
    *STATISTICS,
    "decimals",
    "setting",
    "sample_count",
    "first_at",
    "last_at",
    "session_id",
    "clock",
    "document",
    "table",
)
ALIKE = ", ".join(
    f"CASE WHEN count(run.{name}) = count(*) AND min(run.{name}) = max(run.{name})"
    f" THEN min(run.{name}) END"
    for name in SETTING
)
STATED = (
    *("session_id", "clock", "document", '"table"'),
    *(f"facts->>'{name}' AS {name}" for name in SETTING),
)
# A row a cell. The order of the means is nobody's: it is the same every time.
OF_RUNS = f"""
    {of_cells("cell.id = ANY(%s)", *STATED)}
    SELECT run.cell_id, array_agg(run.mean ORDER BY run.id), sum(run.n),
           max(run.decimals), min(run.started_at), max(run.started_at),
           CASE WHEN count(run.session_id) = count(*)
                 AND min(run.session_id) = max(run.session_id)
                THEN min(run.session_id) END,
           array_agg(DISTINCT run.clock), array_agg(DISTINCT run.document),
           array_agg(DISTINCT run."table"), ARRAY[{ALIKE}]
    {RUNS_OF_CELLS}
    GROUP BY run.cell_id
"""


# An array a run: as many rows as samples would take longer to fetch than to make.
CASES_OF_RUNS = f"""
    SELECT run_id, array_agg(case_id) FROM {RunMean._meta.db_table}
    WHERE lab_id = ANY(%s) AND run_id = ANY(%s) GROUP BY run_id
"""


class CellKey(NamedTuple):
    """What makes runs belong to one cell; sorts, so that locks have an order."""

    lab_id: int
    case_id: int
    study_id: int
    system_id: int
    scenario: str
    vms: int | None
    slot: str
    load: str


class CellRuns(NamedTuple):
    """The run means of a cell; ``session_id`` and ``setting`` if all runs agree."""

    means: Sequence[float] = ()
    sample_count: int = 0
    decimals: int | None = None
    first_at: datetime | None = None
    last_at: datetime | None = None
    session_id: int | None = None
    clocks: Sequence[str] = ()
    documents: Sequence[str] = ()
    tables: Sequence[str] = ()
    setting: Sequence[str | None] = (None,) * len(SETTING)


def store_run_means(runs: Sequence[Run]) -> None:
    """Work out what these runs say of each case, from their samples."""
    ids = [[run.lab_id for run in runs], [run.pk for run in runs]]
    RunMean.objects.filter(lab__in=set(ids[0]), run__in=ids[1]).delete()
    with connection.cursor() as cursor:
        cursor.execute(
            f"{MEANS_OF_SAMPLES} WHERE lab_id = ANY(%s) AND run_id = ANY(%s)"
            " GROUP BY lab_id, run_id, case_id",
            ids,
        )


def touched_cells(runs: Iterable[Run]) -> set[CellKey]:
    """Return the cells that what these runs say belongs to."""
    by_id = {run.pk: run for run in runs}
    with connection.cursor() as cursor:
        labs = [run.lab_id for run in by_id.values()]
        cursor.execute(CASES_OF_RUNS, [labs, list(by_id)])
        cases = cursor.fetchall()
    # Runs of one place have cases in common: each is named once.
    measured: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for run_id, case_ids in cases:
        run = by_id[run_id]
        place = (run.study_id, run.system_id, run.scenario, run.vms, run.slot, run.load)
        measured[run.lab_id, *place].update(case_ids)
    return {
        CellKey(lab_id, case_id, *place)
        for (lab_id, *place), case_ids in measured.items()
        for case_id in case_ids
    }


def lock_cases(pairs: Iterable[tuple[int, int]]) -> None:
    """Lock these (lab, case) until the transaction ends, in one order.

    A cell's efficiency reads its native cell, which another worker may be changing.
    """
    ordered = sorted(set(pairs))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(lab, case_id)"
            " FROM unnest(%s::int[], %s::int[]) AS pair(lab, case_id)",
            [[lab for lab, _ in ordered], [case for _, case in ordered]],
        )


def summarise_cells(keys: Iterable[CellKey]) -> list[Cell]:
    """Recompute these cells from their runs and return them.

    Without runs n is 0; the caller deletes such a cell when nothing uses it any more.
    """
    # In the order of a CellKey, but with a number for `vms` that nobody stated.
    wanted = sorted(keys, key=lambda key: (*key[:5], key.vms or 0, key.slot, key.load))
    cells = _stored_cells(wanted)
    if missing := set(wanted) - cells.keys():
        insert_new(Cell, CellKey._fields, [key for key in wanted if key in missing])
        cells |= _stored_cells(missing)
    with connection.cursor() as cursor:
        cursor.execute(OF_RUNS, [[cell.pk for cell in cells.values()]])
        runs = {cell_id: CellRuns(*rest) for cell_id, *rest in cursor.fetchall()}
    # Only changed cells: writing a row makes cached pages stale.
    now = timezone.now()
    changed = []
    for cell in cells.values():
        summary = summary_of(runs.get(cell.pk, CellRuns()))
        if any(getattr(cell, name) != value for name, value in summary.items()):
            for name, value in summary.items():
                setattr(cell, name, value)
            # By this the next check sees that the cell's shape must be looked at again.
            cell.updated_at = now
            changed.append(cell)
    write_columns(Cell, (*SUMMARY_FIELDS, "updated_at"), changed)
    return list(cells.values())


def _stored_cells(keys: Iterable[CellKey]) -> dict[CellKey, Cell]:
    wanted = set(keys)
    # Some too many, dropped below: whole keys would take a condition each.
    near = Cell.objects.filter(
        case_id__in=any_of({key.case_id for key in wanted}),
        study_id__in={key.study_id for key in wanted},
        system_id__in={key.system_id for key in wanted},
    )
    # Without the shape, which is much to read.
    near = near.only(*CellKey._fields, *SUMMARY_FIELDS)
    cells = {
        CellKey(*(getattr(cell, name) for name in CellKey._fields)): cell
        for cell in near
    }
    return {key: cell for key, cell in cells.items() if key in wanted}


def summary_of(runs: CellRuns) -> dict[str, Any]:
    """Return what the runs of a cell say: their statistics and circumstances."""
    statistics: dict[str, Any] = {"n": 0, **dict.fromkeys(STATISTICS[1:])}
    if runs.means:
        summary = summarise(runs.means)
        statistics = {name: getattr(summary, name) for name in STATISTICS}
    clock = "".join(runs.clocks) if len(runs.clocks) < 2 else SEVERAL_CLOCKS
    stated = zip(SETTING, runs.setting, strict=True)
    return {
        **statistics,
        "sample_count": int(runs.sample_count),
        "decimals": runs.decimals,
        "first_at": runs.first_at,
        "last_at": runs.last_at,
        "session_id": runs.session_id,
        "clock": clock,
        # What every run states and all state alike.
        "setting": {name: value for name, value in stated if value},
        "document": "; ".join(sorted(set(runs.documents) - {""})),
        "table": "; ".join(sorted(set(runs.tables) - {""})),
    }
