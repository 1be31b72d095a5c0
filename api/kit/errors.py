"""One shape for every error: ``{"code", "detail", "fields"}`` and the right status."""

import logging
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from api.kit.refusals import (
    CHALLENGE,
    ApiError,
    InvalidError,
    Problem,
    flat_fields,
    listed,
    summary,
)
from benchmarks.database import sqlstate, was_away
from benchmarks.errors import TOOK_TOO_LONG, BenchmarksError, TooFastError

RETRY_AFTER_S = 2

UNAVAILABLE = Problem(
    503,
    "database_unavailable",
    "The database does not answer. Send the same again in a moment; that is safe.",
    headers={"Retry-After": str(RETRY_AFTER_S)},
)
BUSY = Problem(
    503,
    "took_too_long",
    "The database took too long for this and was stopped. Ask for less, or send the "
    "same again in a moment; that is safe.",
    headers={"Retry-After": str(RETRY_AFTER_S)},
)
UNFORESEEN = Problem(
    500,
    "server_error",
    "Something went wrong on our side and was logged. "
    "It is safe to send the same again.",
)

logger = logging.getLogger(__name__)

DETAILS: dict[type[exceptions.APIException], tuple[str, str]] = {
    exceptions.NotFound: (
        "not_found",
        "There is nothing here, or it is not yours to see.",
    ),
    exceptions.MethodNotAllowed: ("method_not_allowed", ""),
    exceptions.UnsupportedMediaType: (
        "unsupported_media_type",
        "Send Content-Type: application/json, or application/x-ndjson to runs/bulk/.",
    ),
    exceptions.NotAcceptable: (
        "not_acceptable",
        "Answers are JSON only. Send Accept: application/json.",
    ),
}


def answer(exc: Exception, context: Mapping[str, Any]) -> Response:
    """Turn whatever was raised in a view into an answer."""
    set_rollback()
    request = context.get("request")
    problem = logged_problem(exc, request.path if request is not None else "")
    return Response(problem.body(), status=problem.status, headers=problem.headers)


def logged_problem(exc: Exception, path: str) -> Problem:
    """Return what to say about an exception; log it if it is the server's."""
    problem = problem_of(exc)
    if problem.status >= 500:
        # A database that is away is not a mistake of ours: it needs no traceback.
        unforeseen = exc if problem.status == 500 else None
        logger.error("%s failed: %s", path, exc, exc_info=unforeseen)
    return problem


def problem_of(exc: Exception) -> Problem:
    """Return what to say about an exception, and nothing of our insides."""
    if isinstance(exc, BenchmarksError):
        fields = {exc.field: [str(exc)]} if exc.field else {}
        headers = {"WWW-Authenticate": CHALLENGE} if exc.status == 401 else {}
        if isinstance(exc, TooFastError):
            headers = {"Retry-After": str(exc.wait_s)}
        return Problem(exc.status, exc.code, str(exc), fields, headers)
    if isinstance(exc, ApiError):
        return exc.problem()
    if isinstance(exc, exceptions.ValidationError):
        return invalid(exc.detail)
    if was_away(exc):
        return BUSY if sqlstate(exc) in TOOK_TOO_LONG else UNAVAILABLE
    # Django's own become REST framework's: one sentence for both.
    if isinstance(exc, Http404):
        exc = exceptions.NotFound()
    if isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied()
    if isinstance(exc, exceptions.APIException):
        code, sentence = DETAILS.get(type(exc), (exc.default_code, ""))
        headers = {"WWW-Authenticate": CHALLENGE} if exc.status_code == 401 else {}
        sentence = sentence or str(exc.detail)
        return Problem(exc.status_code, code, sentence, headers=headers)
    return UNFORESEEN


def invalid(detail: Any, what: str = "The request") -> Problem:
    """What a serializer found, by path."""
    fields = flat_fields(detail)
    sentence = summary(fields, what)
    # What concerns the whole has no path: the sentence has told it.
    fields.pop("", None)
    return Problem(InvalidError.status_code, "invalid", sentence, listed(fields))
