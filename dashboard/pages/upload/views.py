"""The upload page: files are read at once, and stored when their place is chosen.

Nothing is held between the two: the browser sends the files again. A script sends one
file at a time and gets only what became of it; without scripts a form sends them all.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.errors import BenchmarksError
from benchmarks.labs.people import person_agent
from benchmarks.studies.saving import register_system
from dashboard import wording
from dashboard.kit.viewers import query_of, signed_in
from dashboard.pages.upload.file_requests import (
    bounded,
    is_from_script,
    keeps_its_page,
    part,
    previews,
    stored,
)
from dashboard.pages.upload.form import description, target
from dashboard.pages.upload.page import Place, place_of, system_choices, upload_page

Answer = Callable[[HttpRequest, Place], HttpResponse]


def for_uploaders(view: Answer) -> Callable[[HttpRequest], HttpResponse]:
    """Let through who may upload to the lab of the address; tell others why not."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        place = place_of(request.user, query_of(request).get("lab", ""))
        if place is not None and place.may_upload:
            return view(request, place)
        context = {"place": place}
        return render(request, "upload/refused.html", context, status=403)

    return checked


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@keeps_its_page
@signed_in
@bounded
@csrf_protect
@for_uploaders
def upload(request: HttpRequest, place: Place) -> HttpResponse:
    """Show the form; read the files that come with it, or store them.

    Exempt from the early check of the form's mark only so that a body's size is looked
    at before anything is read of it; ``csrf_protect`` checks the mark right after.
    """
    if request.method != "POST":
        return _answer(request, place, 200)
    if request.POST.get("do") == "store":
        return _store(request, place)
    found = list(previews(request))
    status = min((each.status for each in found), default=200)
    return _answer(request, place, status, previews=found)


def _store(request: HttpRequest, place: Place) -> HttpResponse:
    try:
        chosen = target(place.lab, request.POST.dict())
    except BenchmarksError as error:
        return _answer(
            request, place, error.status, problem=wording.said(error.sentence)
        )
    user = cast(AbstractBaseUser, request.user)
    agent = person_agent(lab=place.lab, user=user)
    outcomes = list(stored(request, agent, chosen))
    status = min((each.status for each in outcomes), default=200)
    return _answer(request, place, status, outcomes=outcomes)


def _answer(
    request: HttpRequest, place: Place, status: int, **context: Any
) -> HttpResponse:
    """Return what became of the files: alone to a script, on the page to a person."""
    if is_from_script(request):
        return part(request, status, **context)
    chosen = query_of(request) | request.POST.dict()
    page = upload_page(place.lab, chosen)
    context |= {"place": place, "page": page, "chosen": chosen}
    return render(request, "upload/upload.html", context, status=status)


@require_POST
@keeps_its_page
@signed_in
@for_uploaders
def add_system(request: HttpRequest, place: Place) -> HttpResponse:
    """Register a system on a host of the lab, and choose it."""
    try:
        said = description(place.lab, request.POST.dict())
        system, _ = register_system(lab=place.lab, description=said)
    except BenchmarksError as error:
        if is_from_script(request):
            return part(request, error.status, problem=wording.said(error.sentence))
        messages.error(request, wording.said(error.sentence))
        return redirect(place.address())
    if not is_from_script(request):
        return redirect(place.address(system=str(system.pk)))
    hosts = system_choices(place.lab)
    context = {"hosts": hosts, "chosen": str(system.pk)}
    return render(request, "upload/_systems.html", context)


urlpatterns = [
    path("upload/", upload, name="upload"),
    path("upload/systems/", add_system, name="upload-system"),
]
