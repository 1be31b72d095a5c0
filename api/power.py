from math import isfinite
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_200_OK, HTTP_202_ACCEPTED

from api.kit.composite_fields import (
    JSONObject,
    ListOf,
    StrictSerializer,
    validate_document,
)
from api.kit.fields import (
    Choice,
    Number,
    Slug,
    StrictField,
    Text,
    UUIDText,
    WholeNumber,
)
from api.kit.output_serializer import OutputSerializer
from api.kit.views import ListView
from benchmarks.models import Meter
from benchmarks.power.meter_logs import StoredChunk, store_power_chunk, visible_meters

MAX_SAMPLES = 2_000
MAX_WATTS = 1_000_000
MAX_STAMPS = 1_000
MAX_CHANNELS = 100
# The difference of two such times still fits into 64 bits.
MAX_TIME_US = 1 << 61
INTEGER_LIMITS: dict[str, Any] = {"min_value": -MAX_TIME_US, "max_value": MAX_TIME_US}

EXAMPLE_STAMP = {
    "clock": "5f0c2b7a91d34e60",
    "server_wall_us": 1_794_000_000_000_000,
    "server_monotonic_us": 81_000_000,
    "local_wall_us": 1_793_996_400_000_000,
    "local_monotonic_us": 500_000_000,
    "round_trip_us": 240,
}
EXAMPLE = OpenApiExample(
    "Two seconds of a wattmeter",
    value={
        "key": "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b",
        "log": "0b0f6f4e-8f0e-4a55-9a0c-5f6b7c8d9e0f",
        "number": 1,
        "host": "lmu-athlon64-x2-4800",
        "meter": {"name": "lab meter 2", "kind": "watts-up", "gain_error": 0.015},
        "measures": "power",
        "axis": "monotonic",
        "channels": ["wall"],
        "stamps": [EXAMPLE_STAMP],
        "samples": [[500_000_000, 97.2], [501_000_000, 97.4], [502_000_000, 98.0]],
    },
    request_only=True,
)


@extend_schema_field(
    {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_SAMPLES,
        "items": {"type": "array", "items": {"type": "number"}, "minItems": 2},
    }
)
class PowerSamplesField(StrictField, serializers.Field[Any, Any, Any, Any]):
    """Samples in order of time, each a time in microseconds and a value per channel."""

    expected = "a list of samples"

    def to_internal_value(self, data: Any) -> list[list[float]]:
        if not isinstance(data, list):
            self.reject(data)
        if not 0 < len(data) <= MAX_SAMPLES:
            raise serializers.ValidationError(f"Send 1 to {MAX_SAMPLES:,} samples.")
        before = -MAX_TIME_US
        for number, sample in enumerate(data, start=1):
            if problem := _problem(sample, before):
                raise serializers.ValidationError(f"Sample {number}: {problem}")
            before = sample[0]
        return data

    def to_representation(self, value: Any) -> Any:
        return value


def _problem(sample: Any, before_us: int) -> str:
    """Return what is wrong with a sample; "" if nothing is."""
    if not isinstance(sample, list) or len(sample) < 2:
        return "send a list of a time and one number per channel."
    moment_us, *amounts = sample
    if not isinstance(moment_us, int) or isinstance(moment_us, bool):
        return "its time is not a whole number of microseconds."
    if not before_us < moment_us < MAX_TIME_US:
        return "its time is not later than that of the previous sample."
    if not all(map(_is_amount, amounts)):
        return "watts and joules must be numbers of at least 0 and below 1e15."
    return ""


