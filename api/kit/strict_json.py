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

from api.kit import body_limits
from api.kit.errors import malformed_error, member_path, too_large_error
from benchmarks.errors import InvalidError, shorten
from benchmarks.text_validation import clean_text

MAX_DEPTH = 32
MAX_KEYS = 10_000
# Parsing this many values takes less than three seconds, which a test checks.
MAX_VALUES = 1_000_000
INT64 = range(-(2**63), 2**63)

NOT_A_NUMBER = re.compile(r"[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)
# Fast searches in the body decide whether slow checks of its values are needed.
UNUSUAL_CHARACTERS = re.compile(
    rb"\\[ubf]|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
    rb"|\xef\xb7[\x90-\xaf]|\xbf[\xbe\xbf]"
)
SUBNORMAL_NUMBER = re.compile(rb"[eE]-0*\d{3}|0\.0{300}")

JsonMembers = Iterator[tuple[str | int, Any]]


class StrictJSONParser(BaseParser):
    media_type = "application/json"
    raw_text_fields: tuple[str, ...] = ()

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        assert parser_context is not None, "REST framework always passes the context"
        body = read_request_body(stream, parser_context["request"])
        return parse_json_object(body, self.raw_text_fields)


class RawOutputJSONParser(StrictJSONParser):
    """Parser of an object whose ``output`` may contain any characters."""

    raw_text_fields = ("output",)


class ORJSONRenderer(BaseRenderer):
    """Renderer of JSON in UTF-8. Floats are exact; NaN and Infinity become null."""

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
            return orjson.dumps(data, default=_to_json_type)
        except TypeError:
            return orjson.dumps(_as_floats(data), default=_to_json_type)


def _as_floats(data: Any) -> Any:
    """Convert integers that are too large for orjson to floats.

    PostgreSQL stores a float such as 1.7e308 in JSON with all digits, and they are then
    read as an integer.
    """
    if isinstance(data, dict):
        return {name: _as_floats(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_as_floats(value) for value in data]
    is_long = type(data) is int and not -(1 << 63) <= data < 1 << 64
    return float(data) if is_long else data


def read_request_body(stream: IO[Any], request: HttpRequest) -> bytes:
    body = body_limits.read_body(stream, request)
    check_value_count(body)
    return body


def _to_json_type(value: Any) -> Any:
    """Convert mappings and subclasses of str, which orjson refuses."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def check_value_count(raw: bytes) -> None:
    """Raise an error if a body has so many values that parsing it blocks others."""
    # An upper bound of the number of values: characters in texts are counted too.
    if raw.count(b",") + raw.count(b"{") + raw.count(b"[") > MAX_VALUES:
        raise too_large_error(
            f"The body contains more than {MAX_VALUES:,} values. "
            "Split it into several uploads."
        )


def parse_json_object(
    raw: bytes, raw_text_fields: Collection[str] = ()
) -> dict[str, Any]:
    """Return the JSON object, with exact numbers.

    ``raw_text_fields`` may contain any character.
    """
    document = _parse(_decode(raw), tiny_numbers=bool(SUBNORMAL_NUMBER.search(raw)))
    if not isinstance(document, dict):
        raise malformed_error(
            f"The body is {json_type_name(document)}. Send a JSON object."
        )
    checked_members = {
        name: value
        for name, value in document.items()
        if not (name in raw_text_fields and isinstance(value, str))
    }
    check_values(checked_members, has_unusual_text=bool(UNUSUAL_CHARACTERS.search(raw)))
    return document


def json_type_name(value: Any) -> str:
    """Return the JSON type of a value with its article, as in "a number"."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return "a number"
    return "an object" if isinstance(value, dict) else "a list"


def _decode(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise malformed_error(
            f"Byte {error.start + 1} of the body is not UTF-8. Save it as UTF-8."
        ) from None
    if text.startswith("\ufeff"):
        raise malformed_error(
            "The body begins with a byte order mark. Save it as UTF-8 without one."
        )
    if not text.strip(" \t\r\n"):
        raise malformed_error("The body is empty. Send a JSON object.")
    return text


def _parse(text: str, tiny_numbers: bool) -> Any:
    """Parse twice: orjson checks the grammar, and json finds repeated keys.

    With ``tiny_numbers``, json also checks numbers that might lose digits.
    """
    try:
        orjson.loads(text)
        return json.loads(
            text,
            object_pairs_hook=_unique_members,
            parse_float=_parse_float if tiny_numbers else None,
        )
    except orjson.JSONDecodeError as error:
        raise malformed_error(_syntax_error_message(error)) from None
    except RecursionError:
        raise malformed_error(_depth_message("the body")) from None


def _syntax_error_message(error: json.JSONDecodeError) -> str:
    position = f"line {error.lineno}, column {error.colno}"
    # orjson does not identify NaN and Infinity; for -inf it reports a missing digit.
    if NOT_A_NUMBER.match(error.doc, error.pos) or error.msg.startswith("no digit"):
        return (
            f"JSON does not allow NaN and Infinity ({position}). "
            "Omit values that were not measured."
        )
    if "infinity" in error.msg:
        return f"The number at {position} is too large for a 64-bit float."
    if "depth" in error.msg:
        return _depth_message("the body")
    if "surrogate" in error.msg:
        return f"The text at {position} contains half of a surrogate pair. Remove it."
    return f"The body is not valid JSON: {error.msg} at {position}."


def _depth_message(path: str) -> str:
    return f"The nesting at {path} has more than {MAX_DEPTH} levels. Reduce it."


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        name = counts.most_common(1)[0][0]
        raise malformed_error(
            f'The key "{shorten(name)}" appears twice in one object. Keep one of them.'
        )
    return members


def _parse_float(text: str) -> float:
    number = float(text)
    # 0e-999 is exactly 0, so it is valid: it has no digit that could be lost.
    if abs(number) < sys.float_info.min and re.match("[^eE]*[1-9]", text):
        raise malformed_error(
            f"The number {shorten(text)} is too small for a 64-bit float. "
            "Send it in a smaller unit."
        )
    return number


def _members(container: Any) -> JsonMembers:
    return iter(container.items() if type(container) is dict else enumerate(container))


def check_values(document: dict[str, Any], has_unusual_text: bool) -> None:
    """Raise an error for values that are nested too deeply, too large or not printable.

    The check is iterative, so no depth causes a RecursionError.
    """
    # One iterator per level, which continues after a nested value.
    levels = [_members(document)]
    names: list[str | int] = [""]
    _check_keys(document, [], has_unusual_text)
    while levels:
        for name, value in levels[-1]:
            names[-1] = name
            if type(value) is dict or type(value) is list:
                if len(names) >= MAX_DEPTH:
                    raise malformed_error(_depth_message(_path(names)))
                if type(value) is dict:
                    _check_keys(value, names, has_unusual_text)
                levels.append(_members(value))
                names.append("")
                break
            if type(value) is int and value not in INT64:
                raise malformed_error(
                    f"The whole number at {_path(names)} does not fit into 64 bits. "
                    "Send it as a float or in a larger unit."
                )
            if has_unusual_text and type(value) is str:
                _check_text(value, "text", names)
        else:
            levels.pop()
            names.pop()


def _check_keys(
    container: dict[str, Any], names: list[Any], has_unusual_text: bool
) -> None:
    if len(container) > MAX_KEYS:
        position = _path(names) or "the body"
        raise too_large_error(
            f"The object at {position} has {len(container):,} keys; "
            f"at most {MAX_KEYS:,} are allowed."
        )
    if has_unusual_text:
        for key in container:
            _check_text(key, "key", names)


def _check_text(text: str, label: str, names: list[Any]) -> None:
    try:
        clean_text(text, label=label, multiline=True)
    except InvalidError as error:
        position = _path(names) or "the body"
        raise malformed_error(f"At {position}: {error}") from None


def _path(names: Iterable[Any]) -> str:
    path = ""
    for name in names:
        path = member_path(path, shorten(name) if isinstance(name, str) else name)
    return shorten(path, 80)
