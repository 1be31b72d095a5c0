"""Work for workers: how any is begun and held, and the job of publishing a version.

The row is the work: a message to a worker is only a hint. Whoever begins takes the row
in hand (`held`), so one whose maker was killed is found at once and begun again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F, Model
from django.utils import timezone

from benchmarks.errors import VersionError
from benchmarks.models import Job, PublishingJob, Study, Version
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import study_version
from benchmarks.studies.lists import tally_of
from benchmarks.text import clean_text

M = TypeVar("M", bound=Job)
UNHELD = timedelta(seconds=2)
"""How long a maker may need between beginning its work and being seen to hold it."""

_KEY = "hashtextextended(%s, 0)"
# PostgreSQL shows a lock of one 64-bit key as two halves, with an objsubid of 1.
_HELD = f"""
    SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
          AND database = (
              SELECT oid FROM pg_database WHERE datname = current_database()
          )
          AND (classid::bigint << 32) | objid::bigint = {_KEY}
    )
"""

Stage = PublishingJob.Stage
UNTAKEN = timedelta(seconds=10)
"""How long a hint may be under way: the sweeper looks for those that got lost."""
MOST_ATTEMPTS = 5
PUBLISH_TASK = "virtlab.publish_version"
"""Under this name a worker takes jobs: it knows who writes the files of a version."""


@contextmanager
def held(work: type[Model], pk: int) -> Iterator[bool]:
    """Take a piece of work in hand until the block ends; False if somebody else has."""
    name = _name(work, pk)
    # The session's lock, not a transaction's: the work commits along the way.
    is_mine = bool(_answer(f"SELECT pg_try_advisory_lock({_KEY})", name))
    try:
        yield is_mine
    finally:
        # A connection that broke has lost its lock already.
        if is_mine and connection.is_usable():
            _answer(f"SELECT pg_advisory_unlock({_KEY})", name)


def begin(work: type[M], pk: int, **news: Any) -> M | None:
    """Begin with what waits; None where somebody has, or it is over."""
    waiting = work._default_manager.filter(pk=pk, stage=Job.Stage.WAITING)
    # One UPDATE decides: of two workers with the same hint, one changes no row.
    if not waiting.update(**news, stage=Job.Stage.COLLECTING, seen_at=timezone.now()):
        return None
    return work._default_manager.select_related("study__lab", "person").get(pk=pk)


def is_lost(job: Job, untaken: timedelta) -> bool:
    """Return whether nobody makes it: its hint was lost, or its maker was killed.

    ``untaken`` is how long a hint may be under way.
    """
    silence = timezone.now() - job.seen_at
    if job.stage == Job.Stage.WAITING:
        return silence > untaken
    return job.is_unfinished and silence > UNHELD and not _is_held(job)


def _is_held(work: Model) -> bool:
    """Return whether somebody alive has this in hand."""
    return bool(_answer(_HELD, _name(type(work), work.pk)))


def _name(work: type[Model], pk: int) -> str:
    return f"{work._meta.db_table} {pk}"


def _answer(question: str, name: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(question, [name])
        return cursor.fetchone()[0]


def request_version(
    *, study: Study, person: User, site: str, licence: str, licence_note: str
) -> tuple[PublishingJob, bool]:
    """Note that a study is to be published as it is now; return whether that is new.

    One that is being published is not asked for again: its progress is shown. Raises
    VersionError where runs still wait, or the question about licences is not answered.
    """
    note = clean_text(
        licence_note.strip(), what=Sentence("answer about the licence"), multiline=True
    )
    if licence not in Version.Licence.values:
        raise VersionError(
            Sentence("Say whether a licence of these hypervisors restricts publishing.")
        )
    if licence == Version.Licence.PERMITTED and not note:
        raise VersionError(
            Sentence("Say who permitted it and when: the answer is kept.")
        )
    check_settled(study)
    return PublishingJob.objects.get_or_create(
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


def take_publishing_job(pk: int) -> PublishingJob | None:
    """Begin with one that waits; None where somebody has, or it is over."""
    return begin(PublishingJob, pk, attempts=F("attempts") + 1)


def note_stage(*, job: PublishingJob, stage: str) -> None:
    """Note how far a job is."""
    _note(job, stage=stage)


def note_failure(*, job: PublishingJob, problem: str) -> None:
    """Note why a version was not published."""
    _note(job, stage=Stage.FAILED, problem=problem)


def requeue_publishing_jobs() -> list[int]:
    """Return those that no worker has in hand, to be sent once more.

    Their hint was lost, or their maker was killed. One that was begun too often fails.
    """
    now = timezone.now()
    silent = PublishingJob.objects.filter(
        stage__in=PublishingJob.UNFINISHED, seen_at__lt=now - UNHELD
    )
    requeued = []
    for job in silent:
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
        note_failure(job=job, problem=problem)
    return requeued


def check_settled(study: Study) -> None:
    """Raise VersionError where a study has no results, or some still to come."""
    tally = tally_of(study)
    if not tally.cells:
        raise VersionError(Sentence("The study has no results yet to be cited."))
    if tally.waiting or tally.unchecked:
        raise VersionError(
            Sentence(
                "Runs of this study are still being processed. "
                "Publish it when they are done."
            )
        )


def _note(job: PublishingJob, **news: str) -> None:
    """Write it down, unless another maker has taken over."""
    mine = PublishingJob.objects.filter(pk=job.pk, attempts=job.attempts)
    mine.filter(stage__in=PublishingJob.UNFINISHED).update(
        **news, seen_at=timezone.now()
    )
