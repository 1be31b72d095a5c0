"""Requests for files that workers generate: reports, charts, versions and reviews."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from benchmarks import rls
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs
from benchmarks.models import ChartFile, GenerationRequest, Job, Report, Study
from benchmarks.studies.data_versions import study_version

GenerationT = TypeVar("GenerationT", bound=GenerationRequest)
Stage = GenerationRequest.Stage
MAX_STORED_FILES: Final[Mapping[type[GenerationRequest], int]] = {
    Report: 50,
    ChartFile: 200,
}


@rls.allow_all()
@transaction.atomic
def request_generation(
    kind: JobKind, request: GenerationRequest, study: Study | None = None
) -> None:
    Job.objects.filter(kind=kind, subject_id=request.pk).delete()
    lab_id = study.lab_id if study else None
    job = Job(kind=kind, subject_id=request.pk, study=study, lab_id=lab_id)
    job.dispatched_at = job.created_at
    queue.enqueue([job])


def claim_request(
    model: type[GenerationT],
    jobs: Jobs,
    related: Sequence[str] = ("study__lab", "person"),
) -> GenerationT | None:
    """Mark the request of these jobs as in progress and return it.

    Return None if it is finished or deleted.
    """
    rows = model._default_manager.filter(pk=jobs[0].subject_id)
    if not rows.exclude(stage=Stage.DONE).update(stage=Stage.COLLECTING):
        return None
    request = (rows.select_related(*related) if related else rows).get()
    request.claimed_jobs = jobs
    return request


@transaction.atomic
def set_stage(request: GenerationRequest, stage: str, **fields: object) -> None:
    """Store the stage of a request unless another worker has claimed its job."""
    if queue.are_claimed(request.claimed_jobs):
        rows = type(request)._default_manager.filter(pk=request.pk)
        rows.update(stage=stage, **fields)


@transaction.atomic
def request_report(
    *, study: Study, person: User | None, site_url: str, content_digest: str
) -> tuple[Report, bool]:
    """Return the report for a reader, and whether its generation was queued.

    ``content_digest`` covers day, product version and language.
    """
    reader = (
        study_version(study),
        person.pk if person else 0,
        site_url,
        content_digest,
    )
    stamp = hashlib.sha256(repr(reader).encode()).hexdigest()
    report, is_new = Report.objects.get_or_create(
        study=study,
        request_digest=stamp,
        defaults={"person": person, "site_url": site_url},
    )
    return report, _queue_if_needed(report, JobKind.REPORT, is_new, study)


@transaction.atomic
def request_chart_file(
    *, chart_data: Mapping[str, Any], file_format: str, site_url: str
) -> tuple[ChartFile, bool]:
    text = json.dumps([settings.VERSION, file_format, chart_data], sort_keys=True)
    stamp = hashlib.sha256(text.encode()).hexdigest()
    picture, is_new = ChartFile.objects.get_or_create(
        request_digest=stamp,
        defaults={
            "file_format": file_format,
            "chart_data": chart_data,
            "site_url": site_url,
        },
    )
    return picture, _queue_if_needed(picture, JobKind.CHART, is_new, None)


def _queue_if_needed(
    request: Report | ChartFile, kind: JobKind, is_new: bool, study: Study | None
) -> bool:
    """Queue a new or failed request; return whether it was queued.

    If so, delete the oldest surplus requests.
    """
    is_to_make = is_new or request.stage == Stage.FAILED
    request.requested_at = timezone.now()
    if is_to_make:
        request.stage = Stage.WAITING
        request_generation(kind, request, study)
        rows = type(request)._default_manager.exclude(pk=request.pk)
        rows = rows.order_by("-requested_at", "-pk")
        old = list(
            rows.values_list("pk", flat=True)[MAX_STORED_FILES[type(request)] - 1 :]
        )
        type(request)._default_manager.filter(pk__in=old).delete()
    request.save(update_fields=["stage", "requested_at"])
    return is_to_make


def record_report_failure(jobs: Jobs, error: str, is_final: bool) -> None:
    if is_final:
        model = Report if jobs[0].kind == JobKind.REPORT else ChartFile
        rows = model._default_manager.filter(pk=jobs[0].subject_id)
        rows.update(stage=Stage.FAILED)
