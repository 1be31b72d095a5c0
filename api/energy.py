from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import IntegerParameter
from api.kit.views import StudyQuery, StudyQueryView
from api.power import MAX_WATTS
from benchmarks.power.logged_energy import MeteredWork, run_energies
from benchmarks.power.printed_energy import SystemEnergy, study_energy


class SystemEnergySerializer(OutputSerializer):
    """The energy of one workload on one system: means over its runs.

    If the meter ran on after the work, while the machine was idle, the energy of the
    work lies between `energy_j` and `meter_total_j`.
    """

    row_type = SystemEnergy
    columns = """
        system=system.label system_id=system.pk run_ids meter_total_j metered_s=meter_s
        mean_w
        work_s overrun_s energy_j without_idle_j operations joules_per_operation
        operations_per_joule energy_delay_js meter_total_ratio=printed_ratio
        energy_ratio without_idle_ratio contradicts_total reason
    """
    descriptions = {
        "run_ids": "The ids of the runs over which the means are taken.",
        "meter_total_j": "The total energy that the meter reported, in joules.",
        "metered_s": "How long the meter ran, in seconds.",
        "mean_w": "The mean power in watts.",
        "work_s": "The duration of the work in seconds; null if unknown.",
        "overrun_s": (
            "How much longer than the work the meter ran, in seconds; null if unknown."
        ),
        "energy_j": (
            "The mean power times the duration of the work, in joules; null if the "
            "duration is unknown."
        ),
        "without_idle_j": (
            "The reported total minus the idle energy after the work, in joules; null "
            "if `idle_w` was not sent."
        ),
        "operations": "The number of operations; null if the tool does not count them.",
        "joules_per_operation": "The energy per operation in joules; null if unknown.",
        "operations_per_joule": "The operations per joule; null if unknown.",
        "energy_delay_js": (
            "The energy-delay product in joule-seconds; null if unknown."
        ),
        "meter_total_ratio": "The reported total relative to the reference system.",
        "energy_ratio": (
            "The energy of the work relative to the reference system; null if unknown."
        ),
        "without_idle_ratio": (
            "The value of `without_idle_j` relative to the reference system; null if "
            "unknown."
        ),
        "contradicts_total": (
            "Whether the reported total and the energy of the work lead to opposite "
            "conclusions."
        ),
        "reason": "Why values are null; empty if no value is null.",
    }


class EnergyTableSerializer(OutputSerializer):
    """The energy of one workload on several systems."""

    columns = """
        workload:str reference:str=reference.label reference_id:int=reference.pk systems
    """
    descriptions = {
        "workload": "The label of the workload.",
        "reference": "The label of the reference system.",
        "reference_id": "The id of the reference system.",
    }

    systems = SystemEnergySerializer(
        many=True, help_text="The energy of each system, the reference first."
    )


class NotAssessedSerializer(OutputSerializer):
    """A run with a meter reading for which no energy can be computed."""

    columns = "run_id:int=reading.run.pk reason:str"
    descriptions = {
        "run_id": "The id of the run.",
        "reason": "Why no energy can be computed.",
    }


class MeteredRunSerializer(OutputSerializer):
    """The energy of one run, or of overlapping runs, according to one power meter."""

    row_type = MeteredWork
    columns = """
        run_ids system_id=lead_run.system_id system=lead_run.system.label
        tool=lead_run.tool
        host=meter.host.slug meter=meter.name is_cpu_only=meter.is_cpu_only
        gain_error=meter.gain_error is_external_clock=energy.is_external_clock
        duration_s=energy.duration_s measured_s=energy.measured_s
        sample_count=energy.sample_count
        mean_w=energy.mean_w idle_w=energy.idle_w energy_j=energy.energy_j
        above_idle_j=energy.above_idle_j edge_error_j=energy.edge_error_j
        clock_error_s=energy.clock_error_s operations=energy.operations
        joules_per_operation=energy.per_work.joules_per_operation
        operations_per_joule=energy.per_work.operations_per_joule energy_delay_js
        message=sentence
    """
    descriptions = {
        "meter": "The name of the meter.",
        "is_cpu_only": (
            "Whether the meter measures the processor only, not the whole machine."
        ),
        "gain_error": "The maximum relative error of a reading; null if unknown.",
        "is_external_clock": (
            "Whether start and end of the work were timed by the time server; "
            "otherwise by the unverified clock of the run."
        ),
        "duration_s": "The duration of the work in seconds.",
        "measured_s": "The part of the duration that has power samples, in seconds.",
        "sample_count": "The number of power samples during the work.",
        "mean_w": "The mean power during the work in watts; null if unknown.",
        "idle_w": "The power of the idle machine in watts; null if unknown.",
        "energy_j": (
            "The energy of the work in joules; null if less than 90 % of its duration "
            "was measured."
        ),
        "above_idle_j": "The energy above idle power in joules; null if unknown.",
        "edge_error_j": (
            "The uncertainty of the energy at the start and the end of the work, in "
            "joules."
        ),
        "clock_error_s": (
            "The maximum difference between the clocks of run and meter, in seconds."
        ),
        "operations": "The number of operations; null if the tool does not count them.",
        "joules_per_operation": "The energy per operation in joules; null if unknown.",
        "operations_per_joule": "The operations per joule; null if unknown.",
        "message": (
            "Which part of the work was not measured, and which runs overlapped, in "
            "words."
        ),
    }

    run_ids = serializers.SerializerMethodField(
        help_text="The ids of the runs; several if they overlapped."
    )
    energy_delay_js = serializers.FloatField(
        source="energy.per_work.energy_delay_js",
        allow_null=True,
        help_text="The energy-delay product in joule-seconds; null if unknown.",
    )

    @extend_schema_field(serializers.ListField(child=serializers.IntegerField()))
    def get_run_ids(self, work: MeteredWork) -> list[int]:
        return [run.pk for run in work.runs]


class EnergySerializer(serializers.Serializer[Any]):
    """The energy of a study's work."""

    results = EnergyTableSerializer(
        many=True, source="tables", help_text="One table per workload."
    )
    not_assessed = NotAssessedSerializer(
        many=True,
        help_text="Runs with a meter reading for which no energy can be computed.",
    )
    runs = MeteredRunSerializer(
        many=True,
        help_text="The energy of each run according to the logs of power meters.",
    )


class EnergyQuery(StudyQuery):
    idle_w = IntegerParameter(
        required=False,
        max_value=MAX_WATTS,
        help_text=(
            "The power in watts of the idle machine while the meter ran on "
            "after the work."
        ),
    )


class EnergyView(StudyQueryView):
    """Returns the energy of a study's work.

    `results` has totals that meters reported, and the energy of the work itself; `runs`
    has the energy of runs according to power logs.
    """

    query_class = EnergyQuery
    summary = "Read the energy of a study's work"
    serializer_class = EnergySerializer

    def get_object(self) -> Any:
        energy = study_energy(self.study, self.query.get("idle_w"))
        return {
            "tables": energy.tables,
            "not_assessed": energy.not_assessed,
            "runs": run_energies(self.study),
        }
