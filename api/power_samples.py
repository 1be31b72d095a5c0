"""The samples of a power log: many, so they are checked at once and not one by one."""

from math import isfinite
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.kit.fields import Strict

MAX_SAMPLES = 2_000
LATEST_US = 1 << 61


@extend_schema_field(
    {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_SAMPLES,
        "items": {"type": "array", "items": {"type": "number"}, "minItems": 2},
    }
)
class SamplesField(Strict, serializers.Field[Any, Any, Any, Any]):
    """Lists of a moment in whole microseconds and of numbers, in order of time."""

    wanted = "a list of samples"

    def to_internal_value(self, data: Any) -> list[list[float]]:
        if not isinstance(data, list):
            self.refuse(data)
        if not 0 < len(data) <= MAX_SAMPLES:
            raise serializers.ValidationError(f"Send 1 to {MAX_SAMPLES:,} samples.")
        before = -LATEST_US
        for place, sample in enumerate(data, start=1):
            if problem := _problem(sample, before):
                raise serializers.ValidationError(f"Sample {place}: {problem}")
            before = sample[0]
        return data

    def to_representation(self, value: Any) -> Any:
        return value


def _problem(sample: Any, before_us: int) -> str:
    """Say what is wrong with a sample; nothing if it is one."""
    if not isinstance(sample, list) or len(sample) < 2:
        return "send a list of a moment and one number for each channel."
    moment_us, *told = sample
    if not isinstance(moment_us, int) or isinstance(moment_us, bool):
        return "its moment is no whole number of microseconds."
    if not before_us < moment_us < LATEST_US:
        return "its moment is not after that of the sample before."
    if not all(_is_amount(each) for each in told):
        return "watts and joules are finite numbers, 0 or more."
    return ""


def _is_amount(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < 1e15 and isfinite(value)
