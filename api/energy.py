"""/energy/: what power meters read in a study, and the energy of the work."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.queries import WholeParameter
from api.kit.views import NamedStudyView, StudyQuery
from benchmarks.power.energy_tables import study_energy
from benchmarks.power.logged_energy import MeteredWork, run_energies

MOST_WATTS = 1_000_000


class SystemEnergySerializer(serializers.Serializer[Any]):
    """What one system took for a workload: means over ``run_ids``, each computed first.

    ``printed_j`` is the meter's total, ``energy_j`` its mean power over the time of the
    work: where the machine was idle meanwhile, the truth lies between the two.
    ``less_wait_j`` is the total without idle power at ``waiting_w``. Ratios are
    compared with the table's reference; ``is_reversed`` if they lie on different sides
    of 1. What is not known is null, and ``reason`` says why.
    """

    system = serializers.CharField(source="system.label")
    system_id = serializers.IntegerField(source="system.pk")
    run_ids = serializers.ListField(child=serializers.IntegerField())
    printed_j = serializers.FloatField()
    meter_s = serializers.FloatField()
    mean_w = serializers.FloatField()
    work_s = serializers.FloatField(allow_null=True)
    overrun_s = serializers.FloatField(allow_null=True)
    energy_j = serializers.FloatField(allow_null=True)
    less_wait_j = serializers.FloatField(allow_null=True)
    operations = serializers.FloatField(allow_null=True)
    joules_per_operation = serializers.FloatField(allow_null=True)
    operations_per_joule = serializers.FloatField(allow_null=True)
    energy_delay_js = serializers.FloatField(allow_null=True)
    printed_ratio = serializers.FloatField(allow_null=True)
    energy_ratio = serializers.FloatField(allow_null=True)
    less_wait_ratio = serializers.FloatField(allow_null=True)
    is_reversed = serializers.BooleanField()
    reason = serializers.CharField()


class EnergyTableSerializer(serializers.Serializer[Any]):
    """One workload on the systems it was metered on, the reference first."""

    workload = serializers.CharField()
    reference = serializers.CharField(source="reference.label")
    reference_id = serializers.IntegerField(source="reference.pk")
    systems = SystemEnergySerializer(many=True)


class NotAssessedSerializer(serializers.Serializer[Any]):
    run_id = serializers.IntegerField(source="reading.run.pk")
    reason = serializers.CharField()


class WorkEnergySerializer(serializers.Serializer[Any]):
    """What a meter of the machine saw of one run, or of runs that overlapped there.

    Integrated over the work's own window. `energy_j` is null where less than 90 % of
    it was measured; `sentence` says in numbers what is missing. `is_cpu_only`: a
    counter of the processor, which sees no supply, disk or fan.
    """

    run_ids = serializers.SerializerMethodField()
    system_id = serializers.IntegerField(source="lead.system_id")
    system = serializers.CharField(source="lead.system.label")
    tool = serializers.CharField(source="lead.tool")
    host = serializers.CharField(source="meter.host.slug")
    meter = serializers.CharField(source="meter.name")
    is_cpu_only = serializers.BooleanField(source="meter.is_cpu_only")
    gain_error = serializers.FloatField(source="meter.gain_error", allow_null=True)
    is_external = serializers.BooleanField(source="energy.is_external")
    duration_s = serializers.FloatField(source="energy.duration_s")
    covered_s = serializers.FloatField(source="energy.covered_s")
    samples = serializers.IntegerField(source="energy.samples")
    mean_w = serializers.FloatField(source="energy.mean_w", allow_null=True)
    idle_w = serializers.FloatField(source="energy.idle_w", allow_null=True)
    energy_j = serializers.FloatField(source="energy.energy_j", allow_null=True)
    above_idle_j = serializers.FloatField(source="energy.above_idle_j", allow_null=True)
    edge_error_j = serializers.FloatField(source="energy.edge_error_j", allow_null=True)
    clock_error_s = serializers.FloatField(
        source="energy.clock_error_s", allow_null=True
    )
    operations = serializers.FloatField(source="energy.operations", allow_null=True)
    joules_per_operation = serializers.FloatField(
        source="energy.per_work.joules_per_operation", allow_null=True
    )
    operations_per_joule = serializers.FloatField(
        source="energy.per_work.operations_per_joule", allow_null=True
    )
    energy_delay_js = serializers.FloatField(
        source="energy.per_work.energy_delay_js", allow_null=True
    )
    sentence = serializers.CharField()

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

    @extend_schema(
        summary="Read the energy of a study's work",
        operation_id="energy_retrieve",
        responses=EnergySerializer,
    )
    def get(self, request: Request) -> Response:
        energy = study_energy(self.study, self.query.get("waiting_w"))
        tables = {"tables": energy.tables, "not_assessed": energy.not_assessed}
        logged = run_energies(self.study)
        return Response(self.shown(EnergySerializer, tables | {"runs": logged}))
