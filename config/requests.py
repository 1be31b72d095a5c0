"""Count requests, give each an id, and set the user for row-level security."""

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.functional import SimpleLazyObject

from benchmarks import sight
from benchmarks.monitoring.counters import REQUEST_SECONDS, REQUESTS, SERVER_ERRORS
from benchmarks.monitoring.tracing import HEADER, given_id, traced

SERVER_ERROR: Final = 500
logger = logging.getLogger(__name__)
METHODS: Final = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


def requests(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Answer under the request's id, and count the response."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        begun = time.perf_counter()
        with traced(given_id(request.headers.get(HEADER, ""))) as request_id:
            response = get_response(request)
        response[HEADER] = request_id
        # For what Django logs of the answer, which is after this.
        vars(request)["request_id"] = request_id
        route = _route(request)
        # Names that somebody invents must not become counters.
        method = request.method if request.method in METHODS else "other"
        try:
            _count(route, method, response.status_code, time.perf_counter() - begun)
        except OSError as error:  # no room for a new process's counters: a full disk
            logger.warning("A request is not counted: %s", error)
        return response

    return answer


def persons(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Set `request.user` lazily; row-level security applies to the signed-in user."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        def known() -> Any:
            user = get_user(request)
            if user.is_authenticated:
                sight.see_as(user.pk)
            return user

        request.user = SimpleLazyObject(known)  # type: ignore[assignment]
        return get_response(request)

    return answer


def _count(route: str, method: str, status: int, took_s: float) -> None:
    REQUESTS.labels(route, method, status).inc()
    if status == SERVER_ERROR:
        SERVER_ERRORS.inc()
    REQUEST_SECONDS.labels(_kind(route)).observe(took_s)


def _route(request: HttpRequest) -> str:
    """Return the name of the matched URL pattern, so that labels are bounded."""
    if request.resolver_match:
        return request.resolver_match.view_name or "unnamed"
    is_static = request.path.startswith(settings.STATIC_URL)
    return "static" if is_static else "unknown"


def _kind(route: str) -> str:
    if route.startswith("api:"):
        return "api"
    return "static" if route == "static" else "page"
