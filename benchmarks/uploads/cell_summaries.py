"""Statistics of cells, computed from their runs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from benchmarks.analysis.cell_statistics import (
    RunSummary,
    pool_summaries,
    summarize,
)
from benchmarks.database import ids_subquery
from benchmarks.models import Cell, Run, RunMean
from benchmarks.models.run import (
    FAILED_RUN_SQL,
    INSERT_RUN_MEANS_SQL,
    RUNS_OF_CELLS_SQL,
    runs_of_cells_sql,
)
from benchmarks.sentences import deserialize
from benchmarks.studies.bulk_writes import insert_new, update_columns

MIXED_CLOCKS = "mixed"
# Facts that decide whether two cells can be compared.
COMMON_FACTS = ("host_kernel", "host_firmware", "meter")
STATISTICS = ("n", "mean", "m2", "minimum", "maximum", "median", "q1", "q3")
SUMMARY_FIELDS = (
    *STATISTICS,
    "failed_runs",
    "failure",
    "decimals",
    "common_facts",
    "sample_count",
    "summarized_runs",
    "first_at",
    "last_at",
    "declared_session_id",
    "clock",
    "document",
    "table",
)
COMMON_VALUES_SQL = ", ".join(
    f"CASE WHEN count(run.{name}) = count(*) AND min(run.{name}) = max(run.{name})"
    f" THEN min(run.{name}) END"
    for name in COMMON_FACTS
)
STATED_COLUMNS = (
    *("declared_session_id", "clock", "document", '"table"'),
    *(f"facts->>'{name}' AS {name}" for name in COMMON_FACTS),
)
# Means are ordered by run id, to be deterministic.
CELL_RUNS_SQL = f"""
    {runs_of_cells_sql("cell.id = ANY(%s)", *STATED_COLUMNS)}
    SELECT run.cell_id, array_agg(run.mean ORDER BY run.id), sum(run.n),
           max(run.decimals), min(run.started_at), max(run.started_at),
           CASE WHEN count(run.declared_session_id) = count(*)
                 AND min(run.declared_session_id) = max(run.declared_session_id)
                THEN min(run.declared_session_id) END,
           array_agg(DISTINCT run.clock), array_agg(DISTINCT run.document),
           array_agg(DISTINCT run."table"), ARRAY[{COMMON_VALUES_SQL}],
           CASE WHEN count(run.summarized_runs) > 0
                THEN array_agg(run.summarized_runs ORDER BY run.id) END,
           array_agg(run.standard_deviation ORDER BY run.id)
    {RUNS_OF_CELLS_SQL}
    GROUP BY run.cell_id
"""


# The most frequent reason; of equally frequent ones, the first in sort order.
FAILED_RUNS_SQL = f"""
    {runs_of_cells_sql("cell.id = ANY(%s)", "failure", which_runs=FAILED_RUN_SQL)}
    SELECT run.cell_id, count(*), mode() WITHIN GROUP (ORDER BY run.failure)
    {RUNS_OF_CELLS_SQL}
    GROUP BY run.cell_id
"""


# One row per run: fetching one row per case is slow.
CASES_OF_RUNS = f"""
    SELECT run_id, array_agg(case_id) FROM {RunMean._meta.db_table}
    WHERE lab_id = ANY(%s) AND run_id = ANY(%s) GROUP BY run_id
