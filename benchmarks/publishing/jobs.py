"""What is asked for and made by a worker: versions, reviews, reports and pictures."""

from collections.abc import Sequence
from typing import TypeVar

from django.contrib.auth.models import User
from django.db import transaction

from benchmarks import sight
from benchmarks.errors import InvalidError
from benchmarks.models import Job, Making, PublishingJob, Study, Version
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import study_version
from benchmarks.studies.lists import tally_of
from benchmarks.text import clean_text
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind

M = TypeVar("M", bound=Making)
Stage = Making.Stage


@sight.everything()
@transaction.atomic
def order(kind: Kind, made: Making, study: Study | None = None) -> None:
    """Have something made, by one worker and anew where it was tried before."""
    Job.objects.filter(kind=kind, subject_id=made.pk).delete()
    lab_id = study.lab_id if study else None
    job = Job(kind=kind, subject_id=made.pk, study=study, lab_id=lab_id)
    # Whoever asks sends a worker.
    job.hinted_at = job.created_at
    queue.put([job])


def begin(
    model: type[M], jobs: Jobs, related: Sequence[str] = ("study__lab", "person")
) -> M | None:
    """Begin with what is to be made; None where it is done or was deleted.

    ``related`` is read with it.
    """
    rows = model._default_manager.filter(pk=jobs[0].subject_id)
    if not rows.exclude(stage=Stage.DONE).update(stage=Stage.COLLECTING):
        return None
    made = (rows.select_related(*related) if related else rows).get()
    made.jobs = jobs
    return made


@transaction.atomic
def note(made: Making, stage: str, **news: object) -> None:
    """Note how far it is, unless another worker has taken over."""
    if queue.are_mine(made.jobs):
        rows = type(made)._default_manager.filter(pk=made.pk)
        rows.update(stage=stage, **news)


def request_version(
    *, study: Study, person: User, site: str, licence: str, licence_note: str
) -> tuple[PublishingJob, bool]:
    """Note that a study is to be published as it is now; return whether that is new.

    One that is being published is not asked for again: its progress is shown. Raises
    InvalidError where runs still wait, or the question about licences is not answered.
    """
    answer = clean_text(
        licence_note.strip(), what=Sentence("answer about the licence"), multiline=True
    )
    if licence not in Version.Licence.values:
        raise InvalidError(
            "version",
            "Say whether a licence of these hypervisors restricts publishing.",
        )
    if licence == Version.Licence.PERMITTED and not answer:
        raise InvalidError(
            "version", "Say who permitted it and when: the answer is kept."
        )
    check_settled(study)
    with transaction.atomic():
        wanted, is_new = PublishingJob.objects.get_or_create(
            study=study,
            stage__in=PublishingJob.UNFINISHED,
            defaults={
                "person": person,
                "site": site,
                "licence": licence,
                "licence_note": answer,
                "data_version": study_version(study),
            },
        )
        if is_new:
            # Instead of those that failed.
            Job.objects.filter(kind=Kind.PUBLISHING, study=study).delete()
            order(Kind.PUBLISHING, wanted, study)
    return wanted, is_new


def note_publishing_failed(jobs: Jobs, error: str, is_final: bool) -> None:
    """Say on its page why this program did not publish a version."""
    rows = PublishingJob.objects.filter(
        pk=jobs[0].subject_id, stage__in=PublishingJob.UNFINISHED
    )
    if not is_final:
        rows.update(stage=Stage.WAITING)
        return
    problem = Sentence("The files could not be written. See the log of the workers.")
    if error == queue.STOPPED_ITS_WORKER:
        problem = Sentence(
            "It stopped its worker {n} times, so it is not tried again. "
            "The reason is in the log of the workers.",
            n=queue.QUARANTINE_AFTER,
        )
    rows.update(stage=Stage.FAILED, problem=problem)


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
