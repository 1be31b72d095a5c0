"""Keep each cell's statistics true to its runs."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from benchmarks.analysis.summary import summarise
from benchmarks.models import Cell, Run, Sample
from benchmarks.models.run import CELL_SAMPLES, MEAN_IN_ORDER

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
STATED = ", ".join(f"run.facts->>'{name}'" for name in SETTING)
# As numeric a double has 15 digits at most: the decimals it was printed with, not
# those of its binary value.
RUN_MEANS = f"""
    SELECT cell.id, {MEAN_IN_ORDER}, count(*),
           max(scale(trim_scale(sample.value::numeric))), run.started_at,
           run.session_id, run.clock, run.document, run."table",
           ARRAY[{STATED}]
    {CELL_SAMPLES}
    WHERE cell.id = ANY(%s)
    GROUP BY cell.id, run.id
    ORDER BY cell.id, run.id
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


class RunMean(NamedTuple):
    """One run of a cell: the mean of its samples, in the unit of the case."""

    mean: float
    sample_count: int
    decimals: int
    started_at: datetime | None
    session_id: int | None
    clock: str
    document: str
    table: str
    setting: tuple[str | None, ...]


def touched_cells(runs: Iterable[Run]) -> set[CellKey]:
    """Return the cells that these runs' stored samples belong to."""
    by_id = {run.pk: run for run in runs}
    pairs = Sample.objects.filter(run__in=by_id).values_list("run_id", "case_id")
    keys = set()
    for run_id, case_id in pairs.distinct():
        run = by_id[run_id]
        place = (run.study_id, run.system_id, run.scenario, run.vms, run.slot, run.load)
        keys.add(CellKey(run.lab_id, case_id, *place))
    return keys


def lock_cases(pairs: Iterable[tuple[int, int]]) -> None:
    """Let nobody else touch these (lab, case) until the transaction ends.

    A cell's efficiency reads its native cell: two workers with one of them each
    would both read the other's old value. Taken in one order, so never a deadlock.
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

    A cell whose runs are all gone has n = 0; the caller deletes it when nothing
    leans on it any more.
    """
    # In the order of a CellKey, but with a number for `vms` that nobody stated.
    wanted = sorted(keys, key=lambda key: (*key[:5], key.vms or 0, key.slot, key.load))
    cells = _stored_cells(wanted)
    if missing := set(wanted) - cells.keys():
        new = [Cell(**key._asdict()) for key in wanted if key in missing]
        Cell.objects.bulk_create(new, ignore_conflicts=True)
        cells = _stored_cells(wanted)
    means: dict[int, list[RunMean]] = {cell.pk: [] for cell in cells.values()}
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [list(means)])
        for cell_id, *columns in cursor.fetchall():
            means[cell_id].append(RunMean(*columns))
    # Only what changed is written, and in one statement: a row that is written again
    # is another version to whoever keeps pages of it.
    changed = []
    for cell in cells.values():
        summary = _summary(means[cell.pk])
        if any(getattr(cell, name) != value for name, value in summary.items()):
            for name, value in summary.items():
                setattr(cell, name, value)
            # By this the next check sees that the cell's shape must be looked at again.
            cell.updated_at = timezone.now()
            changed.append(cell)
    Cell.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=[*SUMMARY_FIELDS, "updated_at"],
    )
    return list(cells.values())


def _stored_cells(keys: Iterable[CellKey]) -> dict[CellKey, Cell]:
    wanted = set(keys)
    # Some too many, dropped below: whole keys would take a condition each.
    near = Cell.objects.filter(
        case_id__in={key.case_id for key in wanted},
        study_id__in={key.study_id for key in wanted},
        system_id__in={key.system_id for key in wanted},
    )
    cells = {
        CellKey(*(getattr(cell, name) for name in CellKey._fields)): cell
        for cell in near
    }
    return {key: cell for key, cell in cells.items() if key in wanted}


def _summary(runs: Sequence[RunMean]) -> dict[str, Any]:
    """Return what the runs of a cell say: their statistics and circumstances."""
    statistics: dict[str, Any] = {"n": 0, **dict.fromkeys(STATISTICS[1:])}
    if runs:
        summary = summarise([run.mean for run in runs])
        statistics = {name: getattr(summary, name) for name in STATISTICS}
    starts = [run.started_at for run in runs if run.started_at]
    sessions = {run.session_id for run in runs}
    clocks = {run.clock for run in runs}
    settings = zip(*(run.setting for run in runs), strict=True)
    return {
        **statistics,
        "sample_count": sum(run.sample_count for run in runs),
        "decimals": max((run.decimals for run in runs), default=None),
        "first_at": min(starts, default=None),
        "last_at": max(starts, default=None),
        "session_id": sessions.pop() if len(sessions) == 1 else None,
        "clock": clocks.pop() if len(clocks) == 1 else SEVERAL_CLOCKS if clocks else "",
        # What every run states and all state alike.
        # Not strict: a cell without runs has no settings.
        "setting": {
            name: values[0]
            for name, values in zip(SETTING, settings, strict=False)
            if values[0] and len(set(values)) == 1
        },
        "document": "; ".join(sorted({run.document for run in runs} - {""})),
        "table": "; ".join(sorted({run.table for run in runs} - {""})),
    }
