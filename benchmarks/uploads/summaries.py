"""Keep each cell's statistics true to its runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.db import connection
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.analysis.clocks import figures_trust, worst
from benchmarks.analysis.shape import MIN_RUNS, Shape, shape_of
from benchmarks.analysis.summary import summarise
from benchmarks.models import Cell, Run, Sample, Study, System
from benchmarks.models.run import CELL_SAMPLES
from benchmarks.platforms import NATIVE
from benchmarks.sentences import stored

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


@dataclass(frozen=True)
class RunMean:
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
    return {_cell_key(by_id[run_id], case_id) for run_id, case_id in pairs.distinct()}


def _cell_key(run: Run, case_id: int) -> CellKey:
    return CellKey(
        run.lab_id,
        case_id,
        run.study_id,
        run.system_id,
        run.scenario,
        run.vms,
        run.slot,
        run.load,
    )


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
    cells = _stored_cells(sorted(keys, key=_sort_key))
    means = _run_means([cell.pk for cell in cells])
    changed = [cell for cell in cells if _update(cell, means.get(cell.pk, []))]
    Cell.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=[*SUMMARY_FIELDS, "updated_at"],
    )
    return cells


def _sort_key(key: CellKey) -> tuple[Any, ...]:
    return (*key[:5], key.vms or 0, key.slot, key.load)


def _stored_cells(keys: Sequence[CellKey]) -> list[Cell]:
    """Return the cells of these keys; those that are missing are stored first."""
    found = _known_cells(keys)
    missing = set(keys) - {key_of(cell) for cell in found}
    if not missing:
        return found
    new = [Cell(**key._asdict()) for key in keys if key in missing]
    Cell.objects.bulk_create(new, ignore_conflicts=True)
    return _known_cells(keys)


def _known_cells(keys: Sequence[CellKey]) -> list[Cell]:
    wanted = set(keys)
    found = Cell.objects.filter(
        case_id__in={key.case_id for key in keys},
        study_id__in={key.study_id for key in keys},
        system_id__in={key.system_id for key in keys},
    )
    return [cell for cell in found if key_of(cell) in wanted]


def key_of(cell: Cell) -> CellKey:
    """Return what makes runs belong to this cell."""
    return CellKey(*(getattr(cell, name) for name in CellKey._fields))


STATED = ", ".join(f"run.facts->>'{name}'" for name in SETTING)
RUN_MEANS = f"""
    SELECT cell.id, avg(sample.value), count(*),
           max(scale(trim_scale(sample.value::numeric))), run.started_at,
           run.session_id, run.clock, run.document, run."table",
           ARRAY[{STATED}]
    {CELL_SAMPLES}
    WHERE cell.id = ANY(%s)
    GROUP BY cell.id, run.id
    ORDER BY cell.id, run.id
