from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.kit.fields import (
    ERROR_MESSAGES,
    ErrorMessages,
    Number,
    StrictField,
    validate_text,
)
from api.kit.strict_json import json_type_name
from benchmarks.errors import closest_names, shorten

MAX_MAP_KEYS = 100
MAX_KEY_LENGTH = 100
MAX_SCALAR_LENGTH = 1_000
MAX_FACTS_BYTES = 256 * 1024


class ListOf(StrictField, serializers.ListField):
    expected = "a list"
    default_error_messages: ClassVar[ErrorMessages] = {
        **ERROR_MESSAGES,
        "empty": "Send at least one item.",
        "min_length": "Send at least {min_length:,} items.",
        "max_length": "Send at most {max_length:,} items.",
    }

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.reject(data)
        return super().to_internal_value(data)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "maxLength": MAX_SCALAR_LENGTH},
            {"type": "number"},
            {"type": "boolean"},
        ]
    }
)
class Scalar(StrictField, serializers.Field[Any, Any, Any, Any]):
    """A JSON text, number or boolean."""

    expected = "text, a number, true or false"

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool):
            return data
        if isinstance(data, str):
            if len(data) > MAX_SCALAR_LENGTH:
                raise serializers.ValidationError(
                    f"Send at most {MAX_SCALAR_LENGTH:,} characters."
                )
            return validate_text(data)
        if not isinstance(data, int | float):
            self.reject(data)
        # Integers remain integers. The parser has checked that they fit into 64 bits.
        return Number().to_internal_value(data) if isinstance(data, float) else data

    def to_representation(self, value: Any) -> Any:
        return value


class ScalarMap(StrictField, serializers.DictField):
    """A JSON object of scalars, such as the parameters of a benchmark."""

    child = Scalar()
    expected = "an object"

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.reject(data)
        if len(data) > MAX_MAP_KEYS:
            raise serializers.ValidationError(f"Send at most {MAX_MAP_KEYS} keys.")
        for key in data:
            if not 0 < len(key) <= MAX_KEY_LENGTH or key != key.strip():
                raise serializers.ValidationError(
                    f'The key "{shorten(key)}" must have 1 to {MAX_KEY_LENGTH} '
                    "characters and no spaces around it."
                )
            validate_text(key)
        return self.run_child_validation(data)


class JSONObject(StrictField, serializers.DictField):
    """A JSON object with any content of limited size."""

    expected = "an object"

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.reject(data)
        if len(orjson.dumps(data)) > MAX_FACTS_BYTES:
            raise serializers.ValidationError(
                f"Send an object of at most {MAX_FACTS_BYTES:,} bytes."
            )
        return data


def validate_document(
    serializer_class: "type[StrictSerializer]", document: Any
) -> dict[str, Any]:
    """Return the validated document; raise ValidationError with errors by path."""
    return serializer_class().run_validation(document)


class StrictSerializer(serializers.Serializer[Any]):
    """A JSON object with fixed keys; unknown keys are errors."""

    default_error_messages: ClassVar[ErrorMessages] = {
        **ERROR_MESSAGES,
        "invalid": "Send an object.",
    }

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError(
                f"Send an object, not {json_type_name(data)}."
            )
        if unknown := [name for name in data if name not in self.fields]:
            raise serializers.ValidationError(
                {
                    shorten(name): [self._unknown_key_message(name)]
                    for name in unknown[:10]
                }
            )
        return super().to_internal_value(data)

    def _unknown_key_message(self, name: str) -> str:
        if close := closest_names(name, self.fields):
            return f"This is not a known field. Did you mean {' or '.join(close)}?"
        return f"This is not a known field. Known fields: {', '.join(self.fields)}."
