"""Work for workers: how any is begun and held, and the job of publishing a version.

The row is the work: a message to a worker is only a hint. Whoever begins takes the row
in hand (`held`), so one whose maker was killed is found at once and begun again.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Model
from django.utils import timezone

from benchmarks.errors import InvalidError
from benchmarks.models import Job, PublishingJob, Study, UnfinishedWork, Version
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import study_version
from benchmarks.studies.lists import tally_of
from benchmarks.text import clean_text
from benchmarks.unattended import holding
from benchmarks.unattended.attempts import Kind, Unit, set_aside

M = TypeVar("M", bound=Job)
UNHELD = timedelta(seconds=2)
"""How long a maker may need between beginning its work and being seen to hold it."""

Stage = PublishingJob.Stage
UNTAKEN = timedelta(seconds=10)
"""How long a hint may be under way: the sweeper looks for those that got lost."""
MOST_ATTEMPTS = 5
PUBLISH_TASK = "virtlab.publish_version"
"""Under this name a worker takes jobs: it knows who writes the files of a version."""


def held(work: type[Model], pk: int) -> AbstractContextManager[bool]:
    """Take a piece of work in hand until the block ends; False if somebody else has."""
    return holding.held(_name(work, pk))


def begin(
    work: type[M],
    pk: int,
    related: Sequence[str] = ("study__lab", "person"),
    **news: Any,
) -> M | None:
    """Begin with what waits; None where somebody has, or it is over.

    ``related`` is read with it.
    """
    waiting = work._default_manager.filter(pk=pk, stage=Job.Stage.WAITING)
    # One UPDATE decides: of two workers with the same hint, one changes no row.
    if not waiting.update(**news, stage=Job.Stage.COLLECTING, seen_at=timezone.now()):
        return None
    rows = work._default_manager.all()
    return (rows.select_related(*related) if related else rows).get(pk=pk)


def is_lost(job: Job, untaken: timedelta) -> bool:
    """Return whether nobody makes it: its hint was lost, or its maker was killed.

    ``untaken`` is how long a hint may be under way.
    """
    silence = timezone.now() - job.seen_at
    if job.stage == Job.Stage.WAITING:
        return silence > untaken
    return (
        job.is_unfinished
        and silence > UNHELD
        and not holding.is_held(_name(type(job), job.pk))
    )


def _name(work: type[Model], pk: int) -> str:
    return f"{work._meta.db_table} {pk}"


def request_version(
    *, study: Study, person: User, site: str, licence: str, licence_note: str
) -> tuple[PublishingJob, bool]:
    """Note that a study is to be published as it is now; return whether that is new.

    One that is being published is not asked for again: its progress is shown. Raises
    InvalidError where runs still wait, or the question about licences is not answered.
    """
    note = clean_text(
        licence_note.strip(), what=Sentence("answer about the licence"), multiline=True
    )
    if licence not in Version.Licence.values:
        raise InvalidError(
            "version",
            "Say whether a licence of these hypervisors restricts publishing.",
        )
    if licence == Version.Licence.PERMITTED and not note:
        raise InvalidError(
            "version", "Say who permitted it and when: the answer is kept."
        )
    check_settled(study)
    job, is_new = PublishingJob.objects.get_or_create(
        study=study,
        stage__in=PublishingJob.UNFINISHED,
        defaults={
            "person": person,
            "site": site,
            "licence": licence,
            "licence_note": note,
            "data_version": study_version(study),
        },
    )
    if is_new:  # instead of those that failed
        UnfinishedWork.objects.filter(job__study=study).delete()
    return job, is_new


def take_publishing_job(pk: int) -> PublishingJob | None:
    """Begin with one that waits; None where somebody has, or it is over."""
    return begin(PublishingJob, pk, attempts=F("attempts") + 1)


def note_stage(*, job: PublishingJob, stage: str) -> None:
    """Note how far a job is."""
    _note(job, stage=stage)


def note_failure(*, job: PublishingJob, problem: str) -> None:
    """Note why a version was not published."""
    _note(job, stage=Stage.FAILED, problem=problem)


def note_broken(*, job: PublishingJob, problem: Sentence, error: str) -> None:
    """Note that it is this program which failed, for whoever runs it."""
    note_failure(job=job, problem=problem)
    set_aside(_unit(job), error)


def _unit(job: PublishingJob) -> Unit:
    return Unit(Kind.PUBLISHING, job.study.lab_id, job.pk)


def requeue_publishing_jobs() -> list[int]:
    """Return those that no worker has in hand, to be sent once more.

    Their hint was lost, their maker was killed, or somebody asked for one that failed.
    One that was begun too often fails.
    """
    _revive()
    now = timezone.now()
    silent = PublishingJob.objects.filter(
        stage__in=PublishingJob.UNFINISHED, seen_at__lt=now - UNHELD
    )
    requeued = []
    for job in silent.select_related("study"):
        if not is_lost(job, UNTAKEN):
            continue
        if job.attempts < MOST_ATTEMPTS:
            note_stage(job=job, stage=Stage.WAITING)
            requeued.append(job.pk)
            continue
        problem = Sentence(
            "It stopped its worker {n} times, so it is not tried again. "
            "The reason is in the log of the workers.",
            n=job.attempts,
        )
        note_broken(job=job, problem=problem, error=problem)
    return requeued


@transaction.atomic
def _revive() -> None:
    """Let those wait again that failed and that somebody wants to be tried again."""
    asked = UnfinishedWork.objects.filter(kind=Kind.PUBLISHING, failures=0)
    for row in asked.select_related("job").order_by("pk"):
        job = row.job
        if job is not None and job.stage == Stage.FAILED:
            others = PublishingJob.objects.filter(study=job.study_id)
            if not others.filter(stage__in=PublishingJob.UNFINISHED).exists():
                # Silent since long ago: it is sent at once.
                long_ago = timezone.now() - 2 * UNTAKEN
                job.stage, job.problem, job.attempts = Stage.WAITING, "", 0
                job.seen_at = long_ago
                job.save(update_fields=["stage", "problem", "attempts", "seen_at"])
        row.delete()


def check_settled(study: Study) -> None:
    """Raise InvalidError where a study has no results, or some still to come."""
    tally = tally_of(study)
    if not tally.cells:
        raise InvalidError("version", "The study has no results yet to be cited.")
    if tally.stuck:
        raise InvalidError(
            "version",
            "The check of this study failed: its verdicts are out of date. "
            "Try the check again on the page of the study, then publish it.",
        )
    if tally.waiting or tally.unchecked:
        raise InvalidError(
            "version",
            "Runs of this study are still being processed. "
            "Publish it when they are done.",
        )


def _note(job: PublishingJob, **news: str) -> None:
    """Write it down, unless another maker has taken over."""
    mine = PublishingJob.objects.filter(pk=job.pk, attempts=job.attempts)
    mine.filter(stage__in=PublishingJob.UNFINISHED).update(
        **news, seen_at=timezone.now()
    )
