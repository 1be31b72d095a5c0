"""The queue of background work, as tests look at it."""

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.models import Job, Run
from benchmarks.publishing.making import M, begin
from benchmarks.unattended import queue
from benchmarks.uploads.processing import jobs_of


def waiting(kind: str, **which: Any) -> QuerySet[Job]:
    """Return the jobs of a kind."""
    return Job.objects.filter(kind=kind, **which)


def failed(**which: Any) -> QuerySet[Job]:
    """Return the jobs that failed."""
    return Job.objects.filter(failures__gt=0, **which)


def make_due() -> None:
    """Let what was put off be due."""
    Job.objects.update(due_at=timezone.now())


def taken(made: M) -> M:
    """Take in hand what somebody asked for, as a worker does."""
    kind = queue.Kind(KINDS[type(made).__name__])
    begun = begin(type(made), queue._claim(kind, made.pk), ())
    assert begun is not None
    return begun


KINDS = {"PublishingJob": "publishing", "Review": "review", "Report": "report"}


def put_upload(run: Run, **fields: Any) -> None:
    """Have a run processed once more."""
    [job] = Job.objects.bulk_create(jobs_of([run]))
    Job.objects.filter(pk=job.pk).update(**fields)
