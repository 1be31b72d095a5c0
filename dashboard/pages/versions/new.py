"""Freeze a campaign: what is asked before, and how far a worker is with it."""

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

from benchmarks.errors import BenchmarksError, SnapshotError
from benchmarks.models import Campaign, Freezing
from benchmarks.publishing.jobs import ask_freezing, check_settled
from benchmarks.publishing.readiness import campaign_assessment
from benchmarks.publishing.version_lists import unfinished_freezing, visible_snapshots
from dashboard import wording
from dashboard.exports.citing import site_of
from dashboard.kit.signing_in import signed_in
from dashboard.kit.viewers import campaign_or_404, keeper_or_404, viewer_of
from dashboard.kit.waiting import progress_of, send, wait_a_moment
from dashboard.tasks import freeze as freeze_task


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def freeze(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Ask what must be answered before a campaign is frozen, and have it frozen."""
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    keeper_or_404(request, campaign.lab_id)
    if request.method == "POST":
        return _begin(request, campaign)
    if begun := unfinished_freezing(campaign):
        return redirect("dashboard:freezing", begun.pk)
    return _form(request, campaign, problem=_obstacle(campaign))


@require_safe
@signed_in
def show_freezing(request: HttpRequest, freezing_id: int) -> HttpResponse:
    """Show how far the freezing of a campaign is; the page looks again by itself."""
    freezings = Freezing.objects.select_related("campaign__lab", "person")
    asked = get_object_or_404(freezings, pk=freezing_id)
    keeper_or_404(request, asked.campaign.lab_id)
    if asked.snapshot_id:
        return _lead_to_snapshot(request, asked)
    context = {"campaign": asked.campaign, "asked": asked, "at": progress_of(asked)}
    return render(request, "versions/publishing.html", context)


def _begin(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    try:
        asked, is_new = ask_freezing(
            campaign=campaign,
            person=cast(User, request.user),
            site=site_of(request),
            licence=request.POST.get("licence", ""),
            licence_note=request.POST.get("licence_note", ""),
        )
    except BenchmarksError as error:
        problem = wording.said(error.sentence)
        return _form(request, campaign, problem=problem, status=422)
    if is_new:
        transaction.on_commit(partial(send, freeze_task, asked.pk))
    wait_a_moment(asked, "snapshot")
    if asked.snapshot_id:
        return _lead_to_snapshot(request, asked)
    return redirect("dashboard:freezing", asked.pk)


def _lead_to_snapshot(request: HttpRequest, asked: Freezing) -> HttpResponse:
    """Lead to what was frozen, also from a page that asked for a part of itself."""
    place = reverse("dashboard:snapshot", args=[asked.snapshot_id])
    is_part = "HX-Request" in request.headers
    if is_part or request.method == "POST":
        messages.success(request, _("The campaign is frozen. This address stays."))
    return HttpResponseClientRedirect(place) if is_part else redirect(place)


def _form(
    request: HttpRequest, campaign: Campaign, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "campaign": campaign,
        "assessment": campaign_assessment(campaign),
        "snapshots": visible_snapshots(viewer_of(request), campaign),
        "problem": problem,
        "said": request.POST or _said_in_vain(request, campaign),
    }
    return render(request, "versions/new.html", context, status=status)


def _obstacle(campaign: Campaign) -> str:
    """Return why the campaign cannot be frozen now, before the form is filled in."""
    try:
        check_settled(campaign)
    except SnapshotError as error:
        return wording.said(error.sentence)
    return ""


def _said_in_vain(request: HttpRequest, campaign: Campaign) -> Freezing | None:
    """Return what the reader answered last, if nothing came of it."""
    mine = campaign.freezings.filter(person=cast(User, request.user)).order_by("pk")
    last = mine.last()
    return last if last and last.stage == Freezing.Stage.FAILED else None
