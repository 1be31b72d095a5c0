"""Check studies that changed: the shape of their cells, and the plausibility flags.

Checking is not done with every run but a moment after the last one: a flag speaks of
a whole study. Doing it twice changes nothing.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta

from django.db import transaction
from django.db.models import Max, Min, Model
from django.utils import timezone

from benchmarks.models import DueCheck, Flag, Sample, Study
from benchmarks.plausibility.checking import check
from benchmarks.plausibility.findings import Finding
from benchmarks.studies.facts import study_facts
from benchmarks.uploads.summaries import shape_cells

QUIET = timedelta(seconds=1)
LONGEST_WAIT = timedelta(seconds=30)


def check_due_studies(quiet: timedelta = QUIET) -> int:
    """Check the studies in which nothing has happened for a moment; return how many.

    One in which something always happens is checked every half minute.
    """
    now = timezone.now()
    noted = DueCheck.objects.values("study").annotate(
        first=Min("noted_at"), last=Max("noted_at")
    )
    due = [
        row["study"]
        for row in noted.order_by("first")
        if row["last"] <= now - quiet or row["first"] <= now - LONGEST_WAIT
    ]
    return sum(_check_noted(study_id) for study_id in due)


@transaction.atomic
def _check_noted(study_id: int) -> bool:
    """Check a study unless another process has it in hand."""
    notes = DueCheck.objects.filter(study=study_id)
    mine = list(notes.select_for_update(skip_locked=True).values_list("pk", flat=True))
    if not mine:
        return False
    DueCheck.objects.filter(pk__in=mine).delete()
    # Held against other checks only: a run that is stored refers to the study, and
    # would wait here for cells which it has itself in hand.
    locked = Study.objects.select_for_update(no_key=True)
    check_study(locked.get(pk=study_id))
    return True


@transaction.atomic
def check_study(study: Study) -> None:
    """Bring the shapes and flags of a study up to date."""
    shape_cells(study)
    # Store new findings; let those go that are no longer made.
    findings = check(study_facts(study))
    known = {flag.fingerprint: flag for flag in study.flags.all()}
    found = {finding.fingerprint: finding for finding in findings}
    gone = [flag for key, flag in known.items() if key not in found]
    undecided = [flag.pk for flag in gone if flag.status == Flag.Status.OPEN]
    Flag.objects.filter(pk__in=undecided).delete()
    decided = [flag.pk for flag in gone if flag.pk not in undecided]
    Flag.objects.filter(pk__in=decided, gone_at=None).update(gone_at=timezone.now())
    flags = [_flag(study, finding) for finding in found.values()]
    Flag.objects.bulk_create(
        flags,
        update_conflicts=True,
        unique_fields=["study", "fingerprint"],
        update_fields=["severity", "sentence", "evidence", "subjects", "gone_at"],
    )
    _link(study, found)


def _flag(study: Study, finding: Finding) -> Flag:
    return Flag(
        lab_id=study.lab_id,
        study=study,
        rule=finding.rule,
        severity=finding.severity,
        sentence=finding.sentence,
        fingerprint=finding.fingerprint,
        evidence=dict(finding.evidence),
        subjects=[{"kind": each.kind, "id": each.id} for each in finding.subjects],
    )


def _link(study: Study, found: Mapping[str, Finding]) -> None:
    """Tie flags to the cells and runs they are about.

    A finding that names no cells is about all that its runs measured. One that names
    some beside a run doubts these alone: where p95 > max, the throughput may stand.
    """
    flags = dict(study.flags.values_list("fingerprint", "pk"))
    runs = _subjects("run", flags, found)
    cells = _subjects("cell", flags, found)
    named = {flag for flag, _ in cells}
    whole = {(flag, run) for flag, run in runs if flag not in named}
    cells_of_run = _cells_of_runs(study, {run for _, run in whole})
    cells |= {(flag, cell) for flag, run in whole for cell in cells_of_run[run]}
    _replace(Flag.runs.through, "run_id", study, runs)
    _replace(Flag.cells.through, "cell_id", study, cells)


def _subjects(
    kind: str, flags: Mapping[str, int], found: Mapping[str, Finding]
) -> set[tuple[int, int]]:
    return {
        (flags[key], int(subject.id))
        for key, finding in found.items()
        for subject in finding.subjects
        if subject.kind == kind
    }


def _cells_of_runs(study: Study, run_ids: set[int]) -> Mapping[int, set[int]]:
    place = ("system_id", "scenario", "vms", "slot", "load")
    cells = study.cells.values_list(*place, "case_id", "pk")
    by_place = {tuple(row[:-1]): row[-1] for row in cells}
    samples = Sample.objects.filter(run__in=run_ids).values_list(
        "run_id", *(f"run__{name}" for name in place), "case_id"
    )
    found: dict[int, set[int]] = defaultdict(set)
    for run_id, *rest in samples.distinct():
        if (cell := by_place.get(tuple(rest))) is not None:
            found[run_id].add(cell)
    return found


def _replace(
    through: type[Model], column: str, study: Study, wanted: set[tuple[int, int]]
) -> None:
    """Make a study's links these and no others."""
    links = through._default_manager.filter(flag__study=study)
    stored = {
        (flag, other): pk
        for pk, flag, other in links.values_list("pk", "flag_id", column)
    }
    surplus = [pk for pair, pk in stored.items() if pair not in wanted]
    through._default_manager.filter(pk__in=surplus).delete()
    through._default_manager.bulk_create(
        through(flag_id=flag, **{column: other})
        for flag, other in sorted(wanted - stored.keys())
    )