"""


def _run_means(cell_ids: Sequence[int]) -> dict[int, list[RunMean]]:
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [list(cell_ids)])
        rows = cursor.fetchall()
    means: dict[int, list[RunMean]] = {}
    for cell_id, *columns in rows:
        means.setdefault(cell_id, []).append(RunMean(*columns))
    return means


def _update(cell: Cell, runs: Sequence[RunMean]) -> bool:
    """Give a cell what its runs say; return whether anything changed."""
    said = {**_statistics(runs), **_circumstances(runs)}
    changed = any(getattr(cell, name) != value for name, value in said.items())
    for name, value in said.items():
        setattr(cell, name, value)
    if changed:
        cell.updated_at = timezone.now()
    return changed


def _statistics(runs: Sequence[RunMean]) -> dict[str, Any]:
    if not runs:
        return {"n": 0, **dict.fromkeys(STATISTICS[1:])}
    summary = summarise([run.mean for run in runs])
    return {name: getattr(summary, name) for name in STATISTICS}


def _circumstances(runs: Sequence[RunMean]) -> dict[str, Any]:
    starts = [run.started_at for run in runs if run.started_at]
    sessions = {run.session_id for run in runs}
    clocks = {run.clock for run in runs}
    return {
        "sample_count": sum(run.sample_count for run in runs),
        "decimals": max((run.decimals for run in runs), default=None),
        "first_at": min(starts, default=None),
        "last_at": max(starts, default=None),
        "session_id": sessions.pop() if len(sessions) == 1 else None,
        "clock": clocks.pop() if len(clocks) == 1 else SEVERAL_CLOCKS if clocks else "",
        "setting": _setting(runs),
        "document": _joined(run.document for run in runs),
        "table": _joined(run.table for run in runs),
    }


def _setting(runs: Sequence[RunMean]) -> dict[str, str]:
    """Return what every run states and all state alike."""
    stated = zip(*(run.setting for run in runs), strict=True)
    return {
        name: values[0]
        for name, values in zip(SETTING, stated, strict=False)
        if values[0] and len(set(values)) == 1
    }


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(sorted({text for text in texts if text}))


LOOKED_AT = 1000
SHAPE_FIELDS = ("shape", "shape_codes", "shaped_at", "clock_trust")


def shape_cells(study: Study) -> None:
    """Look again at the shape of every cell that changed since the last look."""
    changed = study.cells.filter(~Q(shaped_at=F("updated_at")) | Q(shaped_at=None))
    cells = {cell.pk: cell for cell in changed}
    series, trust = _series(list(cells)), _clock_trust(list(cells), study)
    for cell in cells.values():
        cell.clock_trust = trust.get(cell.pk, "")
        values = series.get(cell.pk, ())
        cell.shaped_at = cell.updated_at
        cell.shape, cell.shape_codes = None, ""
        if len(values) >= MIN_RUNS:
            shape = shape_of(values, resolution=cell.resolution)
            cell.shape, cell.shape_codes = _kept(shape), ",".join(shape.doubts)
    Cell.objects.bulk_update(cells.values(), SHAPE_FIELDS, batch_size=500)


def _kept(shape: Shape) -> dict[str, Any]:
    return {
        "n": shape.n,
        "sentence": shape.sentence,
        "words": stored(shape.sentence),
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
    }


# Run means where there are enough runs, else the iterations of the few there are.
SERIES = f"""
    SELECT id, CASE WHEN count(*) >= {MIN_RUNS}
                    THEN (array_agg(mean ORDER BY place))[1:{LOOKED_AT}]
                    ELSE string_to_array(
                             string_agg(iterations, ',' ORDER BY place), ',')::float8[]
               END
    FROM (SELECT cell.id, (run.started_at, run.id) AS place,
                 avg(sample.value) AS mean,
                 array_to_string((array_agg(sample.value ORDER BY sample.sequence))
                                 [1:{LOOKED_AT}], ',') AS iterations
          {CELL_SAMPLES}
          WHERE cell.id = ANY(%s)
          GROUP BY cell.id, run.id) AS each
    GROUP BY id
"""


def _series(cell_ids: Sequence[int]) -> dict[int, list[float]]:
    with connection.cursor() as cursor:
        cursor.execute(SERIES, [list(cell_ids)])
        return dict(cursor.fetchall())


CLOCKS = f"""
    SELECT each.id, system.hypervisor, clock, told
    FROM (SELECT DISTINCT cell.id, cell.system_id, run.clock, run.facts->'clock' AS told
          {CELL_SAMPLES}
          WHERE cell.id = ANY(%s)) AS each
    JOIN {System._meta.db_table} AS system ON system.id = each.system_id
"""


def _clock_trust(cell_ids: Sequence[int], study: Study) -> dict[int, str]:
    """Return the worst state of the clocks of each cell's runs."""
    with connection.cursor() as cursor:
        cursor.execute(CLOCKS, [list(cell_ids)])
        rows = cursor.fetchall()
    states: dict[int, set[str]] = {}
    for cell_id, hypervisor, clock, told in rows:
        facts = {"clock": orjson.loads(told)} if told else {}
        state = figures_trust(
            clock,
            facts,
            is_virtual=hypervisor != NATIVE,
            margin=study.equivalence_margin_percent / 100,
        )
        states.setdefault(cell_id, set()).add(state)
    return {cell_id: worst(found) for cell_id, found in states.items()}
