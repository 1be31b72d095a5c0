"""Delete uploads, studies and accounts permanently, with an entry in the audit log.

Published versions and reviews stay and are withdrawn with the reason; their study stays
as an empty tombstone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks import sight
from benchmarks.errors import InvalidError
from benchmarks.evidence.reading import questions_of, renew_pools
from benchmarks.labs.people import leave_all_labs
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
    StudyNews,
    Version,
)
from benchmarks.publishing.publications import withdraw
from benchmarks.sentences import Sentence
from benchmarks.uploads.efficiencies import normalise
from benchmarks.uploads.processing import note_due_work
from benchmarks.uploads.summaries import lock_cases, summarise_cells, touched_cells

Kind = AuditEntry.Kind


@dataclass(frozen=True)
class Loss:
    """What a deletion removes; ``withdrawn`` versions and reviews stay."""

    runs: int
    samples: int
    cells: int = 0
    flags: int = 0
    withdrawn: int = 0


def loss_of_uploads(runs: Iterable[Run]) -> Loss:
    """Return what would go with these uploads."""
    parts = list(_with_all_parts(runs))
    return Loss(len(parts), sum(run.sample_count for run in parts))


def loss_of_study(study: Study) -> Loss:
    """Return what would go with a study."""
    loss = loss_of_uploads(study.runs.all())
    return Loss(
        loss.runs,
        loss.samples,
        study.cells.count(),
        study.flags.count(),
        Version.objects.filter(study=study, withdrawn_at=None).count()
        + Review.objects.filter(studies=study, withdrawn_at=None).count(),
    )


@sight.everything()
@transaction.atomic
def delete_uploads(*, lab: Lab, runs: Iterable[Run], who: str, reason: str) -> Loss:
    """Delete uploads with all their runs; cells follow, publications stay.

    An agent that still has an upload in its spool can send it again.
    """
    reason = _stated(reason)
    loss = _remove(_with_all_parts(runs))
    about = Sentence("{n} runs: {reason}", n=loss.runs, reason=reason)
    AuditEntry.log(lab, Kind.DELETED_RUNS, about, agent=who)
    return loss


@sight.everything()
@transaction.atomic
def delete_study(*, study: Study, who: str, reason: str) -> Loss:
    """Delete a study with all its data; one that was published becomes a tombstone."""
    reason = _stated(reason)
    locked = Study.objects.select_for_update().get(pk=study.pk)
    if locked.deleted_at:
        raise InvalidError("deletion", "The study was deleted before.")
    loss = loss_of_study(locked)
    asked = questions_of(locked)
    _remove(locked.runs.all())
    about = Sentence("{study}: {reason}", study=study.slug, reason=reason)
    AuditEntry.log(study.lab, Kind.DELETED_STUDY, about, agent=who)
    reviews = Review.objects.filter(studies=locked)
    if not Version.objects.filter(study=locked).exists() and not reviews.exists():
        locked.delete()
        renew_pools(asked)
        return loss
    for version in Version.objects.filter(study=locked, withdrawn_at=None):
        withdraw(version, who=who, reason=reason)
    for review in reviews.filter(withdrawn_at=None):
        withdraw(review, who=who, reason=f"{study.title} was deleted: {reason}")
    emptied = Comment, Event, StudyNews, Flag, Report, Plan, Job, CoRun, Session, Cell
    for model in emptied:
        model._default_manager.filter(study=locked).delete()
    PublishingJob.objects.filter(study=locked, version=None).delete()
    locked.deleted_at, locked.note = timezone.now(), reason
    locked.reference_system = None
    locked.save(update_fields=["deleted_at", "note", "reference_system"])
    renew_pools(asked)
    return loss


@sight.everything()
@transaction.atomic
def delete_account(*, person: User, who: str) -> list[Lab]:
    """Delete an account; return its labs. Raises InvalidError for the last keeper.

    Uploads, publications and the name in the audit log stay.
    """
    name = person.get_username()
    labs = leave_all_labs(person)
    # Nobody else sees them; those shared with a lab stay.
    SavedView.objects.filter(person=person, lab=None).delete()
    for lab in labs:
        AuditEntry.log(lab, Kind.DELETED_ACCOUNT, name, agent=who)
    person.delete()
    return labs


def versions_with(runs: Iterable[Run]) -> QuerySet[Version]:
    """Return versions that may quote these runs: of their studies, not withdrawn."""
    studies = {run.study_id for run in runs}
    return Version.objects.filter(study__in=studies, withdrawn_at=None)


def _stated(reason: str) -> str:
    if not reason.strip():
        raise InvalidError("deletion", "Give a reason: the audit log keeps it.")
    return reason.strip()


def _with_all_parts(runs: Iterable[Run]) -> QuerySet[Run]:
    """Return all runs of their uploads: what is kept of them is one text."""
    sources = {run.source_id or run.pk for run in runs}
    return Run.objects.filter(Q(pk__in=sources) | Q(source__in=sources))


def _remove(runs: QuerySet[Run]) -> Loss:
    """Delete runs, and bring cells and efficiencies up to date as after an upload."""
    gone = list(runs)
    ids = [run.pk for run in gone]
    samples = sum(run.sample_count for run in gone)
    # What was not counted beside one of them counts from now on.
    freed = list(Run.objects.filter(duplicate_of__in=ids).exclude(pk__in=ids))
    keys = touched_cells([*gone, *freed])
    lock_cases({(key.lab_id, key.case_id) for key in keys})
    # What was written of them goes with them; else it would fall to the study.
    Comment.objects.filter(run__in=ids).delete()
    Job.objects.filter(kind=Job.Kind.UPLOAD, subject_id__in=ids).delete()
    Run.objects.filter(pk__in=ids).delete()
    touched = summarise_cells(keys)
    normalise(touched)
    note_due_work(touched, [run.pk for run in freed])
    empty = [cell.pk for cell in touched if cell.n == 0]
    Comment.objects.filter(cell__in=empty).delete()
    Cell.objects.filter(pk__in=empty).delete()
    return Loss(len(gone), samples, len(empty))
