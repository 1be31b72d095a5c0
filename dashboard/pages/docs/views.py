"""The documents of `docs/`, and a search through them."""

from typing import Final

from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
)
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import cache_control

from dashboard.kit.routes import page
from dashboard.kit.viewers import query_of
from dashboard.pages.docs.manuals import FOLDER, PICTURE, found, html_of, manuals
from dashboard.wording import Text

SHELVES: Final[dict[Text, dict[str, Text]]] = {
    _("Begin"): {
        "quickstart": _("Upload your first runs, in two minutes."),
        "agents": _("Measure in a guest or on a host, with one file."),
        "lab": _("See real guests measured, without special hardware."),
    },
    _("Understand the numbers"): {
        "method": _("How every number is computed, with its sources."),
        "flags": _("What is flagged as impossible or implausible, and why."),
        "calibration": _("Cells whose truth is known, judged by the same code."),
        "tools": _("Which tools, metrics and units there are."),
    },
    _("Use the data"): {
        "api": _("Every address, error and limit of the REST API."),
        "data": _("The tables, and how they belong together."),
        "versions": _("Publish a version of a study, and cite it."),
    },
    _("Run an installation"): {
        "operations": _("Settings, backup, Compose, and what to do in trouble."),
        "reliability": _("What was tried, and how it went."),
        "performance": _("Uploads a second, beside what PostgreSQL allows."),
        "accessibility": _("Use it by keyboard, zoomed, or with a screen reader."),
        "pythons": _("Old ones and new ones."),
    },
}
"""What stands together, with what it is for; what is on no shelf is a decision."""


def show_docs(request: HttpRequest) -> HttpResponse:
    """Show all documents, or the parts of them that have some words."""
    asked = query_of(request).get("q", "").strip()
    books = manuals()
    shelves = {
        title: [(books[name], purpose) for name, purpose in shelf.items()]
        for title, shelf in SHELVES.items()
    }
    placed = {name for shelf in SHELVES.values() for name in shelf}
    shelves[_("Why it is built so")] = [
        (book, "") for name, book in books.items() if name not in placed
    ]
    context = {
        "asked": asked,
        "shelves": shelves,
        "found": found(asked) if asked else [],
    }
    return render(request, "docs/docs.html", context)


def show_manual(request: HttpRequest, name: str) -> HttpResponse:
    """Show one document."""
    if name not in manuals():
        raise Http404(_("There is no such document."))
    context = {"manual": manuals()[name], "html": html_of(name)}
    return render(request, "docs/manual.html", context)


@cache_control(public=True, max_age=3600)
def send_picture(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send a picture of a document."""
    for file in FOLDER.rglob(f"*{PICTURE}"):
        if file.relative_to(FOLDER).with_suffix("").as_posix() == name:
            return FileResponse(file.open("rb"))
    raise Http404(_("There is no such picture."))


urlpatterns = [
    page("docs/", show_docs, "docs", walked=("", "?q=runs")),
    page(
        "docs/<path:name>.png",
        send_picture,
        "manual_picture",
        kind="file",
        is_private=False,
    ),
    page(
        "docs/<path:name>/",
        show_manual,
        "manual",
        walked=("/docs/method/", "/docs/lab/"),
        is_private=False,
    ),
]
