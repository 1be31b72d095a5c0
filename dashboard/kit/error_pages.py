import logging
import sys

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.defaults import server_error

from benchmarks.database import is_connection_error, sqlstate
from benchmarks.errors import TIMEOUT_SQLSTATES

logger = logging.getLogger(__name__)
RETRY_AFTER_S = 5


def server_error_page(request: HttpRequest) -> HttpResponse:
    # Django calls this view while it handles the exception.
    return database_unavailable_page(sys.exc_info()[1]) or server_error(request)


def bad_request_page(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(
        request,
        "400.html",
        {
            "has_too_many_fields": isinstance(exception, TooManyFieldsSent),
            "is_too_large": isinstance(exception, RequestDataTooBig),
            "max_fields": settings.DATA_UPLOAD_MAX_NUMBER_FIELDS,
            "max_bytes": settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        },
        status=400,
    )


def database_unavailable_page(error: BaseException | None) -> HttpResponse | None:
    """Return the page for a missing or busy database; None for other errors.

    Rendering must not use the database.
    """
    if not is_connection_error(error):
        return None
    logger.error("The database did not respond: %s", error)
    busy = sqlstate(error) in TIMEOUT_SQLSTATES
    page = render_to_string("503.html", {"is_busy": busy})
    headers = {"Retry-After": str(RETRY_AFTER_S), "Cache-Control": "no-store"}
    return HttpResponse(page, status=503, headers=headers)
