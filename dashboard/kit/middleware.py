import logging
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.defaults import page_not_found

from benchmarks.errors import NotFoundError, RateLimitError, TooManyAttemptsError
from benchmarks.labs.member_sign_in_methods import lab_requiring_second_factor
from dashboard.kit.error_pages import database_unavailable_page

logger = logging.getLogger(__name__)


class MethodNotAllowedPageMiddleware:
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
    """Middleware that enforces the second factor in labs that require one.

    Members without a second factor can open only the pages in ``OPEN``, and their API
    requests are anonymous. Agent tokens are not affected.
    """

    OPEN = (
        "/account/",
        "/login/",
        "/logout/",
        "/static/",
        "/docs/",
        "/embed/",
        "/language/",
    )

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
