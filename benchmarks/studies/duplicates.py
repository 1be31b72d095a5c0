"""Runs that were uploaded twice: counted once, until a person says they are two."""

from collections.abc import Iterable

from django.db import transaction

from benchmarks.models import (
    Cell,
    Flag,
    Run,
    RunWindow,
    Study,
)
from benchmarks.plausibility.facts import StudyFacts
from benchmarks.plausibility.rules import RULES
from benchmarks.plausibility.rules.uploads import pairs_of
from benchmarks.unattended.queue import put_checks, put_energies
from benchmarks.uploads.efficiencies import normalise
from benchmarks.uploads.summaries import lock_cases, summarise_cells, touched_cells

RULE = RULES["uploaded-twice"]


@transaction.atomic
def count_once(study: Study, facts: StudyFacts) -> bool:
    """Count repeated uploads once, unless dismissed; return whether a cell changed.

    Idempotent: repeats are found in the runs themselves, not in their cells.
    """
    dismissed = set(
        study.flags.filter(rule=RULE.id, status=Flag.Status.DISMISSED).values_list(
            "fingerprint", flat=True
        )
    )
    wanted: dict[int, int] = {}
    for finding in RULE.findings(facts):
        if finding.fingerprint not in dismissed:
            wanted |= {int(again): int(one) for again, one in pairs_of(finding)}
    marked = Run.objects.filter(study=study).exclude(duplicate_of=None)
    present = dict(marked.values_list("pk", "duplicate_of_id"))
    changed = {run for run, _ in wanted.items() ^ present.items()}
    if not changed:
        return False
    # Whoever reads an upload again holds its runs before their cells: so does this.
    involved = changed | {wanted[run] for run in changed if run in wanted}
    locked = Run.objects.select_for_update(no_key=True).filter(pk__in=involved)
    runs = {run.pk: run for run in locked.order_by("pk")}
    # One that is gone is nobody's first; its study is checked again at once.
    for run_id in sorted(changed & runs.keys()):
        first = wanted.get(run_id)
        runs[run_id].duplicate_of_id = first if first in runs else None
    again = [runs[run_id] for run_id in sorted(changed & runs.keys())]
    keys = touched_cells(again)
    lock_cases({(key.lab_id, key.case_id) for key in keys})
    Run.objects.bulk_update(again, ["duplicate_of"], batch_size=500)
    _note_energies(changed)
    cells = summarise_cells(keys)
    normalise(cells)
    _note_others(study, cells)
    return True


def _note_energies(run_ids: Iterable[int]) -> None:
    """Power is integrated once more over the windows of these runs."""
    windows = RunWindow.objects.filter(run__in=run_ids, begin_at__isnull=False)
    spans = windows.values_list("host_id", "begin_at", "end_at").order_by().distinct()
    put_energies(spans)


def _note_others(study: Study, cells: Iterable[Cell]) -> None:
    """Other studies of the lab that share a case look at these cells, too."""
    cases = {cell.case_id for cell in cells}
    near = Cell.objects.filter(lab=study.lab_id, case__in=cases).exclude(study=study)
    others = near.order_by().values_list("study_id", flat=True).distinct()
    put_checks(others, is_beside=True)
