"""Ask for a study to be frozen; note how far that is; find what was forgotten.

The row is the work: a message to a worker is only a hint. Whoever begins takes the row
in hand (`holding`), so one whose maker was killed is found at once and begun again.
"""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from benchmarks.errors import VersionError
from benchmarks.models import PublishingJob, Study, Version
from benchmarks.publishing.locks import UNHELD, begin, is_lost
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import study_version
from benchmarks.studies.lists import card_of
from benchmarks.text import clean_text

Stage = PublishingJob.Stage
UNTAKEN = timedelta(seconds=10)
"""How long a hint may be under way: the sweeper looks for those that got lost."""
MOST_ATTEMPTS = 5
PUBLISH_TASK = "virtlab.publish_version"
"""Under this name a worker takes jobs: it knows who writes the files of a version."""


def request_version(
    *, study: Study, person: User, site: str, licence: str, licence_note: str
) -> tuple[PublishingJob, bool]:
    """Note that a study is to be frozen as it is now; return whether that is new.

    One that is being frozen is not asked for again: who asks sees how far it is. Raises
    VersionError where runs still wait, or the question about licences is not answered.
    """
    note = clean_text(
        licence_note.strip(), what="answer about the licence", multiline=True
    )
    _check_licence(licence, note)
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
    """Note why a study was not frozen."""
    _note(job, stage=Stage.FAILED, problem=problem)


def requeue_publishing_jobs() -> list[int]:
    """Return those that no worker has in hand, to be sent once more.

    Their hint was lost, or their maker was killed. One that was begun too often fails.
    """
    now = timezone.now()
    silent = PublishingJob.objects.filter(
        stage__in=PublishingJob.UNFINISHED, seen_at__lt=now - UNHELD
    )
    lost = [each for each in silent if is_lost(each, UNTAKEN)]
    return [each.pk for each in lost if _begins_again(each)]


def check_settled(study: Study) -> None:
    """Raise VersionError where a study has no results, or some still to come."""
    tally = card_of(study).tally
    if not tally.cells:
        raise VersionError(Sentence("The study has no results yet to be cited."))
    if tally.waiting or tally.unchecked:
        raise VersionError(
            Sentence(
                "Runs of this study are still being processed. "
                "Freeze it when they are done."
            )
        )


def _check_licence(licence: str, note: str) -> None:
    if licence not in Version.Licence.values:
        raise VersionError(
            Sentence("Say whether a licence of these hypervisors restricts publishing.")
        )
    if licence == Version.Licence.PERMITTED and not note:
        raise VersionError(
            Sentence("Say who permitted it and when: the answer is kept.")
        )


def _note(job: PublishingJob, **news: str) -> None:
    """Write it down, unless another maker has taken over."""
    mine = PublishingJob.objects.filter(pk=job.pk, attempts=job.attempts)
    mine.filter(stage__in=PublishingJob.UNFINISHED).update(
        **news, seen_at=timezone.now()
    )


def _begins_again(job: PublishingJob) -> bool:
    if job.attempts >= MOST_ATTEMPTS:
        problem = Sentence(
            "It stopped its worker {n} times, so it is not tried again. "
            "The reason is in the log of the workers.",
            n=job.attempts,
        )
        note_failure(job=job, problem=problem)
        return False
    note_stage(job=job, stage=Stage.WAITING)
    return True
