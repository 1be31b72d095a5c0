"""The errors the API raises itself; REST framework loads this before its views."""

from collections.abc import Mapping
from typing import Any

from rest_framework import exceptions

from api.kit.problems import Problem, listed

CHALLENGE = 'Token realm="virtlab"'


class ApiError(exceptions.APIException):
    """A refusal that knows its status, its code, and the fields it is about."""

    def __init__(self, detail: str, fields: Mapping[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.fields = dict(fields or {})

    def problem(self) -> Problem:
        """What to answer."""
        return Problem(
            self.status_code, self.default_code, str(self.detail), self.fields
        )


class MalformedError(ApiError):
    """The body cannot be read."""

    status_code = 400
    default_code = "malformed"


class InvalidError(ApiError):
    """The body or the query can be read but has not the shape asked for."""

    status_code = 400
    default_code = "invalid"


class TooLargeError(ApiError):
    """There is more of it than we take at once."""

    status_code = 413
    default_code = "too_large"


class EncodingRefusedError(ApiError):
    """The body comes in an encoding we do not unpack."""

    status_code = 415
    default_code = "unsupported_encoding"


class LinesRefusedError(ApiError):
    """Some lines of a bulk upload are wrong; nothing of it was stored."""

    default_code = "lines_refused"

    def __init__(self, problems: Mapping[int, Problem]) -> None:
        lines = sorted(problems)
        first = problems[lines[0]]
        count = "1 line is" if len(lines) == 1 else f"{len(lines):,} lines are"
        super().__init__(
            f"Nothing was stored: {count} wrong. Line {lines[0]}: {first.detail}",
            listed({f"line {line}": problems[line].body() for line in lines}),
        )
        self.status_code = min(problem.status for problem in problems.values())
