"""Keep the shape of each cell true to its runs: speeds, order, outliers."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import F, Q

from benchmarks.analysis.shape import MIN_RUNS, Shape, shape_of
from benchmarks.models import Campaign, Cell
from benchmarks.models.run import CELL_SAMPLES

LOOKED_AT = 1000
KEPT = ("shape", "shape_codes", "shaped_at")


def shape_cells(campaign: Campaign) -> None:
    """Look again at the shape of every cell that changed since the last look."""
    changed = campaign.cells.filter(~Q(shaped_at=F("updated_at")) | Q(shaped_at=None))
    cells = {cell.pk: cell for cell in changed}
    series = _series(list(cells))
    for cell in cells.values():
        _describe(cell, series.get(cell.pk, ()))
    Cell.objects.bulk_update(cells.values(), KEPT, batch_size=500)


def _describe(cell: Cell, values: Sequence[float]) -> None:
    cell.shaped_at = cell.updated_at
    cell.shape, cell.shape_codes = None, ""
    if len(values) >= MIN_RUNS:
        shape = shape_of(values, resolution=cell.resolution)
        cell.shape, cell.shape_codes = _kept(shape), ",".join(_codes(shape))


def _codes(shape: Shape) -> list[str]:
    """Return the reasons for which one figure may not stand for these runs."""
    found = {
        "two_speeds": not shape.is_single_speed,
        "periodic": shape.period is not None,
        "drift": shape.period is None and shape.lag is not None,
        "first_run": shape.is_first_apart,
    }
    return [code for code, is_so in found.items() if is_so]


def _kept(shape: Shape) -> dict[str, Any]:
    return {
        "n": shape.n,
        "sentence": shape.sentence,
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
