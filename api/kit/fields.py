"""Single values: fields that take what was asked for, not what resembles it.

REST framework's own would read ``"12"``, ``" 12 "`` and ``true`` as numbers, 3 as text
and a text as a list; a benchmark's numbers must not be guessed.
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

from api.kit.parsing import INT64, kind
from benchmarks.errors import InvalidError
from benchmarks.text import clean_text

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_NOTE = 20_000
UUID_TEXT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I | re.ASCII)
TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)
YEARS = range(1970, 2100)

Messages = dict[str, "StrOrPromise"]

WORDS: Messages = {
    "required": "This is missing. Send it.",
    "null": "This may not be null. Leave it out if it is not known.",
    "blank": "This may not be empty.",
    "max_length": "Send at most {max_length:,} characters.",
    "min_value": "Send at least {min_value:,}.",
    "max_value": "Send at most {max_value:,}.",
}


class Strict:
    """What all fields share: the sentences, and a check instead of a conversion."""

    default_error_messages: ClassVar[Messages] = WORDS
    wanted = "a value"

    def refuse(self, value: Any) -> None:
        raise serializers.ValidationError(f"Send {self.wanted}, not {kind(value)}.")


class Text(Strict, serializers.CharField):
    """Text as it is: nothing is trimmed, and a number is no text.

    On one line without blanks around it, unless ``multiline``.
    """

    wanted = "text"

    def __init__(self, *, multiline: bool = False, **kwargs: Any) -> None:
        self.multiline = multiline
        kwargs.setdefault("max_length", MAX_NOTE)
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.refuse(data)
        if not self.multiline and data != data.strip():
            raise serializers.ValidationError("Remove the blanks around this text.")
        return checked_text(data, multiline=self.multiline)


class Printed(Strict, serializers.CharField):
    """What a program printed: any character, as long as the body may be."""

    wanted = "text"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)
        # The reader takes terminal control characters; NUL it refuses with a sentence.
        self.validators = []

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.refuse(data)
        return str(data)


class Slug(Text):
    """A short name fit for an address: letters, digits, - and _."""

    sentence = "Use letters a-z, digits, - and _ only."

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=100, **kwargs)
        # Not $: before a line break at the end it would match, too.
        self.validators.append(RegexValidator(r"^[-a-zA-Z0-9_]+\Z", self.sentence))


class Pattern(Text):
    """Text of one form, shown by examples."""

    def __init__(self, pattern: str, examples: str, **kwargs: Any) -> None:
        super().__init__(max_length=kwargs.pop("max_length", 20), **kwargs)
        sentence = f"Send a text such as {examples}."
        # In a group, for a pattern may be of alternatives.
        self.validators.append(RegexValidator(rf"^(?:{pattern})\Z", sentence))


class Number(Strict, serializers.FloatField):
    """A JSON number that a 64-bit float holds in full."""

    wanted = "a JSON number"

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.refuse(data)
        number = float(data)
        if not isfinite(number):
            raise serializers.ValidationError("Send a finite number.")
        # Below this a float has fewer digits than were sent.
        if number and abs(number) < sys.float_info.min:
            raise serializers.ValidationError(
                "This number is too small for a 64-bit float. Use a smaller unit."
            )
        return number


class WholeNumber(Strict, serializers.IntegerField):
    """A JSON number without a fraction."""

    wanted = "a whole number"

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, float):
            raise serializers.ValidationError("Send a whole number, without a point.")
        if isinstance(data, bool) or not isinstance(data, int):
            self.refuse(data)
        if data not in INT64:
            raise serializers.ValidationError("This does not fit into 64 bits.")
        return data


class Choice(Strict, serializers.ChoiceField):
    """One of a few values, of the same type and spelling."""

    wanted = "one of the known values"

    def to_internal_value(self, data: Any) -> Any:
        for choice in self.choices:
            # To Python 1 is equal to 1.0 and to true.
            if type(data) is type(choice) and data == choice:
                return data
        known = ", ".join(orjson.dumps(choice).decode() for choice in self.choices)
        raise serializers.ValidationError(f"Send one of {known}.")


class TrueOrFalse(Strict, serializers.BooleanField):
    """A JSON true or false; 1 and "yes" are none."""

    wanted = "true or false"

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.refuse(data)
        return data


class UUIDText(Strict, serializers.UUIDField):
    """A UUID in its 36-character form. It stays text: the upload is kept as it came."""

    wanted = "a UUID as text"

    def to_internal_value(self, data: Any) -> str:  # type: ignore[override]  # stays text
        if not isinstance(data, str):
            self.refuse(data)
        if not UUID_TEXT.fullmatch(data):
            raise serializers.ValidationError(
                "Send a UUID such as 6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b."
            )
        return data


class Timestamp(Strict, serializers.DateTimeField):
    """A moment with its time zone. It stays text: the upload is kept as it came."""

    wanted = "a moment as text"
    example = "2026-03-14T09:26:53+01:00"

    def to_internal_value(self, value: Any) -> str:  # type: ignore[override]  # stays text
        if not isinstance(value, str):
            self.refuse(value)
        if TIMESTAMP.fullmatch(value):
            with suppress(ValueError, OverflowError):
                # In UTC: its zone may move a moment out of all years.
                if datetime.fromisoformat(value).astimezone(UTC).year in YEARS:
                    return value
        raise serializers.ValidationError(
            f"Send a moment with its time zone, such as {self.example}."
        )


def checked_text(text: str, *, multiline: bool = False) -> str:
    """Return a text without invisible characters, or refuse it."""
    try:
        return clean_text(text, multiline=multiline)
    except InvalidError as error:
        raise serializers.ValidationError(str(error)) from None
