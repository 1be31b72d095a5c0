"""One shape for every error: ``{"code", "detail", "fields"}`` and the right status."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from benchmarks.database import sqlstate, was_away
from benchmarks.errors import (
    TOOK_TOO_LONG,
    BenchmarksError,
    MalformedError,
    TooLargeError,
)

CHALLENGE = 'Token realm="virtlab"'
MAX_LISTED = 100
RETRY_AFTER_S = 2


@dataclass(frozen=True)
class Problem:
    """The status, body and headers of an error's answer."""

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
        fields = exc.fields or ({exc.field: [str(exc)]} if exc.field else {})
        headers = {"WWW-Authenticate": CHALLENGE} if exc.status == 401 else {}
        if exc.wait_s is not None:
            headers = {"Retry-After": str(exc.wait_s)}
        return Problem(exc.status, exc.code, str(exc), fields, headers)
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
    return Problem(400, "invalid", sentence, listed(fields))


class LinesRefusedError(BenchmarksError):
    """Some lines of a bulk upload are wrong; nothing of it was stored."""

    def __init__(self, problems: Mapping[int, Problem]) -> None:
        lines = sorted(problems)
        first = problems[lines[0]]
        count = "1 line is" if len(lines) == 1 else f"{len(lines):,} lines are"
        super().__init__(
            "lines_refused",
            f"Nothing was stored: {count} wrong. Line {lines[0]}: {first.detail}",
        )
        self.fields = listed({f"line {line}": problems[line].body() for line in lines})
        self.status = min(problem.status for problem in problems.values())


def malformed(text: str) -> MalformedError:
    """Return the error of a body that cannot be read."""
    return MalformedError("malformed", text)


def too_large(text: str) -> TooLargeError:
    """Return the error of a body that is larger than a limit."""
    return TooLargeError("too_large", text)


def listed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The first of many: a thousand wrong samples need no thousand sentences."""
    return dict(list(fields.items())[:MAX_LISTED])


def flat_fields(detail: Any) -> dict[str, list[str]]:
    """Return REST framework's nested errors by path: ``samples[3].value``."""
    found: dict[str, list[str]] = {}
    for path, sentence in _sentences(detail, ""):
        found.setdefault(path, []).append(sentence)
    return found


def summary(fields: Mapping[str, list[str]], what: str) -> str:
    """One sentence for people who read only one."""
    path, sentences = next(iter(fields.items()))
    first = f"{path}: {sentences[0]}" if path else sentences[0]
    if len(fields) == 1:
        return first
    return f"{what} has {len(fields):,} problems. The first is {first}"


def member_path(path: str, name: str | int) -> str:
    """The path of a member: ``samples`` and 3 give ``samples[3]``."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _sentences(detail: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            whole = name == "non_field_errors"
            yield from _sentences(inner, path if whole else member_path(path, name))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            # Two kinds of lists: sentences about one value, and errors by member.
            nested = isinstance(inner, Mapping)
            yield from _sentences(inner, member_path(path, index) if nested else path)
    else:
        yield path, str(detail)
