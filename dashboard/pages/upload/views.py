"""The upload page: files are previewed at once, and stored when confirmed.

Nothing is kept in between: the browser sends the files again.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import (
    RequestDataTooBig,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.comparing.missing import standings
from benchmarks.errors import BenchmarksError, TooFastError
from benchmarks.labs.people import person_agent
from benchmarks.labs.quotas import admit_lab_previews
from benchmarks.models import Study
from benchmarks.parsing.archives import MAX_TOTAL_BYTES, MIB
from benchmarks.studies.systems import register_system
from dashboard import wording
from dashboard.kit.addresses import id_in
from dashboard.kit.routes import DO_UPLOAD, UPLOAD, route
from dashboard.kit.viewers import query_of, signed_in, signed_in_person
from dashboard.pages.upload.files import NAME_LIMIT, guess, previews, stored
from dashboard.pages.upload.page import (
    Place,
    description,
    folder,
    place_of,
    system_choices,
    target,
    times,
    upload_page,
)

View = Callable[[HttpRequest], HttpResponse]
PlaceView = Callable[[HttpRequest, Place], HttpResponse]

# What a form adds to its files.
MARGIN_BYTES = MIB
MOST_SYSTEMS = 50


def bounded(view: View) -> View:
    """Answer 413 to a request that brings too much, before anything of it is read."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        # Django reads no further than this; without it, it reads nothing at all.
        text = request.META.get("CONTENT_LENGTH") or "0"
        is_number = text.isascii() and text.isdigit()
        # Nobody counts to nineteen digits, and Python takes its time with thousands.
        if is_number and (len(text) > 18 or int(text) > MAX_TOTAL_BYTES + MARGIN_BYTES):
            return _too_large(request)
        try:
            return view(request)
        except (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent):
            return _too_large(request)

    return checked


def _too_large(request: HttpRequest) -> HttpResponse:
    problem = _(
        "This is too much at once: at most %(total)s MiB and %(files)s files go into "
        "one upload. Send fewer files."
    ) % {
        "total": MAX_TOTAL_BYTES // MIB,
        "files": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
    }
    name = "_answer" if is_from_script(request) else "refused"
    return render(request, f"upload/{name}.html", {"problem": problem}, status=413)


def is_from_script(request: HttpRequest) -> bool:
    """Whether the page's own script asks, which wants a part of a page only."""
    return request.headers.get("X-Requested-With") == "XMLHttpRequest"


def keeps_its_page(view: View) -> View:
    """Answer 401 to a script, so that the page keeps its files; others sign in."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated or not is_from_script(request):
            return view(request)
        return part(request, 401, problem=_("Not done: you are signed out."))

    return checked


def part(request: HttpRequest, status: int, **context: Any) -> HttpResponse:
    """Return what became of the files, without the page around it."""
    return render(request, "upload/_answer.html", context, status=status)


def for_uploaders(view: PlaceView) -> Callable[[HttpRequest], HttpResponse]:
    """Let uploaders to the lab of the address through; tell others why not."""

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
# Before signed_in, which would lead the page's script to the sign-in page.
@keeps_its_page
@signed_in
@bounded
@csrf_protect
@for_uploaders
def upload(request: HttpRequest, place: Place) -> HttpResponse:
    """Show the form; preview the files that come with it, or store them.

    ``csrf_protect`` checks CSRF after ``bounded``, which runs before the body is read.
    """
    if request.method != "POST":
        return _answer(request, place, 200)
    if request.POST.get("do") == "standing":
        return _standing(request, place)
    if request.POST.get("do") != "store":
        files = request.FILES.getlist("file")
        size = sum(file.size or 0 for file in files)
        try:
            admit_lab_previews(place.lab.pk, files=len(files), size=size)
        except TooFastError as error:
            return _wait(request, place, error)
        if request.POST.get("do") == "folder":
            return _folder(request, place)
        read = list(previews(request, place.lab))
        # One file that can be read is an answer; the page says what each came to.
        status = min((preview["status"] for preview in read), default=200)
        return _answer(request, place, status, previews=read)
    try:
        chosen = target(place.lab, request.POST.dict())
        when = times(request.POST.dict())
    except BenchmarksError as error:
        problem = wording.said(error.sentence)
        return _answer(request, place, error.status, problem=problem)
    agent = person_agent(lab=place.lab, user=signed_in_person(request))
    outcomes = list(stored(request, agent, chosen, when))
    status = min((outcome["status"] for outcome in outcomes), default=200)
    return _answer(request, place, status, outcomes=outcomes)


def _folder(request: HttpRequest, place: Place) -> HttpResponse:
    """Ask for the system of a folder, with what its name and its files say."""
    name = request.POST.get("name", "").replace("\0", "")[:NAME_LIMIT]
    number, study = request.POST.get("place", ""), request.POST.get("study", "")
    asked = folder(place.lab, name, number, study, guess(request, name))
    return render(request, "upload/_folder.html", {"folder": asked})


def _standing(request: HttpRequest, place: Place) -> HttpResponse:
    """Say what the tests of the systems that were uploaded need for a verdict."""
    study = Study.objects.filter(
        lab=place.lab, slug=request.POST.get("study", ""), deleted_at=None
    ).first()
    if study is None:
        raise Http404("There is no such study.")
    ids = [id_in(text) for text in request.POST.getlist("systems")[:MOST_SYSTEMS]]
    context = {"study": study, "standings": standings(study, ids)}
    return render(request, "upload/_standing.html", context)


def _wait(request: HttpRequest, place: Place, error: TooFastError) -> HttpResponse:
    """Say that the lab previews too much at this moment, and when to go on."""
    answer = _answer(request, place, error.status, problem=wording.said(error.sentence))
    answer["Retry-After"] = str(error.wait_s)
    return answer


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
        stated = description(place.lab, request.POST.dict())
        system, _is_new = register_system(lab=place.lab, description=stated)
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
    route("upload/", upload, "upload", own=UPLOAD, nobody=302, is_private=True),
    route(
        "upload/systems/",
        add_system,
        "upload-system",
        kind="action",
        own=DO_UPLOAD,
        nobody=302,
        is_private=True,
    ),
]
