"""Work out a study's results from its samples alone, and say what differs.

What is kept follows every upload, run by run. Whatever order they came in, however they
were batched, doubled or read again: it is what comes out here, to the last bit.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from benchmarks.models import Efficiency, Run, RunMean, Study
from benchmarks.uploads.efficiencies import KEPT, normalise_study
from benchmarks.uploads.summaries import (
    STATISTICS,
    SUMMARY_FIELDS,
    CellKey,
    lock_cases,
    store_run_means,
    summarise_cells,
    touched_cells,
)

STEP = 500
CELL_FIELDS = tuple(dict.fromkeys((*STATISTICS, *SUMMARY_FIELDS)))

Results = Mapping[tuple[str, Any], tuple[Any, ...]]
"""Run means by run and case, cells by their key, efficiencies by their cell."""


@transaction.atomic
def recompute(study: Study, *, repair: bool = False) -> list[str]:
    """Return a line for each result that is not what its samples say.

    Nothing is changed, unless it is to be repaired.
    """
    pairs = study.cells.order_by().values_list("lab_id", "case_id").distinct()
    lock_cases(pairs)
    before = _results(study)
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED).order_by("pk")
    keys = {
        CellKey(*row) for row in study.cells.order_by().values_list(*CellKey._fields)
    }
    RunMean.objects.filter(lab=study.lab_id, run__study=study).delete()
    ids = list(runs.values_list("pk", flat=True))
    for first in range(0, len(ids), STEP):
        batch = list(runs.filter(pk__in=ids[first : first + STEP]))
        store_run_means(batch)
        keys |= touched_cells(batch)
    summarise_cells(keys)
    normalise_study(study)
    study.cells.filter(n=0).delete()
    differing = _differences(before, _results(study))
    if not repair:
        transaction.set_rollback(True)
    return differing


def _results(study: Study) -> Results:
    means = RunMean.objects.filter(lab=study.lab_id, run__study=study)
    found: dict[tuple[str, Any], tuple[Any, ...]] = {
        ("mean", row[:2]): row[2:]
        for row in means.values_list("run_id", "case_id", "n", "mean", "decimals")
    }
    for row in study.cells.values_list(*CellKey._fields, *CELL_FIELDS):
        split = len(CellKey._fields)
        found["cell", row[:split]] = row[split:]
    against = Efficiency.objects.filter(cell__study=study)
    for cell_id, *kept in against.values_list("cell_id", *KEPT):
        found["efficiency of cell", cell_id] = tuple(kept)
    return found


def _differences(before: Results, after: Results) -> list[str]:
    places = sorted(before.keys() | after.keys(), key=str)
    return [
        f"{kind} {place}: {before.get((kind, place))} is {after.get((kind, place))}"
        for kind, place in places
        if before.get((kind, place)) != after.get((kind, place))
    ]
