"""/energy/: what power meters read in a study, and the energy of the work."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.kit.outputs import OutputSerializer
from api.kit.queries import WholeParameter
from api.kit.views import NamedStudyView, StudyQuery
from benchmarks.power.energy_tables import SystemEnergy, study_energy
from benchmarks.power.logged_energy import MeteredWork, run_energies

MOST_WATTS = 1_000_000


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


class EnergyTableSerializer(serializers.Serializer[Any]):
    """One workload on the systems it was metered on, the reference first."""

    workload = serializers.CharField()
    reference = serializers.CharField(source="reference.label")
    reference_id = serializers.IntegerField(source="reference.pk")
    systems = SystemEnergySerializer(many=True)


class NotAssessedSerializer(serializers.Serializer[Any]):
    run_id = serializers.IntegerField(source="reading.run.pk")
    reason = serializers.CharField()


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
