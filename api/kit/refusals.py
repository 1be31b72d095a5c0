"""The errors the API raises itself; REST framework loads this before its views."""

# `rest_framework.views` loads the authentication of our settings, and that loads this
# module: what needs views stands in `errors`.
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rest_framework import exceptions

MAX_LISTED = 100


CHALLENGE = 'Token realm="virtlab"'


@dataclass(frozen=True)
class Problem:
    """An answer that is not what was asked for."""

    status: int
    code: str
    detail: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The one shape of every error."""
        return {"code": self.code, "detail": self.detail, "fields": dict(self.fields)}


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
            # REST framework has two lists: sentences about one value, and errors by
            # member.
            nested = isinstance(inner, Mapping)
            yield from _sentences(inner, member_path(path, index) if nested else path)
    else:
        yield path, str(detail)
