"""Requests that bring files: bounded before they are read, then file by file."""

from collections.abc import Callable, Iterator
from functools import wraps
from time import monotonic
from typing import Any

from django.conf import settings
from django.core.exceptions import (
    RequestDataTooBig,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from benchmarks.models import Agent
from dashboard.pages.upload.archives import MAX_TOTAL_BYTES, MIB, Member, members
from dashboard.pages.upload.previews import (
    ROWS_SHOWN,
    Named,
    Preview,
    Room,
    later,
    preview,
)
from dashboard.pages.upload.storing import Outcome, store

View = Callable[[HttpRequest], HttpResponse]

# What a form adds to its files.
MARGIN_BYTES = MIB
NAME_LIMIT = 500
# After so long an answer begins with what was read; the rest is asked for again.
READING_S = 10


def bounded(view: View) -> View:
    """Answer 413 to a request that brings too much, before anything of it is read."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        if _stated_bytes(request) > MAX_TOTAL_BYTES + MARGIN_BYTES:
            return _too_large(request)
        try:
            return view(request)
        except (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent):
            return _too_large(request)

    return checked


def _stated_bytes(request: HttpRequest) -> int:
    """Django reads no further than this; a body without a length is not read at all."""
    text = request.META.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


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
    """Tell a script that its reader is signed out.

    It is not led to the sign-in page like others: the files are on the page it has.
    """

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated or not is_from_script(request):
            return view(request)
        return part(request, 401, problem=_("Not done: you are signed out."))

    return checked


def part(request: HttpRequest, status: int, **context: Any) -> HttpResponse:
    """Return what became of the files, without the page around it."""
    return render(request, "upload/_answer.html", context, status=status)


def previews(request: HttpRequest) -> Iterator[Preview]:
    """Yield what is read in each file that came, one file in memory at a time."""
    room, end = Room(ROWS_SHOWN), monotonic() + READING_S
    for member in _members(request):
        named = _named(request, member)
        is_late = monotonic() > end
        yield later(member, named) if is_late else preview(member, named, room)


def stored(
    request: HttpRequest, agent: Agent, target: dict[str, Any]
) -> Iterator[Outcome]:
    """Store each file that came, and yield what became of it."""
    for member in _members(request):
        named = _named(request, member)
        yield store(agent=agent, member=member, named=named, target=target)


def _members(request: HttpRequest) -> Iterator[Member]:
    """Yield the files, of a zip only those that were picked if any were."""
    picked = set(request.POST.getlist("pick"))

    def wanted(index: int) -> bool:
        return not picked or str(index) in picked

    for file in request.FILES.getlist("file"):
        name = _name(request, file)
        yield from members(name, file, settings.UPLOAD_LIMIT_BYTES, wanted)


def _name(request: HttpRequest, file: UploadedFile) -> str:
    """Return a file's name, with its folder where a script could tell it."""
    return (request.POST.get("name") or file.name or "")[:NAME_LIMIT]


def _named(request: HttpRequest, member: Member) -> Named:
    """Return what was said about this file, or about all of them."""

    def said(what: str) -> str:
        of_all = request.POST.get(what, "")
        return request.POST.get(f"{what}-{member.index}", of_all).replace("\0", "")

    return Named(tool=said("tool"), locale=said("locale"))
