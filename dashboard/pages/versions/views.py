"""Snapshots: look at what was frozen, withdraw it, sign it."""

from functools import partial
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from benchmarks.errors import BenchmarksError, NotFoundError
from benchmarks.models import Lab, Membership, Snapshot
from benchmarks.publishing.version_lists import find_file, find_snapshot
from benchmarks.publishing.versions import sign_snapshot, withdraw_snapshot
from dashboard import wording
from dashboard.kit.addresses import CAMPAIGN
from dashboard.kit.signing_in import signed_in
from dashboard.kit.viewers import keeper_or_404, keeps, viewer_of
from dashboard.pages.versions import new
from dashboard.pages.versions.files import KINDS


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
    return render(request, "versions/version.html", context)


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
@signed_in
def withdraw(request: HttpRequest, snapshot_id: int) -> HttpResponse:
    """Withdraw a snapshot with a reason."""
    snapshot = _snapshot_or_404(request, snapshot_id)
    keeper_or_404(request, snapshot.lab_id)
    who = request.user.get_username()
    reason = request.POST.get("reason", "")
    withdrawing = partial(withdraw_snapshot, snapshot=snapshot, who=who, reason=reason)
    return _done(request, snapshot, withdrawing, _("The snapshot is withdrawn."))


@require_POST
@signed_in
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


urlpatterns = [
    path(f"{CAMPAIGN}freeze/", new.freeze, name="freeze"),
    path("freezings/<int:freezing_id>/", new.show_freezing, name="freezing"),
    path("snapshots/<int:snapshot_id>/", show, name="snapshot"),
    path("snapshots/<int:snapshot_id>.<slug:form>", download, name="snapshot-file"),
    path("snapshots/<int:snapshot_id>/withdraw/", withdraw, name="withdraw-snapshot"),
    path("snapshots/<int:snapshot_id>/sign/", sign, name="sign-snapshot"),
]
