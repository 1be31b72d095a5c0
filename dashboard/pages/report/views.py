from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from benchmarks.jobs.queue import JobKind
from benchmarks.models import Report, Study
from benchmarks.publishing.generation_requests import request_report
from benchmarks.replica import from_primary
from benchmarks.studies.data_versions import study_version
from benchmarks.tasks import dispatch_jobs
from benchmarks.viewer import Viewer
from dashboard.exports.citation import Citation, citation_of, site_url
from dashboard.exports.report.builder import (
    ReportImprint,
    build_report,
    colophon,
    report_version,
)
from dashboard.kit.generation_progress import progress_context, wait_briefly
from dashboard.kit.page_cache import cached_by_version
from dashboard.kit.report_elements import ReportDocument
from dashboard.kit.routes import EMPTY_STUDY, REDIRECTED, page
from dashboard.kit.url_parts import STUDY_PATH
from dashboard.kit.viewers import signed_in_user, study_or_404, viewer_of

# Cached reports have no reader and no time; the view adds them to each response.
ANONYMOUS_IMPRINT = ReportImprint(
    created_at=datetime.min.replace(tzinfo=UTC), version="", created_for=""
)


@cached_by_version
def cached_report(viewer: Viewer, study: Study, citation: Citation) -> ReportDocument:
    return build_report(viewer, study, citation, ANONYMOUS_IMPRINT)


def show_report(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    version, citation = study_version(study), citation_of(request, study)
    username = request.user.get_username() if request.user.is_authenticated else ""
    imprint = ReportImprint(
        created_at=timezone.now(), version=settings.VERSION, created_for=username
    )
    document = cached_report(version, viewer, study, citation)
    context = {
        "study": study,
        "report": replace(document, colophon=colophon(imprint)),
        "version": f"{version} {sorted(viewer.lab_ids)}",
    }
    return render(request, "report/report.html", context)


@from_primary()
def download_report(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = study_or_404(viewer_of(request), lab, slug)
    job, must_generate = request_report(
        study=study,
        person=signed_in_user(request),
        site_url=site_url(request),
        content_digest=report_version(),
    )
    if must_generate:
        transaction.on_commit(partial(dispatch_jobs, JobKind.REPORT, job.pk))
    wait_briefly(job, "content")
    if job.stage != Report.Stage.DONE:
        return redirect("dashboard:report-progress", job.pk)
    return _file(job)


@from_primary()
def show_report_progress(request: HttpRequest, report_id: int) -> HttpResponse:
    job = _own_or_404(request, report_id)
    context = {"study": job.study, "job": job, "progress": progress_context(job)}
    return render(request, "report/report_progress.html", context)


@from_primary()
def download_finished_report(request: HttpRequest, report_id: int) -> HttpResponse:
    job = _own_or_404(request, report_id)
    if job.stage != Report.Stage.DONE:
        return redirect("dashboard:report-progress", job.pk)
    return _file(job)


def _own_or_404(request: HttpRequest, report_id: int) -> Report:
    reports = Report.objects.select_related("study__lab")
    readable = Q(person=signed_in_user(request)) | Q(person=None)
    job = get_object_or_404(reports.filter(readable), pk=report_id)
    study = job.study
    study_or_404(viewer_of(request), study.lab.slug, study.slug)
    return job


def _file(job: Report) -> HttpResponse:
    name = f'inline; filename="{job.study.slug}.pdf"'
    # After a change of the study, the same URL returns another file.
    headers = {"Content-Disposition": name, "Cache-Control": "private, no-cache"}
    content = bytes(job.content)
    return HttpResponse(content, content_type="application/pdf", headers=headers)


urlpatterns = [
    page(
        f"{STUDY_PATH}report/",
        show_report,
        "report",
        example_urls=("", f"{EMPTY_STUDY}report/"),
    ),
    page(
        f"{STUDY_PATH}report.pdf",
        download_report,
        "report-pdf",
        kind="file",
        member_statuses=REDIRECTED,
    ),
    page("reports/<int:report_id>/", show_report_progress, "report-progress"),
    page(
        "reports/<int:report_id>.pdf",
        download_finished_report,
        "report-file",
        kind="file",
        member_statuses=REDIRECTED,
    ),
]
