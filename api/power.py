"""/power/ and /energy/: power logs, printed totals, and the energy of the work."""

from math import isfinite
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_200_OK, HTTP_202_ACCEPTED

from api.kit.fields import Choice, Number, Slug, Strict, Text, UUIDText, WholeNumber
from api.kit.outputs import OutputSerializer
from api.kit.queries import WholeParameter
from api.kit.shapes import JSONObject, ListOf, StrictSerializer, checked
from api.kit.views import ListView, NamedStudyView, StudyQuery
from benchmarks.models import Meter
from benchmarks.power.energy_tables import SystemEnergy, study_energy
from benchmarks.power.logged_energy import MeteredWork, run_energies
from benchmarks.power.logs import Kept, keep_power, visible_meters

MAX_SAMPLES = 2_000
MOST_WATTS = 1_000_000
MAX_STAMPS = 1_000
MAX_CHANNELS = 100
# The difference of two such moments still fits into 64 bits.
LATEST_US = 1 << 61
WHOLE: dict[str, Any] = {"min_value": -LATEST_US, "max_value": LATEST_US}

STAMP = {
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
        "stamps": [STAMP],
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
    moment_us, *amounts = sample
    if not isinstance(moment_us, int) or isinstance(moment_us, bool):
        return "its moment is not a whole number of microseconds."
    if not before_us < moment_us < LATEST_US:
        return "its moment is not after that of the sample before."
    if not all(map(_is_amount, amounts)):
        return "watts and joules are finite numbers, 0 or more."
    return ""


def _is_amount(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < 1e15 and isfinite(value)


class StampInput(StrictSerializer):
    """One instant on a time server's clocks and on those of the meter's reader."""

    clock = Text(max_length=100, help_text="The server's clock: changes as it boots.")
    server_wall_us = WholeNumber(**WHOLE)
    server_monotonic_us = WholeNumber(**WHOLE)
    local_wall_us = WholeNumber(**WHOLE)
    local_monotonic_us = WholeNumber(**WHOLE)
    round_trip_us = WholeNumber(min_value=0, max_value=1 << 40)
    exchanges = WholeNumber(required=False, min_value=1, max_value=1000)


class MeterInput(StrictSerializer):
    name = Text(max_length=200, help_text="The same for the same meter, always.")
    kind = Choice(choices=Meter.Kind.values)
    gain_error = Number(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=0.5,
        help_text="0.015: each reading is within 1.5 % of the truth.",
    )


class PowerInput(StrictSerializer):
    """A piece of a power log. Moments are microseconds of the reader's own clock.

    A sample is a moment and one number for each channel: watts, or (`measures` energy)
    joules of a counter that never falls within a log.
    """

    key = UUIDText(help_text="Once per piece: sending it again is safe.")
    log = UUIDText(help_text="The same for all pieces of a log.")
    number = WholeNumber(min_value=1, max_value=2**31 - 1, help_text="1, 2, ...")
    host = Slug(help_text="The machine, as it is registered.")
    meter = MeterInput()
    measures = Choice(choices=("power", "energy"))
    axis = Choice(
        choices=("monotonic", "wall"), help_text="Which of the reader's clocks."
    )
    channels = ListOf(child=Text(max_length=100), min_length=1, max_length=MAX_CHANNELS)
    total = ListOf(
        required=False,
        child=Text(max_length=100),
        min_length=1,
        max_length=MAX_CHANNELS,
        help_text="Those channels that make up the power; all of them unless told.",
    )
    stamps = ListOf(required=False, child=StampInput(), max_length=MAX_STAMPS)
    samples = SamplesField()
    facts = JSONObject(required=False, help_text="What the reader saw besides.")

    def validate(self, document: dict[str, Any]) -> dict[str, Any]:
        """Let every sample have its channels, and the total be among them."""
        width = len(document["channels"]) + 1
        wrong = next((s for s in document["samples"] if len(s) != width), None)
        if wrong is not None:
            raise serializers.ValidationError(
                {
                    "samples": [
                        f"A sample is a moment and {width - 1} numbers, one for each "
                        f"channel, not {len(wrong)} values."
                    ]
                }
            )
        unknown = set(document.get("total", ())) - set(document["channels"])
        if unknown or len(set(document["channels"])) < width - 1:
            raise serializers.ValidationError(
                {"channels": ["Name each channel once, and those of the total too."]}
            )
        return document


class KeptSerializer(serializers.Serializer[Any]):
    """What became of a piece; 202 and 200 both mean that it is stored."""

    key = serializers.UUIDField(source="chunk.key")
    log = serializers.UUIDField(source="chunk.log")
    number = serializers.IntegerField(source="chunk.number")
    first_at = serializers.DateTimeField(source="chunk.first_at", allow_null=True)
    last_at = serializers.DateTimeField(source="chunk.last_at", allow_null=True)
    repeated = serializers.BooleanField()


class MeterSerializer(OutputSerializer):
    """A power meter of the lab and what it has measured so far."""

    row_type = Meter
    columns = "id host=host.slug name kind is_cpu_only gain_error"

    kind = serializers.ChoiceField(choices=Meter.Kind.values)
    pieces = serializers.IntegerField(source="piece_count")
    first_at = serializers.DateTimeField(allow_null=True)
    last_at = serializers.DateTimeField(allow_null=True)
    untimed = serializers.IntegerField(
        source="untimed_count",
        help_text="Pieces that no stamp ties to the time server's clock yet.",
    )


class PowerView(ListView):
    """Logs of power meters. A log tells of all that a machine did: labs see their own.

    What the meters say of a study's runs is at `/energy/`.
    """

    summary = "List the lab's power meters"
    serializer_class = MeterSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_meters(self.viewer)

    @extend_schema(
        summary="Upload a piece of a power log",
        request=PowerInput,
        responses={202: KeptSerializer, 200: KeptSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        # Only checked: what is kept, and known again by its digest, is what was sent.
        checked(PowerInput, request.data)
        kept: Kept = keep_power(agent=self.agent, document=request.data)
        status = HTTP_200_OK if kept.repeated else HTTP_202_ACCEPTED
        return Response(self.shown(KeptSerializer, kept), status=status)


class SystemEnergySerializer(OutputSerializer):
    """What one system took for a workload: means over ``run_ids``, each computed first.

    ``printed_j`` is the meter's total, ``energy_j`` its mean power over the time of the
    work: where the machine was idle meanwhile, the truth lies between the two.
    ``less_wait_j`` is the total without idle power at ``waiting_w``. Ratios are
    compared with the table's reference; ``is_reversed`` if they lie on different sides
    of 1. What is not known is null, and ``reason`` says why.
    """

    row_type = SystemEnergy
    columns = """
        system=system.label system_id=system.pk run_ids printed_j meter_s mean_w work_s
        overrun_s energy_j less_wait_j operations joules_per_operation
        operations_per_joule energy_delay_js printed_ratio energy_ratio less_wait_ratio
        is_reversed reason
    """


class EnergyTableSerializer(OutputSerializer):
    """One workload on the systems it was metered on, the reference first."""

    columns = """
        workload:str reference:str=reference.label reference_id:int=reference.pk systems
    """

    systems = SystemEnergySerializer(many=True)


class NotAssessedSerializer(OutputSerializer):
    columns = "run_id:int=reading.run.pk reason:str"


class WorkEnergySerializer(OutputSerializer):
    """What a meter of the machine saw of one run, or of runs that overlapped there.

    Integrated over the work's own window. `energy_j` is null where less than 90 % of
    it was measured; `sentence` says in numbers what is missing. `is_cpu_only`: a
    counter of the processor, which sees no supply, disk or fan.
    """

    row_type = MeteredWork
    columns = """
        run_ids system_id=lead.system_id system=lead.system.label tool=lead.tool
        host=meter.host.slug meter=meter.name is_cpu_only=meter.is_cpu_only
        gain_error=meter.gain_error is_external=energy.is_external
        duration_s=energy.duration_s covered_s=energy.covered_s samples=energy.samples
        mean_w=energy.mean_w idle_w=energy.idle_w energy_j=energy.energy_j
        above_idle_j=energy.above_idle_j edge_error_j=energy.edge_error_j
        clock_error_s=energy.clock_error_s operations=energy.operations
        joules_per_operation=energy.per_work.joules_per_operation
        operations_per_joule=energy.per_work.operations_per_joule energy_delay_js
        sentence
    """

    run_ids = serializers.SerializerMethodField()
    energy_delay_js = serializers.FloatField(
        source="energy.per_work.energy_delay_js", allow_null=True
    )

    @extend_schema_field(serializers.ListField(child=serializers.IntegerField()))
    def get_run_ids(self, work: MeteredWork) -> list[int]:
        return [run.pk for run in work.runs]


class EnergySerializer(serializers.Serializer[Any]):
    """The tables of a study, and the readings that none can be made of.

    `runs` is what the logs of its machines' meters say, integrated.
    """

    results = EnergyTableSerializer(many=True, source="tables")
    not_assessed = NotAssessedSerializer(many=True)
    runs = WorkEnergySerializer(many=True)


class EnergyQuery(StudyQuery):
    waiting_w = WholeParameter(
        required=False,
        max_value=MOST_WATTS,
        help_text="Watts of the machine while the meter ran on after the work.",
    )


class EnergyView(NamedStudyView):
    """Printed totals of power meters, and the energy of the work."""

    query_class = EnergyQuery
    summary = "Read the energy of a study's work"
    serializer_class = EnergySerializer

    def get_object(self) -> Any:
        energy = study_energy(self.study, self.query.get("waiting_w"))
        return {
            "tables": energy.tables,
            "not_assessed": energy.not_assessed,
            "runs": run_energies(self.study),
        }
