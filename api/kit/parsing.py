"""What uploads are read with: strict JSON, and one strict JSON object per line."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser

from api.kit import bodies, strictness
from api.kit.problems import Problem
from api.kit.refusals import ApiError, LinesRefusedError, MalformedError, TooLargeError


@dataclass(frozen=True)
class Line:
    """One document of a bulk upload and where it stood, counted from 1."""

    number: int
    document: dict[str, Any]


class StrictJSONParser(BaseParser):
    """Read a JSON object."""

    media_type = "application/json"
    as_printed: tuple[str, ...] = ()

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        return read_document(_body(stream, parser_context), self.as_printed)


class PrintedJSONParser(StrictJSONParser):
    """Read a JSON object whose ``output`` is what a program printed, unchanged."""

    as_printed = ("output",)


class NDJSONParser(BaseParser):
    """Read one JSON object per line, each like the above; blank lines are skipped."""

    media_type = "application/x-ndjson"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return read_lines(_body(stream, parser_context))


def read_document(body: bytes, as_printed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the JSON object that is the body."""
    try:
        return strictness.read_object(body, as_printed)
    except strictness.StrictJSONError as error:
        raise _refusal(error) from None


def read_lines(body: bytes) -> list[Line]:
    """Return every line's document, or name every line that has none."""
    rows = _rows(body)
    found: list[Line] = []
    problems: dict[int, Problem] = {}
    for number, row in rows:
        try:
            found.append(Line(number, _printed_object(row)))
        except strictness.StrictJSONError as error:
            problems[number] = _refusal(error).problem()
    if problems:
        raise LinesRefusedError(problems)
    return found


def _printed_object(row: bytes) -> dict[str, Any]:
    return strictness.read_object(row, PrintedJSONParser.as_printed)


def _refusal(error: strictness.StrictJSONError) -> ApiError:
    wrong = TooLargeError if error.too_much else MalformedError
    return wrong(str(error))


def _rows(body: bytes) -> list[tuple[int, bytes]]:
    rows = [
        (number, row)
        for number, row in enumerate(body.split(b"\n"), start=1)
        if row.strip(b" \t\r")
    ]
    if not rows:
        raise MalformedError("The body is empty. Send one JSON object per line.")
    if len(rows) > settings.BULK_LIMIT_LINES:
        raise TooLargeError(
            f"The body has {len(rows):,} lines; at most "
            f"{settings.BULK_LIMIT_LINES:,} are taken at once. Split it."
        )
    return rows


def _body(stream: IO[Any], context: Mapping[str, Any] | None) -> bytes:
    assert context is not None, "REST framework always passes the context"
    body = bodies.read_body(stream, context["request"])
    try:
        strictness.check_size(body)
    except strictness.StrictJSONError as error:
        raise _refusal(error) from None
    return body