def _is_amount(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < 1e15 and isfinite(value)


class ClockStampInput(StrictSerializer):
    """The same moment on the clocks of a time server and of the meter's reader."""

    clock = Text(
        max_length=100,
        help_text=(
            "The id of the time server's clock; it changes when the server boots."
        ),
    )
    server_wall_us = WholeNumber(
        **INTEGER_LIMITS,
        help_text="The server's wall clock in microseconds since 1970 (UTC).",
    )
    server_monotonic_us = WholeNumber(
        **INTEGER_LIMITS, help_text="The server's monotonic clock in microseconds."
    )
    local_wall_us = WholeNumber(
        **INTEGER_LIMITS,
        help_text="The local wall clock in microseconds since 1970 (UTC).",
    )
    local_monotonic_us = WholeNumber(
        **INTEGER_LIMITS, help_text="The local monotonic clock in microseconds."
    )
    round_trip_us = WholeNumber(
        min_value=0, max_value=1 << 40, help_text="The round-trip time in microseconds."
    )
    exchanges = WholeNumber(
        required=False,
        min_value=1,
        max_value=1000,
        help_text="The number of exchanges, of which this one was the shortest.",
    )


class MeterInput(StrictSerializer):
    """A power meter."""

    name = Text(
        max_length=200,
        help_text=(
            "The name of the meter; the same meter must always have the same name."
        ),
    )
    kind = Choice(choices=Meter.Kind.values, help_text="The type of meter.")
    gain_error = Number(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=0.5,
        help_text="The maximum relative error of a reading; 0.015 means 1.5 %.",
    )


class PowerChunkInput(StrictSerializer):
    """A chunk of a power log."""

    key = UUIDText(
        help_text="The upload key of the chunk; sending the same chunk again is safe."
    )
    log = UUIDText(help_text="The id of the log, the same for all chunks of a log.")
    number = WholeNumber(
        min_value=1,
        max_value=2**31 - 1,
        help_text="The number of the chunk in its log, counted from 1.",
    )
    host = Slug(help_text="The slug of the host.")
    meter = MeterInput(help_text="The meter that was read.")
    measures = Choice(
        choices=("power", "energy"),
        help_text=(
            "Whether samples are power in watts, or energy in joules from a counter "
            "that never decreases."
        ),
    )
    axis = Choice(
        choices=("monotonic", "wall"), help_text="The clock of the sample times."
    )
    channels = ListOf(
        child=Text(max_length=100),
        min_length=1,
        max_length=MAX_CHANNELS,
        help_text="The names of the channels.",
    )
    total = ListOf(
        required=False,
        child=Text(max_length=100),
        min_length=1,
        max_length=MAX_CHANNELS,
        help_text=(
            "The channels that make up the power of the machine; the default is all."
        ),
    )
    stamps = ListOf(
        required=False,
        child=ClockStampInput(),
        max_length=MAX_STAMPS,
        help_text=(
            "Pairs of readings of the local clock and of the time server's clock."
        ),
    )
    samples = PowerSamplesField(
        help_text=(
            "One list per sample: the time in microseconds, then one number per "
            "channel."
        )
    )
    facts = JSONObject(required=False, help_text="Other facts about the recording.")

    def validate(self, document: dict[str, Any]) -> dict[str, Any]:
        width = len(document["channels"]) + 1
        wrong = next((s for s in document["samples"] if len(s) != width), None)
        if wrong is not None:
            raise serializers.ValidationError(
                {
                    "samples": [
                        f"A sample must have a time and {width - 1} numbers, one for "
                        f"each channel, but one has {len(wrong)} values."
                    ]
                }
            )
        unknown = set(document.get("total", ())) - set(document["channels"])
        if unknown or len(set(document["channels"])) < width - 1:
            raise serializers.ValidationError(
                {"channels": ["Name each channel once, also those in total."]}
            )
        return document


class StoredChunkSerializer(serializers.Serializer[Any]):
    """The result of storing a chunk. Status 200 and 202 both mean that it is stored."""

    key = serializers.UUIDField(
        source="chunk.key", help_text="The upload key of the chunk."
    )
    log = serializers.UUIDField(source="chunk.log", help_text="The id of the log.")
    chunk_number = serializers.IntegerField(
        source="chunk.chunk_number", help_text="The number of the chunk in its log."
    )
    first_at = serializers.DateTimeField(
        source="chunk.first_at",
        allow_null=True,
        help_text=(
            "The time of the first sample; null until the log is synchronized with "
            "the time server."
        ),
    )
    last_at = serializers.DateTimeField(
        source="chunk.last_at",
        allow_null=True,
        help_text=(
            "The time of the last sample; null until the log is synchronized with "
            "the time server."
        ),
    )
    is_repeated = serializers.BooleanField(
        help_text="Whether the chunk was stored before."
    )


class MeterSerializer(OutputSerializer):
    """A power meter of the lab."""

    row_type = Meter
    columns = "id host=host.slug name kind is_cpu_only gain_error"
    descriptions = {
        "name": "The name of the meter.",
        "is_cpu_only": (
            "Whether the meter measures the processor only, not the whole machine."
        ),
        "gain_error": "The maximum relative error of a reading; null if unknown.",
    }

    kind = serializers.ChoiceField(
        choices=Meter.Kind.values, help_text="The type of meter."
    )
    chunk_count = serializers.IntegerField(
        source="piece_count", help_text="The number of stored chunks."
    )
    first_at = serializers.DateTimeField(
        allow_null=True,
        help_text="The time of the first sample; null if no chunk is synchronized.",
    )
    last_at = serializers.DateTimeField(
        allow_null=True,
        help_text="The time of the last sample; null if no chunk is synchronized.",
    )
    unsynchronized_chunk_count = serializers.IntegerField(
        source="untimed_count",
        help_text=(
            "The number of chunks that are not synchronized with the time server's "
            "clock yet."
        ),
    )


class PowerView(ListView):
    """Lists the power meters of the client's labs.

    Other labs cannot see them, because a power log reveals all activity of a machine.
    The energy of runs is at `/energy/`.
    """

    summary = "List power meters"
    serializer_class = MeterSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_meters(self.viewer)

    @extend_schema(
        summary="Upload a chunk of a power log",
        request=PowerChunkInput,
        responses={202: StoredChunkSerializer, 200: StoredChunkSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        """Store a chunk of a power log; sending the same chunk again is safe."""
        # The document is stored as it was sent, because its digest identifies repeated
        # uploads. So the validated data are not used.
        validate_document(PowerChunkInput, request.data)
        stored: StoredChunk = store_power_chunk(agent=self.agent, document=request.data)
        status = HTTP_200_OK if stored.is_repeated else HTTP_202_ACCEPTED
        return Response(self.serialize(StoredChunkSerializer, stored), status=status)
