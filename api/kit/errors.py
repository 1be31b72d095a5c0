"""Error responses: a status code, and ``{"code", "detail", "fields"}`` as the body."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from benchmarks.database import is_connection_error, sqlstate
from benchmarks.errors import (
    TIMEOUT_SQLSTATES,
    BenchmarksError,
    MalformedError,
    TooLargeError,
)

CHALLENGE = 'Token realm="virtlab"'
MAX_LISTED = 100
RETRY_AFTER_S = 2


@dataclass(frozen=True)
class Problem:
    status: int
    code: str
    detail: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        return {"code": self.code, "detail": self.detail, "fields": dict(self.fields)}


UNAVAILABLE = Problem(
    503,
    "database_unavailable",
    "The database is not responding. Repeat the request in a moment; that is safe.",
    headers={"Retry-After": str(RETRY_AFTER_S)},
)
BUSY = Problem(
    503,
    "query_timeout",
    "The query took too long and was stopped. Request less data, or repeat the "
    "request in a moment; that is safe.",
    headers={"Retry-After": str(RETRY_AFTER_S)},
)
INTERNAL_ERROR = Problem(
    500,
    "server_error",
    "An internal error occurred and was logged. It is safe to repeat the request.",
)

logger = logging.getLogger(__name__)

MESSAGES_BY_EXCEPTION: dict[type[exceptions.APIException], tuple[str, str]] = {
    exceptions.NotFound: (
        "not_found",
        "Not found, or you do not have permission to see it.",
    ),
    exceptions.MethodNotAllowed: ("method_not_allowed", ""),
    exceptions.UnsupportedMediaType: (
        "unsupported_media_type",
        "Send Content-Type: application/json, or application/x-ndjson to runs/bulk/.",
    ),
    exceptions.NotAcceptable: (
        "not_acceptable",
        "Responses are JSON only. Send Accept: application/json.",
    ),
}


def handle_exception(exc: Exception, context: Mapping[str, Any]) -> Response:
    request = context.get("request")
    problem = log_problem(exc, request.path if request is not None else "")
    return Response(problem.body(), status=problem.status, headers=problem.headers)


def log_problem(exc: Exception, path: str) -> Problem:
    """Return the error response for an exception; log it if it is a server error."""
    problem = problem_from_exception(exc)
    if problem.status >= 500:
        # The traceback of an unavailable database is of no use.
        traceback_source = exc if problem.status == 500 else None
        logger.error("%s failed: %s", path, exc, exc_info=traceback_source)
    return problem


def problem_from_exception(exc: Exception) -> Problem:
    if isinstance(exc, BenchmarksError):
        fields = exc.fields or ({exc.field: [str(exc)]} if exc.field else {})
        headers = {"WWW-Authenticate": CHALLENGE} if exc.status == 401 else {}
        if exc.retry_after_s is not None:
            headers = {"Retry-After": str(exc.retry_after_s)}
        return Problem(exc.status, exc.code, str(exc), fields, headers)
    if isinstance(exc, exceptions.ValidationError):
        return validation_problem(exc.detail)
    if is_connection_error(exc):
        return BUSY if sqlstate(exc) in TIMEOUT_SQLSTATES else UNAVAILABLE
    if isinstance(exc, Http404):
        exc = exceptions.NotFound()
    if isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied()
    if isinstance(exc, exceptions.APIException):
        code, sentence = MESSAGES_BY_EXCEPTION.get(type(exc), (exc.default_code, ""))
        headers = {"WWW-Authenticate": CHALLENGE} if exc.status_code == 401 else {}
        sentence = sentence or str(exc.detail)
        return Problem(exc.status_code, code, sentence, headers=headers)
    return INTERNAL_ERROR


def validation_problem(detail: Any, subject: str = "The request") -> Problem:
    """Return the response to validation errors; ``subject`` is what was validated."""
    fields = flatten_errors(detail)
    sentence = error_summary(fields, subject)
    # Errors without a path are only in the summary.
    fields.pop("", None)
    return Problem(400, "invalid", sentence, truncate_fields(fields))


class LinesRejectedError(BenchmarksError):
    """A bulk upload has invalid lines; nothing was stored."""

    def __init__(self, problems: Mapping[int, Problem]) -> None:
        lines = sorted(problems)
        first = problems[lines[0]]
        count_text = "1 line is" if len(lines) == 1 else f"{len(lines):,} lines are"
        super().__init__(
            "lines_rejected",
            f"Nothing was stored: {count_text} wrong. Line {lines[0]}: {first.detail}",
        )
        self.fields = truncate_fields(
            {f"line {line}": problems[line].body() for line in lines}
        )
        self.status = min(problem.status for problem in problems.values())


def malformed_error(text: str) -> MalformedError:
    return MalformedError("malformed", text)


def too_large_error(text: str) -> TooLargeError:
    return TooLargeError("too_large", text)


def truncate_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return dict(list(fields.items())[:MAX_LISTED])


def flatten_errors(detail: Any) -> dict[str, list[str]]:
    """Return REST framework's errors by path, such as ``samples[3].value``."""
    errors: dict[str, list[str]] = {}
    for path, sentence in _flatten(detail, ""):
        errors.setdefault(path, []).append(sentence)
    return errors


def error_summary(fields: Mapping[str, list[str]], subject: str) -> str:
    """Return a sentence with the number of errors and the first error."""
    path, sentences = next(iter(fields.items()))
    first = f"{path}: {sentences[0]}" if path else sentences[0]
    if len(fields) == 1:
        return first
    return f"{subject} has {len(fields):,} problems. The first is {first}"


def member_path(path: str, name: str | int) -> str:
    """Return the path of an item or a key, such as ``samples[3]`` for 3."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _flatten(detail: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            is_object_error = name == "non_field_errors"
            yield from _flatten(
                inner, path if is_object_error else member_path(path, name)
            )
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            # A list has either the messages about one value or the errors of each item.
            is_nested = isinstance(inner, Mapping)
            yield from _flatten(inner, member_path(path, index) if is_nested else path)
    else:
        yield path, str(detail)
