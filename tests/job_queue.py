"""Access to the background job queue for tests."""

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.jobs import queue
from benchmarks.models import Job, Run
from benchmarks.publishing.generation_requests import GenerationT, claim_request
from benchmarks.uploads.processing import reprocessing_jobs


def waiting(kind: str, **which: Any) -> QuerySet[Job]:
    return Job.objects.filter(kind=kind, **which)


def failed(**which: Any) -> QuerySet[Job]:
    return Job.objects.filter(failures__gt=0, **which)


def make_due() -> None:
    """Make postponed jobs due."""
    Job.objects.update(due_at=timezone.now())


def claim(made: GenerationT) -> GenerationT:
    """Claim requested jobs, as a worker does."""
    kind = queue.JobKind(KINDS[type(made).__name__])
    begun = claim_request(type(made), queue._claim(kind, made.pk), ())
    assert begun is not None
    return begun


KINDS = {"PublishingJob": "publishing", "Review": "review", "Report": "report"}


def put_upload(run: Run, **fields: Any) -> None:
    """Queue the processing of a run again."""
    [job] = Job.objects.bulk_create(reprocessing_jobs([run]))
    Job.objects.filter(pk=job.pk).update(**fields)