"""


class CellKey(NamedTuple):
    lab_id: int
    case_id: int
    study_id: int
    system_id: int
    scenario: str
    vms: int | None
    slot: str
    load: str


class CellRunColumns(NamedTuple):
    """The data of a cell's runs.

    ``declared_session_id`` and ``common_facts`` are None if the runs differ,
    ``summarized_runs`` is None if all were measured.
    """

    means: Sequence[float] = ()
    sample_count: int = 0
    decimals: int | None = None
    first_at: datetime | None = None
    last_at: datetime | None = None
    declared_session_id: int | None = None
    clocks: Sequence[str] = ()
    documents: Sequence[str] = ()
    tables: Sequence[str] = ()
    common_facts: Sequence[str | None] = (None,) * len(COMMON_FACTS)
    summarized_runs: Sequence[int | None] | None = None
    deviations: Sequence[float | None] = ()

    @property
    def statistics(self) -> dict[str, Any]:
        statistics: dict[str, Any] = {"n": 0, **dict.fromkeys(STATISTICS[1:])}
        if self.summarized_runs:
            rows = zip(self.means, self.summarized_runs, self.deviations, strict=True)
            pooled = pool_summaries([RunSummary(m, n or 1, sd) for m, n, sd in rows])
            statistics |= {"n": pooled.n, "mean": pooled.mean, "m2": pooled.m2}
        elif self.means:
            summary = summarize(self.means)
            statistics = {name: getattr(summary, name) for name in STATISTICS}
        return statistics


class FailedRuns(NamedTuple):
    """The number of failed runs of a cell, and why most of them failed."""

    number: int = 0
    reason: str = ""


def store_run_means(runs: Sequence[Run]) -> None:
    """Recompute the mean of each case of these runs from the stored samples."""
    ids = [[run.lab_id for run in runs], [run.pk for run in runs]]
    RunMean.objects.filter(lab__in=set(ids[0]), run__in=ids[1]).delete()
    with connection.cursor() as cursor:
        cursor.execute(
            f"{INSERT_RUN_MEANS_SQL} WHERE lab_id = ANY(%s) AND run_id = ANY(%s)"
            " GROUP BY lab_id, run_id, case_id",
            ids,
        )


def affected_cells(runs: Iterable[Run]) -> set[CellKey]:
    """Return the cells to which these runs contribute by their stored means."""
    by_id = {run.pk: run for run in runs}
    with connection.cursor() as cursor:
        labs = [run.lab_id for run in by_id.values()]
        cursor.execute(CASES_OF_RUNS, [labs, list(by_id)])
        cases = cursor.fetchall()
    measured: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for run_id, case_ids in cases:
        run = by_id[run_id]
        key = (run.study_id, run.system_id, run.scenario, run.vms, run.slot, run.load)
        measured[run.lab_id, *key].update(case_ids)
    return {
        CellKey(lab_id, case_id, *key)
        for (lab_id, *key), case_ids in measured.items()
        for case_id in case_ids
    }


def lock_cases(pairs: Iterable[tuple[int, int]]) -> None:
    """Lock these (lab, case) pairs until the transaction ends, in sorted order.

    Computing an efficiency reads the native cell, which another worker may change.
    """
    ordered = sorted(set(pairs))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(lab, case_id)"
            " FROM unnest(%s::int[], %s::int[]) AS pair(lab, case_id)",
            [[lab for lab, _ in ordered], [case for _, case in ordered]],
        )


def summarize_cells(keys: Iterable[CellKey]) -> list[Cell]:
    """Recompute the statistics of these cells from their runs; create missing cells.

    ``n`` is 0 without counted runs; the caller deletes cells that are empty when they
    are unused.
    """
    # `vms` may be None, which cannot be sorted.
    ordered = sorted(keys, key=lambda key: (*key[:5], key.vms or 0, key.slot, key.load))
    cells = _stored_cells(ordered)
    if missing := set(ordered) - cells.keys():
        insert_new(Cell, CellKey._fields, [key for key in ordered if key in missing])
        cells |= _stored_cells(missing)
    with connection.cursor() as cursor:
        cursor.execute(CELL_RUNS_SQL, [[cell.pk for cell in cells.values()]])
        runs = {
            cell_id: CellRunColumns(*columns) for cell_id, *columns in cursor.fetchall()
        }
    failed = _failed_runs(list(cells.values()))
    # Store only changed cells: each written row invalidates cached pages.
    now = timezone.now()
    changed = []
    for cell in cells.values():
        summary = summarize_runs(runs.get(cell.pk, CellRunColumns()))
        failures = failed.get(cell.pk, FailedRuns())
        summary |= {"failed_runs": failures.number, "failure": failures.reason}
        if any(getattr(cell, name) != value for name, value in summary.items()):
            for name, value in summary.items():
                setattr(cell, name, value)
            cell.updated_at = now
            changed.append(cell)
    update_columns(Cell, (*SUMMARY_FIELDS, "updated_at"), changed)
    return list(cells.values())


def _failed_runs(cells: Sequence[Cell]) -> Mapping[int, FailedRuns]:
    studies = {cell.study_id for cell in cells}
    if not Run.objects.failed().filter(study__in=studies).exists():
        return {}
    with connection.cursor() as cursor:
        cursor.execute(FAILED_RUNS_SQL, [[cell.pk for cell in cells]])
        return {
            cell_id: FailedRuns(number, deserialize(reason))
            for cell_id, number, reason in cursor.fetchall()
        }


def _stored_cells(keys: Iterable[CellKey]) -> dict[CellKey, Cell]:
    requested = set(keys)
    # Also other combinations of these values: exact keys would need a condition each.
    candidates = Cell.objects.filter(
        case_id__in=ids_subquery({key.case_id for key in requested}),
        study_id__in={key.study_id for key in requested},
        system_id__in={key.system_id for key in requested},
    )
    # Do not read the shape, which is large.
    candidates = candidates.only(*CellKey._fields, *SUMMARY_FIELDS)
    cells = {
        CellKey(*(getattr(cell, name) for name in CellKey._fields)): cell
        for cell in candidates
    }
    return {key: cell for key, cell in cells.items() if key in requested}


def summarize_runs(runs: CellRunColumns) -> dict[str, Any]:
    clock = "".join(runs.clocks) if len(runs.clocks) < 2 else MIXED_CLOCKS
    stated = zip(COMMON_FACTS, runs.common_facts, strict=True)
    return {
        **runs.statistics,
        "summarized_runs": sum(n or 0 for n in runs.summarized_runs or ()),
        "sample_count": int(runs.sample_count),
        "decimals": runs.decimals,
        "first_at": runs.first_at,
        "last_at": runs.last_at,
        "declared_session_id": runs.declared_session_id,
        "clock": clock,
        "common_facts": {name: value for name, value in stated if value},
        "document": "; ".join(sorted(set(runs.documents) - {""})),
        "table": "; ".join(sorted(set(runs.tables) - {""})),
    }
