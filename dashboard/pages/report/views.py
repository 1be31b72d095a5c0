"""The report of a study: a page to print, and a PDF that a task makes."""

from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_safe

from benchmarks.models import Report, Study
from benchmarks.publishing.reports import ask_report, revive
from benchmarks.studies.data_versions import study_version
from dashboard.exports.citation import citation_of, site_of
from dashboard.exports.report.building import Imprint, edition
from dashboard.kit.addresses import STUDY
from dashboard.kit.viewers import person_of, study_or_404, viewer_of
from dashboard.kit.waiting import progress_of, send, wait_a_moment
from dashboard.pages.report.keeping import kept_report
from dashboard.tasks import make_report


@require_safe
def show_report(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show a study's report as a page to print."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    version, citation = study_version(study), citation_of(request, study)
    who = request.user.get_username() if request.user.is_authenticated else ""
    imprint = Imprint(created_at=timezone.now(), version=settings.VERSION, who=who)
    said = kept_report(version, viewer, study, citation, imprint)
    context = {
        "study": study,
        "report": said,
        "version": f"{version} {sorted(viewer.lab_ids)}",
    }
    return render(request, "report/report.html", context)


@require_safe
def download_report(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Hand out a study's report as a PDF, or show how far its making is."""
    study = study_or_404(viewer_of(request), lab, slug)
    asked = _asked(request, study)
    wait_a_moment(asked, "content")
    if asked.stage != Report.Stage.DONE:
        return redirect("dashboard:report-making", asked.pk)
    return _file(asked)


@require_safe
def show_making(request: HttpRequest, report_id: int) -> HttpResponse:
    """Show how far a report is; the page looks again by itself until it is there."""
    asked = _own_or_404(request, report_id)
    if revive(asked):
        send(make_report, asked.pk)
    context = {"study": asked.study, "asked": asked, "at": progress_of(asked)}
    return render(request, "report/report_making.html", context)


@require_safe
def download_made(request: HttpRequest, report_id: int) -> HttpResponse:
    """Hand out the report that somebody waited for."""
    asked = _own_or_404(request, report_id)
    if asked.stage != Report.Stage.DONE:
        return redirect("dashboard:report-making", asked.pk)
    return _file(asked)


def _own_or_404(request: HttpRequest, report_id: int) -> Report:
    """Return a report that this reader asked for, of a study still to be seen.

    Who was not signed in when asking may be so now: such a report holds what is public.
    """
    reports = Report.objects.select_related("study__lab")
    whose = Q(person=person_of(request)) | Q(person=None)
    asked = get_object_or_404(reports.filter(whose), pk=report_id)
    study = asked.study
    study_or_404(viewer_of(request), study.lab.slug, study.slug)
    return asked


def _file(asked: Report) -> HttpResponse:
    name = f'inline; filename="{asked.study.slug}.pdf"'
    headers = {"Content-Disposition": name, "Cache-Control": "private, no-cache"}
    content = bytes(asked.content)
    return HttpResponse(content, content_type="application/pdf", headers=headers)


def _asked(request: HttpRequest, study: Study) -> Report:
    """Return the reader's report, and see to it that somebody makes it."""
    asked, is_to_make = ask_report(
        study=study,
        person=person_of(request),
        site=site_of(request),
        edition=edition(),
    )
    if is_to_make:
        transaction.on_commit(partial(send, make_report, asked.pk))
    return asked


urlpatterns = [
    path(f"{STUDY}report/", show_report, name="report"),
    path(f"{STUDY}report.pdf", download_report, name="report-pdf"),
    path("reports/<int:report_id>/", show_making, name="report-making"),
    path("reports/<int:report_id>.pdf", download_made, name="report-made"),
]
