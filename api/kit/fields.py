"""Fields for single values that never convert types.

REST framework would read ``"12"``, ``" 12 "`` and ``true`` as numbers, and 3 as text,
but benchmark results must not be guessed.
"""

import re
import sys
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import orjson
from django.core.validators import RegexValidator
from rest_framework import serializers

from api.kit.strict_json import INT64, json_type_name
from benchmarks.errors import InvalidError
from benchmarks.text_validation import clean_text

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_NOTE_LENGTH = 20_000
UUID_TEXT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I | re.ASCII)
TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)
YEARS = range(1970, 2100)

ErrorMessages = dict[str, "StrOrPromise"]

ERROR_MESSAGES: ErrorMessages = {
    "required": "This is missing. Send it.",
    "null": "This may not be null. Leave it out if it is unknown.",
    "blank": "This may not be empty.",
    "max_length": "Send at most {max_length:,} characters.",
    "min_value": "Send a number of at least {min_value:,}.",
    "max_value": "Send a number of at most {max_value:,}.",
}


class StrictField:
    """Mixin for fields that reject values of other types.

    ``expected`` describes the valid values in the error message.
    """

    default_error_messages: ClassVar[ErrorMessages] = ERROR_MESSAGES
    expected = "a value"

    def reject(self, value: Any) -> None:
        raise serializers.ValidationError(
            f"Send {self.expected}, not {json_type_name(value)}."
        )


class Text(StrictField, serializers.CharField):
    """A JSON text, which is not changed.

    Line breaks, and spaces around the text, are refused unless it is ``multiline``.
    """

    expected = "text"

    def __init__(self, *, multiline: bool = False, **kwargs: Any) -> None:
        self.multiline = multiline
        kwargs.setdefault("max_length", MAX_NOTE_LENGTH)
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.reject(data)
        if not self.multiline and data != data.strip():
            raise serializers.ValidationError("Remove the spaces around this text.")
        return validate_text(data, multiline=self.multiline)


class RawOutput(StrictField, serializers.CharField):
    """The raw output of a program, with any characters and of any length."""

    expected = "text"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)
        # The parsers of output handle control characters and NUL.
        self.validators = []

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.reject(data)
        return str(data)


class Slug(Text):
    sentence = "Use letters a-z, digits, - and _ only."

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=100, **kwargs)
        # Not $, which also matches before a newline at the end.
        self.validators.append(RegexValidator(r"^[-a-zA-Z0-9_]+\Z", self.sentence))


class Pattern(Text):
    """A text that matches a regular expression; the error message has examples."""

    def __init__(self, pattern: str, examples: str, **kwargs: Any) -> None:
        super().__init__(max_length=kwargs.pop("max_length", 20), **kwargs)
        sentence = f"Send a text such as {examples}."
        # The group is required for patterns with alternatives.
        self.validators.append(RegexValidator(rf"^(?:{pattern})\Z", sentence))


class Number(StrictField, serializers.FloatField):
    """A JSON number that a 64-bit float represents with full precision."""

    expected = "a JSON number"

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.reject(data)
        number = float(data)
        if not isfinite(number):
            raise serializers.ValidationError("Send a finite number.")
        # Subnormal numbers have fewer digits.
        if number and abs(number) < sys.float_info.min:
            raise serializers.ValidationError(
                "This number is too small for a 64-bit float. Use a smaller unit."
            )
        return number


class WholeNumber(StrictField, serializers.IntegerField):
    expected = "a whole number"

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, float):
            raise serializers.ValidationError(
                "Send a whole number without a decimal point."
            )
        if isinstance(data, bool) or not isinstance(data, int):
            self.reject(data)
        if data not in INT64:
            raise serializers.ValidationError("This number does not fit into 64 bits.")
        return data


class Choice(StrictField, serializers.ChoiceField):
    """One of several values, which must have the same type and spelling."""

    expected = "one of the known values"

    def to_internal_value(self, data: Any) -> Any:
        for choice in self.choices:
            # The type is compared, because in Python 1 equals 1.0 and True.
            if type(data) is type(choice) and data == choice:
                return data
        choices = ", ".join(orjson.dumps(choice).decode() for choice in self.choices)
        raise serializers.ValidationError(f"Send one of {choices}.")


class Boolean(StrictField, serializers.BooleanField):
    """JSON true or false; other values such as 1 and "yes" are rejected."""

    expected = "true or false"

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.reject(data)
        return data


class UUIDText(StrictField, serializers.UUIDField):
    """A UUID of 36 characters, which remains text to store uploads unchanged."""

    expected = "a UUID as text"

    def to_internal_value(self, data: Any) -> str:  # type: ignore[override]  # stays text
        if not isinstance(data, str):
            self.reject(data)
        if not UUID_TEXT.fullmatch(data):
            raise serializers.ValidationError(
                "Send a UUID such as 6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b."
            )
        return data


class Timestamp(StrictField, serializers.DateTimeField):
    """A time with a time zone, which remains text to store uploads unchanged."""

    expected = "a time as text"
    example = "2026-03-14T09:26:53+01:00"

    def to_internal_value(self, value: Any) -> str:  # type: ignore[override]  # stays text
        if not isinstance(value, str):
            self.reject(value)
        if TIMESTAMP.fullmatch(value):
            with suppress(ValueError, OverflowError):
                # The conversion to UTC may fail or leave the range of years.
                if datetime.fromisoformat(value).astimezone(UTC).year in YEARS:
                    return value
        raise serializers.ValidationError(
            f"Send a time with its time zone, such as {self.example}."
        )


def validate_text(text: str, *, multiline: bool = False) -> str:
    """Return a text; raise ValidationError for control and invisible characters."""
    try:
        return clean_text(text, multiline=multiline)
    except InvalidError as error:
        raise serializers.ValidationError(str(error)) from None
