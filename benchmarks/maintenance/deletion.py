"""Permanent, audited deletion of uploads, studies and accounts.

Published versions and reviews are withdrawn, not deleted; their study stays without
data (a tombstone).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks import rls
from benchmarks.errors import InvalidError
from benchmarks.evidence.queries import refresh_public_evidence, study_questions
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.labs.members import leave_all_labs
from benchmarks.models import (
    AuditEntry,
    Cell,
    Comment,
    CoRun,
    Event,
    Flag,
    Job,
    Lab,
    Plan,
    PublishingJob,
    Report,
    Review,
    Run,
    SavedView,
    Session,
    Study,
    StudyEventState,
    Version,
)
from benchmarks.publishing.publications import withdraw
from benchmarks.sentences import Sentence, pluralized
from benchmarks.studies.copies import studies_with_copies
from benchmarks.uploads.cell_summaries import (
    affected_cells,
    lock_cases,
    summarize_cells,
)
from benchmarks.uploads.efficiencies import recompute_efficiencies
from benchmarks.uploads.processing import queue_follow_ups

AuditKind = AuditEntry.Kind


@dataclass(frozen=True)
class DeletionCounts:
    """Numbers of deleted rows, and of ``withdrawn`` versions and reviews (kept)."""

    runs: int
    samples: int
    cells: int = 0
    flags: int = 0
    withdrawn: int = 0


def count_upload_deletion(runs: Iterable[Run]) -> DeletionCounts:
    parts = list(_runs_of_same_uploads(runs))
    return DeletionCounts(len(parts), sum(run.sample_count for run in parts))


def count_study_deletion(study: Study) -> DeletionCounts:
    counts = count_upload_deletion(study.runs.all())
    return DeletionCounts(
        counts.runs,
        counts.samples,
        study.cells.count(),
        study.flags.count(),
        Version.objects.filter(study=study, withdrawn_at=None).count()
        + Review.objects.filter(studies=study, withdrawn_at=None).count(),
    )


@rls.allow_all()
@transaction.atomic
def delete_uploads(
    *, lab: Lab, runs: Iterable[Run], actor: str, reason: str
) -> DeletionCounts:
    """Delete the uploads to which these runs belong, and update cells.

    Raises InvalidError without a reason. An agent that still has an upload in its spool
    may send it again.
    """
    reason = _checked_reason(reason)
    counts = _remove(_runs_of_same_uploads(runs))
    about = pluralized(
        "{n} run: {reason}", "{n} runs: {reason}", n=counts.runs, reason=reason
    )
    AuditEntry.log(lab, AuditKind.DELETED_RUNS, about, agent=actor)
    return counts


@rls.allow_all()
@transaction.atomic
def delete_study(*, study: Study, actor: str, reason: str) -> DeletionCounts:
    """A published study becomes a tombstone. Raises InvalidError."""
    reason = _checked_reason(reason)
    locked = Study.objects.select_for_update().get(pk=study.pk)
    if locked.deleted_at:
        raise InvalidError("deletion_not_allowed", "The study was already deleted.")
    counts = count_study_deletion(locked)
    questions = study_questions(locked)
    _remove(locked.runs.all())
    about = Sentence("{study}: {reason}", study=study.slug, reason=reason)
    AuditEntry.log(study.lab, AuditKind.DELETED_STUDY, about, agent=actor)
    reviews = Review.objects.filter(studies=locked)
    if not Version.objects.filter(study=locked).exists() and not reviews.exists():
        locked.delete()
        refresh_public_evidence(questions)
        return counts
    for version in Version.objects.filter(study=locked, withdrawn_at=None):
        withdraw(version, actor=actor, reason=reason)
    for review in reviews.filter(withdrawn_at=None):
        withdraw(review, actor=actor, reason=f"{study.title} was deleted: {reason}")
    emptied = (
        Comment,
        Event,
        StudyEventState,
        Flag,
        Report,
        Plan,
        Job,
        CoRun,
        Session,
        Cell,
    )
    for model in emptied:
        model._default_manager.filter(study=locked).delete()
    PublishingJob.objects.filter(study=locked, version=None).delete()
    locked.deleted_at, locked.note = timezone.now(), reason
    locked.reference_system, locked.system_references = None, {}
    locked.save(
        update_fields=["deleted_at", "note", "reference_system", "system_references"]
    )
    refresh_public_evidence(questions)
    return counts


@rls.allow_all()
@transaction.atomic
def delete_account(*, person: User, actor: str) -> list[Lab]:
    """Return the labs of the account.

    Raises InvalidError for the last admin or editor of a lab.
    """
    name = person.get_username()
    labs = leave_all_labs(person)
    # Keep views shared with a lab.
    SavedView.objects.filter(person=person, lab=None).delete()
    for lab in labs:
        AuditEntry.log(lab, AuditKind.DELETED_ACCOUNT, name, agent=actor)
    person.delete()
    return labs


def versions_quoting(runs: Iterable[Run]) -> QuerySet[Version]:
    studies = {run.study_id for run in runs}
    return Version.objects.filter(study__in=studies, withdrawn_at=None)


def _checked_reason(reason: str) -> str:
    if not reason.strip():
        raise InvalidError(
            "deletion_not_allowed", "Give a reason. It is stored in the audit log."
        )
    return reason.strip()


def _runs_of_same_uploads(runs: Iterable[Run]) -> QuerySet[Run]:
    sources = {run.first_run_id or run.pk for run in runs}
    return Run.objects.filter(Q(pk__in=sources) | Q(first_run__in=sources))


def _remove(runs: QuerySet[Run]) -> DeletionCounts:
    deleted = list(runs)
    ids = [run.pk for run in deleted]
    samples = sum(run.sample_count for run in deleted)
    # Duplicates of the deleted runs are no longer duplicates, so their cells change.
    duplicates = list(Run.objects.filter(duplicate_of__in=ids).exclude(pk__in=ids))
    keys = affected_cells([*deleted, *duplicates])
    lock_cases({(key.lab_id, key.case_id) for key in keys})
    # Deleted here, because SET_NULL would turn them into comments on the study.
    Comment.objects.filter(run__in=ids).delete()
    Job.objects.filter(kind=Job.Kind.UPLOAD, subject_id__in=ids).delete()
    Run.objects.filter(pk__in=ids).delete()
    touched = summarize_cells(keys)
    recompute_efficiencies(touched)
    queue_follow_ups(touched, [run.pk for run in duplicates])
    empty = [cell.pk for cell in touched if cell.is_empty]
    Comment.objects.filter(cell__in=empty).delete()
    copied_by = studies_with_copies(empty)
    Cell.objects.filter(pk__in=empty).delete()
    enqueue_checks(copied_by, others_changed=True)
    return DeletionCounts(len(deleted), samples, len(empty))
