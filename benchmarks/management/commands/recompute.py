"""`manage.py recompute`: work out all results from their samples, and compare.

Results are updated with each upload. Whatever order the uploads came in, however they
were batched, repeated or read again: the results are the same, to the last bit.
"""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from benchmarks.management import find_study
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

SHOWN = 20
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
    after = _results(study)
    if not repair:
        transaction.set_rollback(True)
    return [
        f"{kind} {place}: {before.get((kind, place))} is {after.get((kind, place))}"
        for kind, place in sorted(before.keys() | after.keys(), key=str)
        if before.get((kind, place)) != after.get((kind, place))
    ]


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


class Command(BaseCommand):
    """Says which run means, cells and efficiencies are not what their samples say."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", default="", metavar="LAB/STUDY")
        parser.add_argument("--repair", action="store_true", help="store what differs")

    def handle(self, *args: Any, **options: Any) -> None:
        studies = (
            [find_study(options["study"])]
            if options["study"]
            else list(Study.objects.select_related("lab").order_by("pk"))
        )
        differing = 0
        for study in studies:
            lines = recompute(study, repair=options["repair"])
            differing += len(lines)
            for line in lines[:SHOWN]:
                self.stdout.write(f"{study.lab.slug}/{study.slug}: {line}")
        count = len(studies)
        if differing and not options["repair"]:
            raise CommandError(
                f"{differing:,} results of {count:,} studies are not what their "
                "samples say. --repair stores what they say."
            )
        said = f"{differing:,} results repaired" if differing else "all as they should"
        self.stdout.write(f"{count:,} studies worked out again: {said}.")
