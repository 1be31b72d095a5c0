"""The report of a study: a page to print, and a PDF that a task makes."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from benchmarks.models import Report, Study
from benchmarks.publishing.making import request_report
from benchmarks.replica import from_primary
from benchmarks.studies.data_versions import study_version
from benchmarks.tasks import send
from benchmarks.unattended.queue import Kind
from benchmarks.viewer import Viewer
from dashboard.exports.citation import Citation, citation_of, site_of
from dashboard.exports.report.building import Imprint, colophon, edition, report
from dashboard.kit.addresses import STUDY
from dashboard.kit.document import Document
from dashboard.kit.kept import kept
from dashboard.kit.routes import BARE, REDIRECT, page
from dashboard.kit.viewers import person_of, study_or_404, viewer_of
from dashboard.kit.waiting import progress_of, wait_a_moment

# The kept document names no reader and no moment: both are put in as it is shown.
NOBODY = Imprint(created_at=datetime.min.replace(tzinfo=UTC), version="", who="")


@kept
def kept_report(viewer: Viewer, study: Study, citation: Citation) -> Document:
    """Return a study's report, cached by the study's version."""
    return report(viewer, study, citation, NOBODY)


def show_report(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show a study's report as a page to print."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    version, citation = study_version(study), citation_of(request, study)
    who = request.user.get_username() if request.user.is_authenticated else ""
    imprint = Imprint(created_at=timezone.now(), version=settings.VERSION, who=who)
    document = kept_report(version, viewer, study, citation)
    context = {
        "study": study,
        # Only who asked for it when is new.
        "report": replace(document, colophon=colophon(imprint)),
        "version": f"{version} {sorted(viewer.lab_ids)}",
    }
    return render(request, "report/report.html", context)


@from_primary()
def download_report(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Hand out a study's report as a PDF, or show how far its making is."""
    study = study_or_404(viewer_of(request), lab, slug)
    job, is_to_make = request_report(
        study=study,
        person=person_of(request),
        site=site_of(request),
        edition=edition(),
    )
    if is_to_make:
        transaction.on_commit(partial(send, Kind.REPORT, job.pk))
    wait_a_moment(job, "content")
    if job.stage != Report.Stage.DONE:
        return redirect("dashboard:report-making", job.pk)
    return _file(job)


@from_primary()
def show_making(request: HttpRequest, report_id: int) -> HttpResponse:
    """Show how far a report is; the page looks again by itself until it is there."""
    job = _own_or_404(request, report_id)
    context = {"study": job.study, "job": job, "progress": progress_of(job)}
    return render(request, "report/report_making.html", context)


@from_primary()
def download_made(request: HttpRequest, report_id: int) -> HttpResponse:
    """Hand out the report that somebody waited for."""
    job = _own_or_404(request, report_id)
    if job.stage != Report.Stage.DONE:
        return redirect("dashboard:report-making", job.pk)
    return _file(job)


def _own_or_404(request: HttpRequest, report_id: int) -> Report:
    """Return a report that this reader, or an anonymous one, asked for."""
    reports = Report.objects.select_related("study__lab")
    whose = Q(person=person_of(request)) | Q(person=None)
    job = get_object_or_404(reports.filter(whose), pk=report_id)
    study = job.study
    study_or_404(viewer_of(request), study.lab.slug, study.slug)
    return job


def _file(job: Report) -> HttpResponse:
    name = f'inline; filename="{job.study.slug}.pdf"'
    # The address of a study's report has another file once the study has changed.
    headers = {"Content-Disposition": name, "Cache-Control": "private, no-cache"}
    content = bytes(job.content)
    return HttpResponse(content, content_type="application/pdf", headers=headers)


urlpatterns = [
    page(f"{STUDY}report/", show_report, "report", walked=("", f"{BARE}report/")),
    # A worker makes it; meanwhile the reader is redirected to a page that waits.
    page(
        f"{STUDY}report.pdf", download_report, "report-pdf", kind="file", own=REDIRECT
    ),
    page("reports/<int:report_id>/", show_making, "report-making"),
    page(
        "reports/<int:report_id>.pdf",
        download_made,
        "report-made",
        kind="file",
        own=REDIRECT,
    ),
]
