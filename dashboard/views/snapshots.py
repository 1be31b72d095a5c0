"""Snapshots: freeze a campaign, look at what was frozen, withdraw it, sign it."""

from functools import partial
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from benchmarks.errors import BenchmarksError, NotFoundError
from benchmarks.models import Campaign, Lab, Membership, Snapshot
from benchmarks.selectors.publishing import campaign_assessment
from benchmarks.selectors.snapshots import find_file, find_snapshot, visible_snapshots
from benchmarks.services.snapshots import (
    freeze_campaign,
    sign_snapshot,
    withdraw_snapshot,
)
from dashboard import wording
from dashboard.citing import site_of
from dashboard.snapshot_files import KINDS, snapshot_files
from dashboard.viewers import campaign_or_404, keeper_or_404, keeps, viewer_of


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def freeze(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Ask what must be answered before a campaign is frozen, and freeze it."""
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    keeper_or_404(request, campaign.lab_id)
    if request.method == "POST":
        try:
            snapshot = _frozen(request, campaign)
        except BenchmarksError as error:
            return _freeze_page(
                request, campaign, problem=wording.said(error.sentence), status=422
            )
        messages.success(request, _("The campaign is frozen. This address stays."))
        return redirect("dashboard:snapshot", snapshot.pk)
    return _freeze_page(request, campaign)


def _frozen(request: HttpRequest, campaign: Campaign) -> Snapshot:
    return freeze_campaign(
        campaign=campaign,
        person=cast(User, request.user),
        licence=request.POST.get("licence", ""),
        licence_note=request.POST.get("licence_note", ""),
        write=partial(snapshot_files, site=site_of(request)),
    )


def _freeze_page(
    request: HttpRequest, campaign: Campaign, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "campaign": campaign,
        "assessment": campaign_assessment(campaign),
        "snapshots": visible_snapshots(viewer_of(request), campaign),
        "problem": problem,
        "said": request.POST,
    }
    return render(request, "dashboard/snapshot_new.html", context, status=status)


@require_safe
def show(request: HttpRequest, snapshot_id: int) -> HttpResponse:
    """Show a snapshot: its files, how to cite it, who stands for it."""
    snapshot = _snapshot_or_404(request, snapshot_id)
    context = {
        "snapshot": snapshot,
        "campaign": snapshot.campaign,
        "citation": bytes(snapshot.files.get(form="bib").content).decode(),
        "may_keep": keeps(request, snapshot.lab_id),
        "reviewing": _reviewing(request, snapshot),
    }
    return render(request, "dashboard/snapshot.html", context)


@require_safe
def download(request: HttpRequest, snapshot_id: int, form: str) -> HttpResponse:
    """Hand out one form of a snapshot: the same bytes for ever."""
    try:
        file = find_file(viewer_of(request), snapshot_id, form)
    except NotFoundError as error:
        raise Http404(wording.said(error.sentence)) from error
    snapshot = file.snapshot
    name = f"{snapshot.campaign.slug}-{snapshot.number}.{form}"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "private, no-cache",
        "ETag": f'"{file.digest}"',
    }
    return HttpResponse(bytes(file.content), content_type=KINDS[form], headers=headers)


@require_POST
@login_required
def withdraw(request: HttpRequest, snapshot_id: int) -> HttpResponse:
    """Withdraw a snapshot with a reason."""
    snapshot = _snapshot_or_404(request, snapshot_id)
    keeper_or_404(request, snapshot.lab_id)
    who = request.user.get_username()
    reason = request.POST.get("reason", "")
    withdrawing = partial(withdraw_snapshot, snapshot=snapshot, who=who, reason=reason)
    return _done(request, snapshot, withdrawing, _("The snapshot is withdrawn."))


@require_POST
@login_required
def sign(request: HttpRequest, snapshot_id: int) -> HttpResponse:
    """Stand for another lab's snapshot."""
    snapshot = _snapshot_or_404(request, snapshot_id)
    asked = request.POST.get("lab", "")
    lab = next((lab for lab in _labs_of(request) if lab.slug == asked), None)
    if lab is None:
        raise Http404("There is no such lab, or it is not yours to sign for.")
    user, note = cast(User, request.user), request.POST.get("note", "")
    signing = partial(sign_snapshot, snapshot=snapshot, lab=lab, person=user, note=note)
    return _done(request, snapshot, signing, _("Your signature is kept."))


def _done(
    request: HttpRequest, snapshot: Snapshot, act: Any, success: str
) -> HttpResponse:
    try:
        act()
        messages.success(request, success)
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
    return redirect("dashboard:snapshot", snapshot.pk)


def _snapshot_or_404(request: HttpRequest, snapshot_id: int) -> Snapshot:
    try:
        return find_snapshot(viewer_of(request), snapshot_id)
    except NotFoundError as error:
        raise Http404(wording.said(error.sentence)) from error


def _labs_of(request: HttpRequest) -> list[Lab]:
    """Return the labs that the reader keeps."""
    if not request.user.is_authenticated:
        return []
    mine = Membership.objects.filter(user=request.user, role__in=Membership.KEEPERS)
    return [each.lab for each in mine.select_related("lab").order_by("lab__name")]


def _reviewing(request: HttpRequest, snapshot: Snapshot) -> list[Lab]:
    """Return the labs for which the reader may still sign."""
    signed = {each.lab_id for each in snapshot.signatures.all()} | {snapshot.lab_id}
    if snapshot.withdrawn_at:
        return []
    return [lab for lab in _labs_of(request) if lab.pk not in signed]
