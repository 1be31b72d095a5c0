"""Checks of changed studies, shortly after the last upload.

A check can be repeated safely.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from benchmarks.collaboration.study_events import queue_events
from benchmarks.evidence.stored_effects import store_effects
from benchmarks.jobs import queue
from benchmarks.jobs.queue import (
    OTHERS_CHANGED,
    JobKind,
    Jobs,
    enqueue_checks,
    enqueue_energy,
)
from benchmarks.models import Cell, Flag, Job, Run, RunMean, RunWindow, Study
from benchmarks.parsing.failed_work import FAILURE_CODES
from benchmarks.plausibility.findings import RuleFinding
from benchmarks.plausibility.rules import RULES, apply_rules
from benchmarks.plausibility.rules.repeated_uploads import repeated_run_ids
from benchmarks.plausibility.study_facts import Id, StudyFacts
from benchmarks.studies.cell_shapes import shape_cells
from benchmarks.studies.copies import find_copies, store_originals
from benchmarks.studies.plausibility_facts import (
    RUN_GROUP_FIELDS,
    failure_decisions,
    study_facts,
    with_originals,
)
from benchmarks.studies.sessions import derive_study_sessions
from benchmarks.uploads.cell_summaries import (
    affected_cells,
    lock_cases,
    summarize_cells,
)
from benchmarks.uploads.efficiencies import (
    cells_with_outdated_state,
    recompute_efficiencies,
)

QUIET_PERIOD = timedelta(seconds=0.5)
RECENT_PERIOD = timedelta(seconds=5)
MAX_WAIT = timedelta(seconds=30)
FINDING_FIELDS = ("severity", "message", "evidence", "subjects")
UPLOADED_TWICE = RULES["uploaded-twice"]


def check_due_studies(quiet: timedelta = QUIET_PERIOD) -> int:
    """Check studies without changes for ``quiet``; return their number.

    Two kinds of studies wait longer, up to `MAX_WAIT`: those with waiting uploads, and
    those of a lab with waiting uploads that need a check only because other studies
    changed.
    """
    now = timezone.now()
    waiting = Job.objects.filter(
        kind=JobKind.UPLOAD, quarantined_at=None, due_at__lte=now + quiet
    )
    busy_studies = set(waiting.values_list("study", flat=True).distinct())
    checks = Job.objects.filter(kind=JobKind.CHECK)
    by_others = checks.filter(lab__in=waiting.values("lab"), detail=OTHERS_CHANGED)
    busy_studies |= set(by_others.values_list("study", flat=True)) - set(
        checks.exclude(detail=OTHERS_CHANGED).values_list("study", flat=True)
    )
    checked = 0
    for group in queue.due_job_groups(JobKind.CHECK):
        is_quiet = (
            group.last_created_at <= now - quiet
            and group.subject_id not in busy_studies
        )
        if is_quiet or group.first_created_at <= now - MAX_WAIT:
            checked += queue.run_due_jobs(JobKind.CHECK, group.subject_id)
    return checked


def has_check_due_soon() -> bool:
    cutoff = timezone.now() - RECENT_PERIOD
    return Job.objects.filter(kind=JobKind.CHECK, created_at__gt=cutoff).exists()


@queue.job_handler(JobKind.CHECK)
def _check(jobs: Jobs) -> None:
    with transaction.atomic():
        # no_key: uploads must be able to store runs of the study meanwhile.
        studies = Study.objects.select_for_update(no_key=True)
        study = studies.get(pk=jobs[0].subject_id)
        if all(job.detail == OTHERS_CHANGED for job in jobs):
            check_against_others(study)
        else:
            check_study(study)
        queue.retry_plans_of([study.pk])
        queue_events(study)
        queue.finish(jobs)
        if not cells_with_outdated_state(study):
            return
        # If the process dies before the next commit, the check is repeated.
        last = max(job.created_at for job in jobs)
        [follow_up] = enqueue_checks([study.pk], created_at=last)
    with transaction.atomic():
        # As in processing, lock cases before cells.
        cells = cells_with_outdated_state(study)
        lock_cases({(cell.lab_id, cell.case_id) for cell in cells})
        recompute_efficiencies(cells)
        follow_up.delete()


@transaction.atomic
def check_study(study: Study) -> None:
    """Update sessions, shapes and flags.

    Count repeated uploads once, and failed runs whose flag was dismissed.
    """
    # Changes of the counted runs come first: cells are locked in the same order as in
    # processing.
    reinstate_failed_runs(study)
    facts = study_facts(study)
    if exclude_duplicate_runs(study, facts):
        facts = study_facts(study)  # cells have changed
    copies = find_copies(study)
    facts = with_originals(facts, copies)
    # The rules are slow, so they come before steps that lock cells for processing.
    findings = {finding.fingerprint: finding for finding in apply_rules(facts)}
    # Before shapes, which depend on sessions.
    derive_study_sessions(study)
    shape_cells(study)
    _store_findings(study, findings, study.flags.all(), facts.baseline_studies)
    store_originals(study, copies)
    store_effects(study)


@transaction.atomic
def check_against_others(study: Study) -> None:
    """Update the flags of rules that use other studies, without reading runs."""
    copies = find_copies(study)
    facts = with_originals(study_facts(study, with_runs=False), copies)
    rules = [rule for rule in RULES.values() if rule.uses_other_studies]
    findings = {finding.fingerprint: finding for finding in apply_rules(facts, rules)}
    affected = study.flags.filter(rule__in=[rule.id for rule in rules])
    rows = affected.filter(resolved_at=None).values_list("fingerprint", *FINDING_FIELDS)
    stored = {fingerprint: tuple(values) for fingerprint, *values in rows}
    current = {key: _finding_values(finding) for key, finding in findings.items()}
    is_changed = store_originals(study, copies)
    if facts.baseline_studies or stored != current or is_changed:
        _store_findings(study, findings, affected, facts.baseline_studies)
        store_effects(study)


def _finding_values(finding: RuleFinding) -> tuple[object, ...]:
    subjects = [
        {"kind": subject.kind, "id": subject.id} for subject in finding.subjects
    ]
    return (finding.severity, finding.sentence, dict(finding.evidence), subjects)


def _store_findings(
    study: Study,
    findings: Mapping[str, RuleFinding],
    replaceable: QuerySet[Flag],
    baseline_studies: Collection[Id],
) -> None:
    # Flags with a decision are resolved, not deleted.
    obsolete = replaceable.exclude(fingerprint__in=findings)
    obsolete.filter(status=Flag.Status.OPEN).delete()
    obsolete.filter(resolved_at=None).update(resolved_at=timezone.now())
    Flag.objects.bulk_create(
        [
            Flag(
                lab_id=study.lab_id,
                study=study,
                rule=finding.rule,
                fingerprint=finding.fingerprint,
                **dict(zip(FINDING_FIELDS, _finding_values(finding), strict=True)),
            )
            for finding in findings.values()
        ],
        update_conflicts=True,
        unique_fields=["study", "fingerprint"],
        # A finding that returns keeps its decision.
        update_fields=[*FINDING_FIELDS, "resolved_at"],
    )
    untouched = set(study.flags.values_list("pk", flat=True))
    untouched -= set(replaceable.values_list("pk", flat=True))
    _link(study, findings, untouched, baseline_studies)


def _link(
    study: Study,
    findings: Mapping[str, RuleFinding],
    untouched: Collection[int],
    baseline_studies: Collection[Id],
) -> None:
    """Link flags to cells, runs and quoted studies.

    A flag about runs only is linked to all cells of its runs. ``untouched`` flags keep
    their cells and runs.
    """
    flags = dict(study.flags.values_list("fingerprint", "pk"))
    pairs: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for key, finding in findings.items():
        for subject in finding.subjects:
            if subject.kind in {"cell", "run"}:
                pairs[subject.kind].add((flags[key], int(subject.id)))
    flags_with_cells = {flag for flag, _ in pairs["cell"]}
    run_links = {
        (flag, run) for flag, run in pairs["run"] if flag not in flags_with_cells
    }
    cells_of_run = _cells_of_runs(study, {run for _, run in run_links})
    pairs["cell"] |= {
        (flag, cell) for flag, run in run_links for cell in cells_of_run[run]
    }
    quoted_pairs = {
        (flags[key], int(quoted))
        for key, finding in findings.items()
        for quoted in finding.quoted_studies
    }
    # Resolved flags keep their quoted studies.
    stored_quotes = Flag.quoted_studies.through._default_manager.filter(
        flag__study=study
    )
    current_flags = study.flags.filter(pk__in=untouched, resolved_at=None)
    current_ids = set(current_flags.values_list("pk", flat=True))
    resolved_quotes = stored_quotes.exclude(flag__fingerprint__in=findings).exclude(
        flag__in=current_ids
    )
    quoted_pairs |= set(resolved_quotes.values_list("flag_id", "study_id"))
    # Baseline studies of untouched flags may have changed.
    quoted_pairs |= {
        (flag, int(quoted)) for flag in current_ids for quoted in baseline_studies
    }
    for kind, through in (("run", Flag.runs.through), ("cell", Flag.cells.through)):
        links = through._default_manager.filter(flag__in=untouched)
        pairs[kind] |= set(links.values_list("flag_id", f"{kind}_id"))
    _replace(Flag.quoted_studies.through, "study_id", study, quoted_pairs)
    _replace(Flag.runs.through, "run_id", study, pairs["run"])
    _replace(Flag.cells.through, "cell_id", study, pairs["cell"])


def _cells_of_runs(study: Study, run_ids: set[int]) -> Mapping[int, set[int]]:
    cells = study.cells.values_list(*RUN_GROUP_FIELDS, "case_id", "pk")
    cell_by_key = {tuple(row[:-1]): row[-1] for row in cells}
    runs = Run.objects.filter(pk__in=run_ids).values_list("pk", *RUN_GROUP_FIELDS)
    key_by_run = {pk: tuple(key) for pk, *key in runs}
    means = RunMean.objects.filter(lab=study.lab_id, run__in=list(key_by_run))
    cells_of_run: dict[int, set[int]] = defaultdict(set)
    for run_id, case_id in means.values_list("run_id", "case_id"):
        if (cell := cell_by_key.get((*key_by_run[run_id], case_id))) is not None:
            cells_of_run[run_id].add(cell)
    return cells_of_run


def _replace(
    through: type[Model], column: str, study: Study, new_links: set[tuple[int, int]]
) -> None:
    links = through._default_manager.filter(flag__study=study)
    present = {
        (flag, target): pk
        for pk, flag, target in links.values_list("pk", "flag_id", column)
    }
    # Each written row invalidates cached pages.
    obsolete = [pk for pair, pk in present.items() if pair not in new_links]
    through._default_manager.filter(pk__in=obsolete).delete()
    through._default_manager.bulk_create(
        through(flag_id=flag, **{column: target})
        for flag, target in sorted(new_links - present.keys())
    )


@transaction.atomic
def exclude_duplicate_runs(study: Study, facts: StudyFacts) -> bool:
    """Count repeated uploads once; return whether cells changed.

    Uploads whose flag was dismissed are counted.
    """
    flags = study.flags.filter(rule=UPLOADED_TWICE.id, status=Flag.Status.DISMISSED)
    dismissed = set(flags.values_list("fingerprint", flat=True))
    first_run_of: dict[int, int] = {}
    for finding in UPLOADED_TWICE.findings(facts):
        if finding.fingerprint not in dismissed:
            first_run_of |= {
                int(repeated): int(first_id)
                for repeated, first_id in repeated_run_ids(finding)
            }
    marked = Run.objects.filter(study=study).exclude(duplicate_of=None)
    present = dict(marked.values_list("pk", "duplicate_of_id"))
    changed = {run for run, _ in first_run_of.items() ^ present.items()}
    if not changed:
        return False
    # As in reparsing, lock runs before cells.
    involved = changed | {first_run_of[run] for run in changed if run in first_run_of}
    locked = Run.objects.select_for_update(no_key=True).filter(pk__in=involved)
    runs = {run.pk: run for run in locked.order_by("pk")}
    # A deleted run cannot be the first.
    for run_id in sorted(changed & runs.keys()):
        first = first_run_of.get(run_id)
        runs[run_id].duplicate_of_id = first if first in runs else None
    changed_runs = [runs[run_id] for run_id in sorted(changed & runs.keys())]
    _recount(study, changed_runs, "duplicate_of")
    return True


@transaction.atomic
def reinstate_failed_runs(study: Study) -> None:
    """Count exactly those failed runs whose flag was dismissed."""
    dismissed = study.flags.filter(status=Flag.Status.DISMISSED)
    reinstated = set(failure_decisions(dismissed))
    # Before failed runs had a flag of their own, that of the warning was dismissed.
    marks = dismissed.filter(
        rule="tool-mark", evidence__code__in=sorted(FAILURE_CODES)
    ).values_list("subjects", flat=True)
    decided = failure_decisions(study.flags.exclude(status=Flag.Status.OPEN))
    reinstated |= {int(row["id"]) for rows in marks for row in rows} - decided.keys()
    failed = Run.objects.filter(study=study).exclude(failure="")
    ids = set(failed.values_list("pk", flat=True))
    counted = set(failed.filter(failure_dismissed=True).values_list("pk", flat=True))
    changed_ids = counted ^ (ids & reinstated)
    locked = Run.objects.select_for_update(no_key=True).filter(pk__in=changed_ids)
    changed = list(locked.order_by("pk"))
    for run in changed:
        run.failure_dismissed = run.pk in reinstated
    if changed:
        _recount(study, changed, "failure_dismissed")


def _recount(study: Study, runs: Sequence[Run], field: str) -> None:
    """Store a field that decides whether runs count, and recompute their cells."""
    keys = affected_cells(runs)
    lock_cases({(key.lab_id, key.case_id) for key in keys})
    Run.objects.bulk_update(runs, [field], batch_size=500)
    changed = [run.pk for run in runs]
    # Jobs compute the energy of these runs again.
    windows = RunWindow.objects.filter(run__in=changed, started_at__isnull=False)
    spans = (
        windows.values_list("host_id", "started_at", "ended_at").order_by().distinct()
    )
    enqueue_energy(spans)
    cells = summarize_cells(keys)
    recompute_efficiencies(cells)
    enqueue_checks(
        related_studies(study, {cell.case_id for cell in cells}), others_changed=True
    )


def related_studies(
    study: Study, cases: Iterable[int] | QuerySet[Any]
) -> QuerySet[Any]:
    cells = Cell.objects.filter(lab=study.lab_id, case__in=cases).exclude(study=study)
    return cells.order_by().values_list("study_id", flat=True).distinct()
