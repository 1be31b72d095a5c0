"""Strict JSON: the parser of request bodies, and the renderer of answers."""

import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import IO, Any

import orjson
from django.http import HttpRequest
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from api.kit import bodies
from api.kit.errors import malformed, member_path, too_large
from benchmarks.errors import InvalidError, shorten
from benchmarks.text import clean_text

MAX_DEPTH = 32
MAX_KEYS = 10_000
# Any body of so many is read in less than three seconds: a test takes the worst.
MAX_VALUES = 1_000_000
INT64 = range(-(2**63), 2**63)

NOT_A_NUMBER = re.compile(r"[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)
# Cheap signs that the slow checks are needed at all.
ODD_TEXT = re.compile(
    rb"\\[ubf]|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
)
TINY = re.compile(rb"[eE]-0*\d{3}|0\.0{300}")

Members = Iterator[tuple[str | int, Any]]


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
        assert parser_context is not None, "REST framework always passes the context"
        body = request_body(stream, parser_context["request"])
        return read_object(body, self.as_printed)


class PrintedJSONParser(StrictJSONParser):
    """Read a JSON object whose ``output`` is what a program printed, unchanged."""

    as_printed = ("output",)


class ORJSONRenderer(BaseRenderer):
    """Write an answer as UTF-8 JSON.

    orjson prints the shortest text that reads back as the same float, and has no way
    to print NaN or Infinity, so what we send is always JSON.
    """

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        if data is None:
            return b""
        try:
            return orjson.dumps(data, default=_plain)
        except TypeError:
            return orjson.dumps(_as_floats(data), default=_plain)


def _as_floats(data: Any) -> Any:
    """Return what was stored as 1.7e308 as that again.

    PostgreSQL keeps numbers of JSON with all their digits, and gives it back as an
    integer, longer than orjson writes any.
    """
    if isinstance(data, dict):
        return {name: _as_floats(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_as_floats(value) for value in data]
    is_long = type(data) is int and not -(1 << 63) <= data < 1 << 64
    return float(data) if is_long else data


def request_body(stream: IO[Any], request: HttpRequest) -> bytes:
    """Return the unpacked body of a request, or refuse it."""
    body = bodies.read_body(stream, request)
    check_size(body)
    return body


def _plain(value: Any) -> Any:
    """What REST framework hands over besides JSON's own types."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def check_size(raw: bytes) -> None:
    """Refuse a body of so many values that reading it would hold up everybody."""
    # Signs within texts count, too: it is an upper bound, and needs no parsing.
    if raw.count(b",") + raw.count(b"{") + raw.count(b"[") > MAX_VALUES:
        raise too_large(
            f"The body holds more than {MAX_VALUES:,} values. "
            "Split it into several uploads."
        )


def read_object(raw: bytes, as_printed: Collection[str] = ()) -> dict[str, Any]:
    """Return the JSON object in ``raw``; every float and integer in it is exact.

    Members named in ``as_printed`` are what a program wrote to its terminal: their
    texts may hold any character.
    """
    document = _parsed(_decoded(raw), tiny_numbers=bool(TINY.search(raw)))
    if not isinstance(document, dict):
        raise malformed(f"The body is {kind(document)}. Send a JSON object.")
    stated = {
        name: value
        for name, value in document.items()
        if not (name in as_printed and isinstance(value, str))
    }
    check_values(stated, odd_text=bool(ODD_TEXT.search(raw)))
    return document


def kind(value: Any) -> str:
    """What a value is called in JSON, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return "a number"
    return "an object" if isinstance(value, dict) else "a list"


def _decoded(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise malformed(
            f"Byte {error.start + 1} of the body is not UTF-8. Save it as UTF-8."
        ) from None
    if text.startswith("\ufeff"):
        raise malformed(
            "The body begins with a byte order mark. Save it as UTF-8 without one."
        )
    if not text.strip(" \t\r\n"):
        raise malformed("The body is empty. Send a JSON object.")
    return text


def _parsed(text: str, tiny_numbers: bool) -> Any:
    """Parse twice: orjson is strict on grammar, json shows doubles and big integers."""
    try:
        orjson.loads(text)
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_float=_not_too_small if tiny_numbers else None,
        )
    except orjson.JSONDecodeError as error:
        raise malformed(_sentence(error)) from None
    except RecursionError:
        raise malformed(_too_deep("the body")) from None


def _sentence(error: json.JSONDecodeError) -> str:
    place = f"line {error.lineno}, column {error.colno}"
    # orjson tells what is wrong in words only: of -inf that a digit is missing.
    if NOT_A_NUMBER.match(error.doc, error.pos) or error.msg.startswith("no digit"):
        return (
            f"JSON has no NaN and no Infinity ({place}). "
            "Leave out what was not measured."
        )
    if "infinity" in error.msg:
        return f"The number at {place} is too large for a 64-bit float."
    if "depth" in error.msg:
        return _too_deep("the body")
    if "surrogate" in error.msg:
        return f"The text at {place} holds half of a surrogate pair. Remove it."
    return f"The body is not JSON: {error.msg} at {place}."


def _too_deep(path: str) -> str:
    return f"There are more than {MAX_DEPTH} levels at {path}. Nest less."


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        name = counts.most_common(1)[0][0]
        raise malformed(
            f'The key "{shorten(name)}" stands twice in one object. Keep one of them.'
        )
    return members


def _not_too_small(text: str) -> float:
    number = float(text)
    # 0e-999 is 0 and loses nothing: only a digit before the exponent can be lost.
    if abs(number) < sys.float_info.min and re.match("[^eE]*[1-9]", text):
        raise malformed(
            f"The number {shorten(text)} is too small for a 64-bit float. "
            "Send it in a smaller unit."
        )
    return number


def _members(container: Any) -> Members:
    return iter(container.items() if type(container) is dict else enumerate(container))


def check_values(document: dict[str, Any], odd_text: bool) -> None:
    """Walk all values without recursion, whatever the nesting."""
    # Iterators: behind a nested value the outer level goes on where it was left.
    levels = [_members(document)]
    names: list[str | int] = [""]
    _check_keys(document, [], odd_text)
    while levels:
        for name, value in levels[-1]:
            names[-1] = name
            if type(value) is dict or type(value) is list:
                if len(names) >= MAX_DEPTH:
                    raise malformed(_too_deep(_path(names)))
                if type(value) is dict:
                    _check_keys(value, names, odd_text)
                levels.append(_members(value))
                names.append("")
                break
            if type(value) is int and value not in INT64:
                raise malformed(
                    f"The whole number at {_path(names)} does not fit into 64 bits. "
                    "Send it as a float or in a larger unit."
                )
            if odd_text and type(value) is str:
                _check_text(value, "text", names)
        else:
            levels.pop()
            names.pop()


def _check_keys(container: dict[str, Any], names: list[Any], odd_text: bool) -> None:
    if len(container) > MAX_KEYS:
        place = _path(names) or "the body"
        raise too_large(
            f"The object at {place} has {len(container):,} keys; "
            f"at most {MAX_KEYS:,} are read."
        )
    if odd_text:
        for key in container:
            _check_text(key, "key", names)


def _check_text(text: str, what: str, names: list[Any]) -> None:
    try:
        clean_text(text, what=what, multiline=True)
    except InvalidError as error:
        place = _path(names) or "the body"
        raise malformed(f"At {place}: {error}") from None


def _path(names: Iterable[Any]) -> str:
    path = ""
    for name in names:
        path = member_path(path, shorten(name) if isinstance(name, str) else name)
    return shorten(path, 80)
