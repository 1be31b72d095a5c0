"""What Django's settings name: pages for an empty 405 and for a database that is away
or busy, a second factor that a lab demands, the finder of Plotly's file."""

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import plotly
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.defaults import page_not_found, server_error

from benchmarks.database import sqlstate, was_away
from benchmarks.errors import (
    TOOK_TOO_LONG,
    NotFoundError,
    TooFastError,
    TooManyAttemptsError,
)
from benchmarks.labs.sign_ins import lab_that_waits_for

logger = logging.getLogger(__name__)
RETRY_AFTER_S = 5
SERVED = "vendor/plotly.min.js"
PACKAGE_DATA = Path(plotly.__file__).parent / "package_data"


class ButtonAddressMiddleware:
    """Give a page to an answer that would be a blank window.

    Some addresses only take what a button sends; opened, they say why they are empty.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != 405 or response.content:
            return response
        page = render(request, "405.html", status=405)
        # A 405 has to say what is allowed (RFC 9110).
        page["Allow"] = response["Allow"]
        return page


class SecondFactorMiddleware:
    """Ask for a second factor where a lab demands one of its members.

    Until it is set up a session opens nothing but the pages about it; for the API it is
    nobody's. Tokens of agents are no sessions.
    """

    # Their own account, the way out, and what pages are drawn with.
    OPEN = ("/account/", "/login/", "/logout/", "/static/", "/docs/", "/embed/")

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_open = request.path.startswith(self.OPEN)
        if is_open or settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return self.get_response(request)
        person = request.user
        if not person.is_authenticated or lab_that_waits_for(person) is None:
            return self.get_response(request)
        if request.path.startswith("/api/"):
            request.user = AnonymousUser()
            return self.get_response(request)
        return redirect("dashboard:factors")


class BusyMiddleware:
    """Answer with a page for errors that any view may raise: 404, 429 and 503."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, error: Exception
    ) -> HttpResponse | None:
        """Answer what a view could not; None for what is a mistake of ours."""
        if isinstance(error, NotFoundError):
            return page_not_found(request, error)
        if isinstance(error, TooFastError | TooManyAttemptsError):
            is_attempt = isinstance(error, TooManyAttemptsError)
            title = _("Too many attempts") if is_attempt else _("Too much at once")
            context = {"error": error, "title": title}
            page = render(request, "429.html", context, status=error.status)
            page["Retry-After"] = str(error.wait_s)
            page["Cache-Control"] = "no-store"
            return page
        return unavailable(error)


def show_broken(request: HttpRequest) -> HttpResponse:
    """Answer what broke outside of a view: with 503 where only the database is away."""
    # Django calls this while it handles the error.
    return unavailable(sys.exc_info()[1]) or server_error(request)


def unavailable(error: BaseException | None) -> HttpResponse | None:
    """Return the page for a database that is away or busy; None for another error.

    It asks the database for nothing: not even who reads it.
    """
    if not was_away(error):
        return None
    logger.error("The database did not answer: %s", error)
    busy = sqlstate(error) in TOOK_TOO_LONG
    page = render_to_string("503.html", {"is_busy": busy})
    headers = {"Retry-After": str(RETRY_AFTER_S), "Cache-Control": "no-store"}
    return HttpResponse(page, status=503, headers=headers)


class PlotlyFinder(BaseFinder):
    """Serve ``vendor/plotly.min.js`` from the wheel and nothing else of it.

    No CDN, and no copy of it in our repository.
    """

    def __init__(self, app_names: Any = None, *args: Any, **kwargs: Any) -> None:
        # The storage's files are named by the prefix; collectstatic puts it back.
        self.storage = FileSystemStorage(location=str(PACKAGE_DATA))
        self.storage.prefix = "vendor"  # type: ignore[attr-defined]  # Django's own way

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path != SERVED:
            return []
        file = str(PACKAGE_DATA / Path(SERVED).name)
        return [file] if find_all else file

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        yield Path(SERVED).name, self.storage
