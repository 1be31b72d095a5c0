"""Keep the shape of each cell true to its runs: speeds, order, outliers, clocks."""

from collections.abc import Sequence
from typing import Any

import orjson
from django.db import connection
from django.db.models import F, Q

from benchmarks.analysis.clocks import figures_trust, worst
from benchmarks.analysis.shape import MIN_RUNS, Shape, shape_of
from benchmarks.models import Cell, Study, System
from benchmarks.models.run import CELL_SAMPLES
from benchmarks.models.study import NATIVE
from benchmarks.sentences import stored

LOOKED_AT = 1000
KEPT = ("shape", "shape_codes", "shaped_at", "clock_trust")


def shape_cells(study: Study) -> None:
    """Look again at the shape of every cell that changed since the last look."""
    changed = study.cells.filter(~Q(shaped_at=F("updated_at")) | Q(shaped_at=None))
    cells = {cell.pk: cell for cell in changed}
    series, trust = _series(list(cells)), _clock_trust(list(cells), study)
    for cell in cells.values():
        cell.clock_trust = trust.get(cell.pk, "")
        _describe(cell, series.get(cell.pk, ()))
    Cell.objects.bulk_update(cells.values(), KEPT, batch_size=500)


def _describe(cell: Cell, values: Sequence[float]) -> None:
    cell.shaped_at = cell.updated_at
    cell.shape, cell.shape_codes = None, ""
    if len(values) >= MIN_RUNS:
        shape = shape_of(values, resolution=cell.resolution)
        cell.shape, cell.shape_codes = _kept(shape), ",".join(shape.doubts)


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
