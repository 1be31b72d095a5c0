"""Values made of values: lists, maps, objects with known keys."""

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.kit.fields import WORDS, Messages, Number, Strict, checked_text
from api.kit.parsing import kind
from benchmarks.errors import closest, shorten

MAX_MAP_KEYS = 100
MAX_KEY = 100
MAX_SCALAR = 1_000
MAX_FACTS_BYTES = 256 * 1024


class ListOf(Strict, serializers.ListField):
    """A list; a text or an object is none."""

    wanted = "a list"
    default_error_messages: ClassVar[Messages] = {
        **WORDS,
        "empty": "Send at least one.",
        "min_length": "Send at least {min_length:,}.",
        "max_length": "Send at most {max_length:,}.",
    }

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.refuse(data)
        return super().to_internal_value(data)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "maxLength": MAX_SCALAR},
            {"type": "number"},
            {"type": "boolean"},
        ]
    }
)
class Scalar(Strict, serializers.Field[Any, Any, Any, Any]):
    """Text, a number, true or false."""

    wanted = "text, a number, true or false"

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool):
            return data
        if isinstance(data, str):
            if len(data) > MAX_SCALAR:
                raise serializers.ValidationError(
                    f"Send at most {MAX_SCALAR:,} characters."
                )
            return checked_text(data)
        if not isinstance(data, int | float):
            self.refuse(data)
        # Whole numbers stay whole: the parser has seen that they fit into 64 bits.
        return Number().to_internal_value(data) if isinstance(data, float) else data

    def to_representation(self, value: Any) -> Any:
        return value


class SmallMap(Strict, serializers.DictField):
    """Named values: parameters of a case, options of a system, factors of a study."""

    child = Scalar()
    wanted = "an object"

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.refuse(data)
        if len(data) > MAX_MAP_KEYS:
            raise serializers.ValidationError(f"Send at most {MAX_MAP_KEYS} keys.")
        for key in data:
            if not 0 < len(key) <= MAX_KEY or key != key.strip():
                raise serializers.ValidationError(
                    f'The key "{shorten(key)}" needs 1 to {MAX_KEY} characters '
                    "and no blanks around it."
                )
            checked_text(key)
        return self.run_child_validation(data)


class JSONObject(Strict, serializers.DictField):
    """A JSON object of any inner shape, bounded in size."""

    wanted = "an object"

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.refuse(data)
        if len(orjson.dumps(data)) > MAX_FACTS_BYTES:
            raise serializers.ValidationError(
                f"Send at most {MAX_FACTS_BYTES:,} bytes here."
            )
        return data


def checked(shape: "type[StrictSerializer]", document: Any) -> dict[str, Any]:
    """Return a document in this shape, or raise what is wrong with it, by path."""
    return shape().run_validation(document)


class StrictSerializer(serializers.Serializer[Any]):
    """An object whose every key is known; a typo is named, not dropped."""

    default_error_messages: ClassVar[Messages] = {
        **WORDS,
        "invalid": "Send an object.",
    }

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError(f"Send an object, not {kind(data)}.")
        if unknown := [name for name in data if name not in self.fields]:
            raise serializers.ValidationError(
                {shorten(name): [self._unknown(name)] for name in unknown[:10]}
            )
        return super().to_internal_value(data)

    def _unknown(self, name: str) -> str:
        if close := closest(name, self.fields):
            return f"This is not known here. Did you mean {' or '.join(close)}?"
        return f"This is not known here. Known are: {', '.join(self.fields)}."
