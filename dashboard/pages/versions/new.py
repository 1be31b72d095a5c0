"""Freeze a study: what is asked before, and how far a worker is with it."""

from functools import partial
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from benchmarks.errors import BenchmarksError, VersionError
from benchmarks.models import PublishingJob, Study
from benchmarks.publishing.jobs import check_settled, request_version
from benchmarks.publishing.readiness import study_assessment
from benchmarks.publishing.versions import unfinished_publishing_job, visible_versions
from dashboard import wording
from dashboard.exports.citation import site_of
from dashboard.kit.viewers import keeper_or_404, signed_in, study_or_404, viewer_of
from dashboard.kit.waiting import progress_of, send, wait_a_moment
from dashboard.tasks import publish_version as publish_task


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def publish(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Ask what must be answered before a study is frozen, and have it frozen."""
    study = study_or_404(viewer_of(request), lab, slug)
    keeper_or_404(request, study.lab_id)
    if request.method == "POST":
        return _begin(request, study)
    if begun := unfinished_publishing_job(study):
        return redirect("dashboard:publishing", begun.pk)
    return _form(request, study, problem=_obstacle(study))


@require_safe
@signed_in
def show_publishing(request: HttpRequest, job_id: int) -> HttpResponse:
    """Show how far the job of a study is; the page looks again by itself."""
    publishing_jobs = PublishingJob.objects.select_related("study__lab", "person")
    asked = get_object_or_404(publishing_jobs, pk=job_id)
    keeper_or_404(request, asked.study.lab_id)
    if asked.version_id:
        return _lead_to_version(request, asked)
    context = {"study": asked.study, "asked": asked, "at": progress_of(asked)}
    return render(request, "versions/publishing.html", context)


def _begin(request: HttpRequest, study: Study) -> HttpResponse:
    try:
        asked, is_new = request_version(
            study=study,
            person=cast(User, request.user),
            site=site_of(request),
            licence=request.POST.get("licence", ""),
            licence_note=request.POST.get("licence_note", ""),
        )
    except BenchmarksError as error:
        problem = wording.said(error.sentence)
        return _form(request, study, problem=problem, status=422)
    if is_new:
        transaction.on_commit(partial(send, publish_task, asked.pk))
    wait_a_moment(asked, "version")
    if asked.version_id:
        return _lead_to_version(request, asked)
    return redirect("dashboard:publishing", asked.pk)


def _lead_to_version(request: HttpRequest, asked: PublishingJob) -> HttpResponse:
    """Lead to what was frozen, also from a page that asked for a part of itself."""
    place = reverse("dashboard:version", args=[asked.version_id])
    is_part = "HX-Request" in request.headers
    if is_part or request.method == "POST":
        messages.success(
            request, _("The version is published. Its address is permanent.")
        )
    return HttpResponseClientRedirect(place) if is_part else redirect(place)


def _form(
    request: HttpRequest, study: Study, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "study": study,
        "assessment": study_assessment(study),
        "versions": visible_versions(viewer_of(request), study),
        "problem": problem,
        "said": request.POST or _said_in_vain(request, study),
    }
    return render(request, "versions/new.html", context, status=status)


def _obstacle(study: Study) -> str:
    """Return why the study cannot be frozen now, before the form is filled in."""
    try:
        check_settled(study)
    except VersionError as error:
        return wording.said(error.sentence)
    return ""


def _said_in_vain(request: HttpRequest, study: Study) -> PublishingJob | None:
    """Return what the reader answered last, if nothing came of it."""
    mine = study.publishing_jobs.filter(person=cast(User, request.user)).order_by("pk")
    last = mine.last()
    return last if last and last.stage == PublishingJob.Stage.FAILED else None
