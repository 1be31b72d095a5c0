"""Versions: look at what was frozen, withdraw it, sign it."""

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
from benchmarks.models import Lab, Membership, Version
from benchmarks.publishing.versions import (
    find_file,
    find_version,
    sign_version,
    withdraw_version,
)
from dashboard import wording
from dashboard.kit.addresses import STUDY
from dashboard.kit.viewers import keeper_or_404, keeps, signed_in, viewer_of
from dashboard.pages.versions import new
from dashboard.pages.versions.files import KINDS


@require_safe
def show(request: HttpRequest, version_id: int) -> HttpResponse:
    """Show a version: its files, how to cite it, who stands for it."""
    version = _version_or_404(request, version_id)
    context = {
        "version": version,
        "study": version.study,
        "citation": bytes(version.files.get(form="bib").content).decode(),
        "may_keep": keeps(request, version.lab_id),
        "reviewing": _reviewing(request, version),
    }
    return render(request, "versions/version.html", context)


@require_safe
def download(request: HttpRequest, version_id: int, form: str) -> HttpResponse:
    """Hand out one form of a version: the same bytes for ever."""
    try:
        file = find_file(viewer_of(request), version_id, form)
    except NotFoundError as error:
        raise Http404(wording.said(error.sentence)) from error
    version = file.version
    name = f"{version.study.slug}-{version.number}.{form}"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "private, no-cache",
        "ETag": f'"{file.digest}"',
    }
    return HttpResponse(bytes(file.content), content_type=KINDS[form], headers=headers)


@require_POST
@signed_in
def withdraw(request: HttpRequest, version_id: int) -> HttpResponse:
    """Withdraw a version with a reason."""
    version = _version_or_404(request, version_id)
    keeper_or_404(request, version.lab_id)
    who = request.user.get_username()
    reason = request.POST.get("reason", "")
    withdrawing = partial(withdraw_version, version=version, who=who, reason=reason)
    return _done(request, version, withdrawing, _("The version is withdrawn."))


@require_POST
@signed_in
def sign(request: HttpRequest, version_id: int) -> HttpResponse:
    """Stand for another lab's version."""
    version = _version_or_404(request, version_id)
    asked = request.POST.get("lab", "")
    lab = next((lab for lab in _labs_of(request) if lab.slug == asked), None)
    if lab is None:
        raise Http404("There is no such lab, or it is not yours to sign for.")
    user, note = cast(User, request.user), request.POST.get("note", "")
    signing = partial(sign_version, version=version, lab=lab, person=user, note=note)
    return _done(request, version, signing, _("Your signature is stored."))


def _done(
    request: HttpRequest, version: Version, act: Any, success: str
) -> HttpResponse:
    try:
        act()
        messages.success(request, success)
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
    return redirect("dashboard:version", version.pk)


def _version_or_404(request: HttpRequest, version_id: int) -> Version:
    try:
        return find_version(viewer_of(request), version_id)
    except NotFoundError as error:
        raise Http404(wording.said(error.sentence)) from error


def _labs_of(request: HttpRequest) -> list[Lab]:
    """Return the labs that the reader keeps."""
    if not request.user.is_authenticated:
        return []
    mine = Membership.objects.filter(user=request.user, role__in=Membership.KEEPERS)
    return [each.lab for each in mine.select_related("lab").order_by("lab__name")]


def _reviewing(request: HttpRequest, version: Version) -> list[Lab]:
    """Return the labs for which the reader may still sign."""
    signed = {each.lab_id for each in version.signatures.all()} | {version.lab_id}
    if version.withdrawn_at:
        return []
    return [lab for lab in _labs_of(request) if lab.pk not in signed]


urlpatterns = [
    path(f"{STUDY}publish/", new.publish, name="publish"),
    path("publishing/<int:job_id>/", new.show_publishing, name="publishing"),
    path("versions/<int:version_id>/", show, name="version"),
    path("versions/<int:version_id>.<slug:form>", download, name="version-file"),
    path("versions/<int:version_id>/withdraw/", withdraw, name="withdraw-version"),
    path("versions/<int:version_id>/sign/", sign, name="sign-version"),
]
