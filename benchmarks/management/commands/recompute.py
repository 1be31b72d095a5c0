"""Recompute all results from their samples and compare them with the stored ones.

Results are updated with each upload. They do not depend on the order, batching,
repetition or reparsing of uploads, down to the last bit.
"""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from benchmarks.management import study_argument
from benchmarks.models import Efficiency, Run, RunMean, Study
from benchmarks.uploads.cell_summaries import (
    STATISTICS,
    SUMMARY_FIELDS,
    CellKey,
    affected_cells,
    lock_cases,
    store_run_means,
    summarize_cells,
)
from benchmarks.uploads.efficiencies import STORED_FIELDS, recompute_study_efficiencies

MAX_SHOWN_DIFFERENCES = 20
CELLS_PER_STEP = 500
CELL_FIELDS = tuple(dict.fromkeys((*STATISTICS, *SUMMARY_FIELDS)))

Results = Mapping[tuple[str, Any], tuple[Any, ...]]
"""Stored values by kind (mean, cell or efficiency) and key."""


@transaction.atomic
def recompute(study: Study, *, repair: bool = False) -> list[str]:
    """Recompute a study; return a line for each result that differs from its samples.

    The recomputed results are stored only with ``repair``.
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
    for first in range(0, len(ids), CELLS_PER_STEP):
        batch = list(runs.filter(pk__in=ids[first : first + CELLS_PER_STEP]))
        store_run_means(batch)
        keys |= affected_cells(batch)
    summarize_cells(keys)
    recompute_study_efficiencies(study)
    study.cells.filter(n=0, failed_runs=0).delete()
    after = _results(study)
    if not repair:
        transaction.set_rollback(True)
    return [
        f"{kind} {key}: {before.get((kind, key))} is {after.get((kind, key))}"
        for kind, key in sorted(before.keys() | after.keys(), key=str)
        if before.get((kind, key)) != after.get((kind, key))
    ]


def _results(study: Study) -> Results:
    means = RunMean.objects.filter(lab=study.lab_id, run__study=study)
    results: dict[tuple[str, Any], tuple[Any, ...]] = {
        ("mean", row[:2]): row[2:]
        for row in means.values_list(
            *("run_id", "case_id", "n", "mean", "decimals"),
            *("summarized_runs", "standard_deviation"),
        )
    }
    for row in study.cells.values_list(*CellKey._fields, *CELL_FIELDS):
        split = len(CellKey._fields)
        results["cell", row[:split]] = row[split:]
    efficiencies = Efficiency.objects.filter(cell__study=study)
    for cell_id, *values in efficiencies.values_list("cell_id", *STORED_FIELDS):
        results["efficiency of cell", cell_id] = tuple(values)
    return results


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", default="", metavar="LAB/STUDY")
        parser.add_argument(
            "--repair", action="store_true", help="store the recomputed results"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        studies = (
            [study_argument(options["study"])]
            if options["study"]
            else list(Study.objects.select_related("lab").order_by("pk"))
        )
        differing = 0
        for study in studies:
            lines = recompute(study, repair=options["repair"])
            differing += len(lines)
            for line in lines[:MAX_SHOWN_DIFFERENCES]:
                self.stdout.write(f"{study.lab.slug}/{study.slug}: {line}")
        count = len(studies)
        if differing and not options["repair"]:
            raise CommandError(
                f"{differing:,} results of {count:,} studies differ from their "
                "samples. Run again with --repair to store the recomputed results."
            )
        outcome = f"{differing:,} results repaired" if differing else "no differences"
        self.stdout.write(f"{count:,} studies recomputed: {outcome}.")
