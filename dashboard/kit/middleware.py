"""Middleware, error pages, and the static files finder for Plotly."""

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

from benchmarks.database import is_connection_error, sqlstate
from benchmarks.errors import (
    TIMEOUT_SQLSTATES,
    NotFoundError,
    RateLimitError,
    TooManyAttemptsError,
)
from benchmarks.labs.sign_in_methods import lab_requiring_second_factor

logger = logging.getLogger(__name__)
RETRY_AFTER_S = 5
PLOTLY_STATIC_PATH = "vendor/plotly.min.js"
PLOTLY_PACKAGE_DATA = Path(plotly.__file__).parent / "package_data"


class MethodNotAllowedPageMiddleware:
    """Add a page to 405 responses without content."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != 405 or response.content:
            return response
        page = render(request, "405.html", status=405)
        # RFC 9110 requires this header.
        page["Allow"] = response["Allow"]
        return page


class SecondFactorMiddleware:
    """Enforce a second factor for members of labs that require one.

    Members without a second factor can open only the pages in ``OPEN``, and their API
    requests are anonymous. Agent tokens are not affected.
    """

    OPEN = ("/account/", "/login/", "/logout/", "/static/", "/docs/", "/embed/")

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_open = request.path.startswith(self.OPEN)
        if is_open or settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return self.get_response(request)
        user = request.user
        if not user.is_authenticated or lab_requiring_second_factor(user) is None:
            return self.get_response(request)
        if request.path.startswith("/api/"):
            request.user = AnonymousUser()
            return self.get_response(request)
        return redirect("dashboard:second-factors")


class ErrorPageMiddleware:
    """Return pages for errors that any view may raise."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, error: Exception
    ) -> HttpResponse | None:
        if isinstance(error, NotFoundError):
            return page_not_found(request, error)
        if isinstance(error, RateLimitError | TooManyAttemptsError):
            is_attempt = isinstance(error, TooManyAttemptsError)
            title = _("Too many attempts") if is_attempt else _("Too many requests")
            context = {"error": error, "title": title}
            page = render(request, "429.html", context, status=error.status)
            page["Retry-After"] = str(error.retry_after_s)
            page["Cache-Control"] = "no-store"
            return page
        return database_unavailable_page(error)


def server_error_page(request: HttpRequest) -> HttpResponse:
    """Return the page for an error outside of views."""
    # Django calls this view while it handles the exception.
    return database_unavailable_page(sys.exc_info()[1]) or server_error(request)


def database_unavailable_page(error: BaseException | None) -> HttpResponse | None:
    """Return the page for a missing or busy database; None for other errors.

    Rendering must not use the database, not even to load the user.
    """
    if not is_connection_error(error):
        return None
    logger.error("The database did not respond: %s", error)
    busy = sqlstate(error) in TIMEOUT_SQLSTATES
    page = render_to_string("503.html", {"is_busy": busy})
    headers = {"Retry-After": str(RETRY_AFTER_S), "Cache-Control": "no-store"}
    return HttpResponse(page, status=503, headers=headers)


class PlotlyFinder(BaseFinder):
    """Static files finder for ``vendor/plotly.min.js`` in Plotly's package."""

    def __init__(self, app_names: Any = None, *args: Any, **kwargs: Any) -> None:
        self.storage = FileSystemStorage(location=str(PLOTLY_PACKAGE_DATA))
        self.storage.prefix = "vendor"  # type: ignore[attr-defined]  # Django's own way

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path != PLOTLY_STATIC_PATH:
            return []
        file = str(PLOTLY_PACKAGE_DATA / Path(PLOTLY_STATIC_PATH).name)
        return [file] if find_all else file

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        yield Path(PLOTLY_STATIC_PATH).name, self.storage
