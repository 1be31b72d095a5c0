"""/coruns/, /network/, /profile/, /sweeps/, /trend/: analyses of one study."""

from typing import Any, get_args

from rest_framework import serializers

from api.comparisons import BETTER, NULL_UNTIL_PROCESSED, VERDICTS, ShapeSerializer
from api.kit.fields import Choice, Text
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import IntegerParameter, ToolParameter
from api.kit.views import StudyQuery, StudyQueryView
from benchmarks.analysis.change_points import ChangePoint
from benchmarks.analysis.corun_statistics import CurvePoint, SumCheck, Target
from benchmarks.comparison.comparison_table import COMPONENTS
from benchmarks.comparison.coruns import (
    CoRunFigures,
    CoRunResult,
    SlotValue,
    study_coruns,
)
from benchmarks.comparison.network_matrices import (
    Asymmetry,
    Medium,
    NetworkMetric,
    NetworkPath,
    study_network,
)
from benchmarks.comparison.overhead_profile import ComponentMean, study_profile
from benchmarks.comparison.sweeps import SweepFamily, SweepPoint, study_sweeps
from benchmarks.comparison.trend import (
    TrendPoint,
    TrendSubject,
    read_trend,
    trend_subjects,
)
from benchmarks.errors import NotFoundError
from benchmarks.models.run import CONCURRENT_SCENARIOS, SCENARIOS
from benchmarks.sentences import Sentence


class VmResultSerializer(ShapeSerializer):
    """The result of one VM of a co-run."""

    row_type = SlotValue
    columns = "slot value n cell_id"
    descriptions = {
        "value": "The mean over the runs; null if no single figure describes them.",
    }


class SumCheckSerializer(OutputSerializer):
    """The comparison of a co-run's published sum with the sum over its slots."""

    row_type = SumCheck
    columns = (
        "printed recomputed difference rounding is_within_rounding message=sentence"
    )
    descriptions = {
        "printed": "The published sum.",
        "recomputed": "The sum over the slots.",
        "difference": "The published sum minus the sum over the slots.",
        "rounding": "The largest difference that rounding explains.",
        "is_within_rounding": "Whether rounding explains the difference.",
        "message": "The comparison in words.",
    }


class TargetSerializer(OutputSerializer):
    """The target times of CPU work in VMs, and the measured time relative to them."""

    row_type = Target
    columns = "ideal_s ideal_ratio full_load_s full_load_ratio"
    descriptions = {
        "ideal_s": (
            "The target time, in seconds, from the time of one VM alone; null if that "
            "was not measured."
        ),
        "ideal_ratio": "The measured time divided by `ideal_s`.",
        "full_load_s": (
            "The target time, in seconds, from the time of as many VMs as cores; null "
            "if that was not measured."
        ),
        "full_load_ratio": "The measured time divided by `full_load_s`.",
    }


class CoRunStatisticsSerializer(OutputSerializer):
    """Statistics of a co-run. Unknown values are null."""

    row_type = CoRunFigures
    columns = """
        sum is_sum_printed mean minimum maximum jain jain_low jain_high corun_count
        sum_check scaling scaling_to_native slowdown interference target virtual_cores
        physical_cores reasons
    """
    descriptions = {
        "sum": (
            "The sum over all slots; the published sum if a slot is missing; null "
            "for times."
        ),
        "is_sum_printed": "Whether the sum is the published one.",
        "mean": "The mean over the slots.",
        "minimum": "The lowest value of a slot.",
        "maximum": "The highest value of a slot.",
        "jain": "Jain's fairness index of the slots; 1 if all have the same value.",
        "jain_low": (
            "The lower end of the 95 % confidence interval of `jain`; null without "
            "repeated co-runs."
        ),
        "jain_high": (
            "The upper end of the 95 % confidence interval of `jain`; null without "
            "repeated co-runs."
        ),
        "corun_count": "The number of repeated co-runs.",
        "scaling": "The sum divided by the result of one VM alone.",
        "scaling_to_native": "The sum divided by the native result.",
        "slowdown": "The mean divided by the result of one VM alone.",
        "interference": (
            "The result under the other load divided by the result without it."
        ),
        "virtual_cores": "The number of virtual cores of all VMs; null if not stated.",
        "physical_cores": (
            "The number of physical cores of the machine; null if not stated."
        ),
        "reasons": "Why values are null.",
    }

    sum_check = SumCheckSerializer(
        allow_null=True,
        help_text=(
            "The comparison of the published sum with the recomputed one; null "
            "without a published sum."
        ),
    )
    target = TargetSerializer(
        allow_null=True, help_text="Target times for CPU work; null for other metrics."
    )


class CoRunSerializer(OutputSerializer):
    """Results of VMs of one system that ran at the same time."""

    row_type = CoRunResult
    columns = """
        case=slots.case.label case_id=slots.case.pk tool=slots.case.tool component
        unit=slots.case.unit better system=slots.system.label
        system_id=slots.system.pk scenario vms=slots.vms load=slots.load slots
        missing_slots=slots.missing printed=slots.printed
    """
    descriptions = {
        "vms": "The number of VMs that ran together.",
        "missing_slots": (
            "The slots without a reported value; a missing value is not 0."
        ),
        "printed": "The published `sum` and `mean`, as far as they were published.",
    }

    component = serializers.ChoiceField(
        COMPONENTS,
        source="slots.case.component",
        help_text="The component that the metric measures.",
    )
    better = serializers.ChoiceField(
        BETTER,
        source="slots.case.better",
        help_text="Whether a higher or a lower value is better, or neither.",
    )
    scenario = serializers.ChoiceField(
        SCENARIOS,
        source="slots.scenario",
        help_text="What ran at the same time; `single` if nothing else did.",
    )
    slots = VmResultSerializer(
        many=True, source="slots.slots", help_text="The result of each VM."
    )
    single_vm = VmResultSerializer(
        source="slots.single",
        allow_null=True,
        help_text=(
            "The result of the same system with one VM alone; null if not measured."
        ),
    )
    native = VmResultSerializer(
        source="slots.native",
        allow_null=True,
        help_text=(
            "The result of the machine without a hypervisor; null if not measured."
        ),
    )
    statistics = CoRunStatisticsSerializer(
        source="figures", help_text="Statistics over the slots."
    )


class CurvePointSerializer(OutputSerializer):
    """A point of a consolidation curve."""

    row_type = CurvePoint
    columns = """
        vm_count sum relative_half_width mean jain=fairness.jain scaling
        mean_relative_to_single
    """
    descriptions = {
        "vm_count": "The number of VMs.",
        "sum": "The sum over all VMs.",
        "relative_half_width": (
            "The half-width of the sum's 95 % confidence interval, relative to the "
            "sum; null for single runs."
        ),
        "mean": "The mean per VM.",
        "jain": "Jain's fairness index of the VMs; 1 if all have the same value.",
        "scaling": "The sum relative to one VM alone; null if that was not measured.",
        "mean_relative_to_single": (
            "The mean per VM relative to one VM alone; null if that was not measured."
        ),
    }


class ConsolidationCurveSerializer(OutputSerializer):
    """The results of a benchmark by number of VMs."""

    columns = """
        case:str=case.label case_id:int=case.pk system:str=system.label
        system_id:int=system.pk unit:str=case.unit knee:int=consolidation.knee
        is_knee_observed:bool=consolidation.is_knee_observed points
    """
    descriptions = {
        "knee": "The largest number of VMs up to which more VMs increase the sum.",
        "is_knee_observed": (
            "Whether larger numbers of VMs than the knee were measured."
        ),
    }

    points = CurvePointSerializer(
        many=True,
        source="consolidation.points",
        help_text="The points of the curve, by number of VMs.",
    )


class StudyCoRunsSerializer(serializers.Serializer[Any]):
    """The co-runs of a study."""

    results = CoRunSerializer(
        many=True, source="coruns", help_text="The co-runs of the study."
    )
    curves = ConsolidationCurveSerializer(
        many=True, help_text="The consolidation curves over the number of VMs."
    )


class CoRunsQuery(StudyQuery):
    component = Choice(
        choices=COMPONENTS,
        source="case__component",
        required=False,
        help_text="The component that the metric measures.",
    )
    tool = ToolParameter(source="case__tool")
    scenario = Choice(
        choices=CONCURRENT_SCENARIOS,
        required=False,
        help_text="What ran at the same time.",
    )


class CoRunsView(StudyQueryView):
    """Returns the results of VMs of one system that ran at the same time."""

    query_class = CoRunsQuery
    non_filter_parameters = ("study",)
    summary = "Read the co-runs of a study"
    serializer_class = StudyCoRunsSerializer

    def get_object(self) -> Any:
        return study_coruns(self.study, filters=self.filters)


class PathSerializer(ShapeSerializer):
    """The result of the connection from one node to another."""

    row_type = NetworkPath
    columns = "cell_id=cell.pk endpoints hosts medium value n=cell.n line_rate flag_ids"
    descriptions = {
        "endpoints": "The sending and the receiving node.",
        "hosts": "The hosts of both nodes; empty if not stated.",
        "value": "The mean over the runs; null if no single figure describes them.",
        "line_rate": (
            "The line rate of the sender's network card in the unit of the value; "
            "null if unknown."
        ),
        "flag_ids": "The ids of flags on the result.",
    }

    medium = serializers.ChoiceField(
        choices=get_args(Medium),
        help_text=(
            "What connects both nodes: loopback, the same host, a cable, or unknown."
        ),
    )


class AsymmetrySerializer(OutputSerializer):
    """Two directions between the same nodes that differ."""

    row_type = Asymmetry
    columns = "larger_direction=larger ratio=factor low high"
    descriptions = {
        "larger_direction": (
            "The sender and the receiver of the direction with the larger value."
        ),
        "ratio": "The ratio of the larger value to that of the opposite direction.",
        "low": (
            "The lower end of the ratio's 95 % confidence interval; null for single "
            "runs."
        ),
        "high": (
            "The upper end of the ratio's 95 % confidence interval; null for single "
            "runs."
        ),
    }


class MatrixSerializer(serializers.Serializer[Any]):
    """The connections between nodes under one setting of the systems."""

    setting = serializers.DictField(
        source="setting_by_name",
        child=serializers.CharField(),
        help_text="The options that the systems share, by name.",
    )
    paths = PathSerializer(
        source="all_paths", many=True, help_text="The results between nodes."
    )
    asymmetries = AsymmetrySerializer(
        many=True,
        help_text=(
            "Pairs of directions that differ by more than a quarter, and by more than "
            "chance explains."
        ),
    )


class NetworkMetricSerializer(OutputSerializer):
    """One network metric with equal parameters."""

    row_type = NetworkMetric
    columns = "tool metric unit better parameters"

    better = serializers.ChoiceField(
        choices=BETTER,
        help_text="Whether a higher or a lower value is better, or neither.",
    )
    matrices = MatrixSerializer(
        many=True, help_text="One matrix per setting of the systems."
    )


class NetworkSerializer(serializers.Serializer[Any]):
    """The network results of a study."""

    results = NetworkMetricSerializer(
        many=True, help_text="The network metrics of the study."
    )


class NetworkView(StudyQueryView):
    """Returns the throughput and the latency between nodes."""

    summary = "Read network results between nodes of a study"
    serializer_class = NetworkSerializer

    def get_object(self) -> Any:
        return {"results": study_network(self.viewer, self.study)}


class ComponentMeanSerializer(OutputSerializer):
    """The mean relative performance of one component on one system."""

    row_type = ComponentMean
    columns = """
        component mean low high spread minimum maximum slowest_case case_count
        excluded_count min_runs run_count=runs flagged_count unpaired_count
    """
    descriptions = {
        "mean": "The geometric mean of the ratios (baseline = 1).",
        "low": (
            "The lower end of the 95 % confidence interval over benchmarks of this "
            "kind; null if a benchmark has a single run."
        ),
        "high": (
            "The upper end of the 95 % confidence interval over benchmarks of this "
            "kind; null if a benchmark has a single run."
        ),
        "spread": (
            "The geometric standard deviation between benchmarks; null for one "
            "benchmark."
        ),
        "minimum": "The lowest ratio.",
        "maximum": "The highest ratio.",
        "slowest_case": "The label of the benchmark with the lowest ratio.",
        "case_count": (
            "The number of benchmarks in the mean (those that all compared systems "
            "have)."
        ),
        "excluded_count": "The number of benchmarks that were excluded.",
        "min_runs": "The smallest number of runs of a benchmark.",
        "run_count": "The number of runs in the mean.",
        "flagged_count": "The number of benchmarks with a flag.",
        "unpaired_count": (
            "The number of benchmarks whose baseline is stale or from another session."
        ),
    }

    component = serializers.ChoiceField(
        choices=COMPONENTS, help_text="The component that the metric measures."
    )


class ProfileRowSerializer(serializers.Serializer[Any]):
    """The mean relative performance of one system by component."""

    system_id = serializers.IntegerField(
        source="column.system_id", help_text="The id of the system; see `/systems/`."
    )
    system = serializers.CharField(
        source="column.label", help_text="The label of the system."
    )
    component_means = ComponentMeanSerializer(
        source="known_means",
        many=True,
        help_text="The mean of each component in which the system was compared.",
    )


class ProfileSerializer(serializers.Serializer[Any]):
    """The overhead profile of a study.

    Means are over the benchmarks that all compared systems have.
    """

    study = serializers.CharField(help_text="The slug of the study.")
    is_relative = serializers.BooleanField(
        help_text=(
            "Whether ratios are relative to the study's reference system instead of "
            "native."
        )
    )
    components = serializers.ListField(
        child=serializers.CharField(),
        help_text="The components, in the order of the table.",
    )
    systems = ProfileRowSerializer(many=True, help_text="One row per system.")


class ProfileView(StudyQueryView):
    """Returns the mean relative performance by system and component."""

    summary = "Read the overhead profile of a study"
    serializer_class = ProfileSerializer

    def get_object(self) -> Any:
        profile = study_profile(self.viewer, self.study)
        return {
            "study": self.study.slug,
            "is_relative": profile.is_relative,
            "components": profile.components,
            "systems": profile.rows,
        }


VERDICT_PATTERNS = ("never_slower", "slower_from", "slower_until", "always_slower")


class SweepPointSerializer(OutputSerializer):
    """One result of a sweep."""

    row_type = SweepPoint
    columns = """
        cell_id=row.id level=level.amount level_unit=level.unit value=row.result.value
        low high n=row.result.n ratio=row.result.ratio verdict
        shape_message=row.result.reason
    """
    descriptions = {
        "level": "The value of the parameter.",
        "level_unit": "The unit of the parameter; empty for a plain number.",
        "value": "The mean over the runs; null if no single figure describes them.",
        "low": (
            "The lower end of the mean's 95 % confidence interval; null without an "
            "interval."
        ),
        "high": (
            "The upper end of the mean's 95 % confidence interval; null without an "
            "interval."
        ),
        "ratio": (
            "The performance relative to the baseline; null if there is nothing to "
            "compare with."
        ),
    }

    verdict = serializers.ChoiceField(
        VERDICTS,
        source="row.result.assessment.verdict",
        **NULL_UNTIL_PROCESSED,
        help_text="The verdict; null before the result is processed.",
    )


class SweepLineSerializer(serializers.Serializer[Any]):
    """The results of one system over the parameter."""

    system = serializers.CharField(
        source="column.label", help_text="The label of the system."
    )
    system_id = serializers.IntegerField(
        source="column.system_id", help_text="The id of the system; see `/systems/`."
    )
    verdict_pattern = serializers.ChoiceField(
        VERDICT_PATTERNS,
        source="verdict_change.pattern",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "How the verdicts change along the axis: never slower than the baseline, "
            "slower from a level on, slower before a level, or always slower; null if "
            "one of the results has no verdict."
        ),
    )
    pattern_level_index = serializers.IntegerField(
        source="verdict_change.level_index",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "The index of the level at which the verdicts change, counted from 0; 0 if "
            "they do not change, and null without a pattern."
        ),
    )
    points = SweepPointSerializer(
        many=True, help_text="The points, the lowest level first."
    )


class SweepSerializer(OutputSerializer):
    """Results of one metric over one parameter, with all other parameters equal."""

    row_type = SweepFamily
    columns = "tool metric component unit better axis parameters circumstances"
    descriptions = {
        "axis": "The name of the parameter that varies.",
        "circumstances": (
            "Properties other than parameters that are equal for all points."
        ),
    }

    component = serializers.ChoiceField(
        choices=COMPONENTS, help_text="The component that the metric measures."
    )
    better = serializers.ChoiceField(
        choices=BETTER,
        help_text="Whether a higher or a lower value is better, or neither.",
    )
    lines = SweepLineSerializer(many=True, help_text="One line per system.")


class SweepsSerializer(serializers.Serializer[Any]):
    """The sweeps of a study."""

    results = SweepSerializer(many=True, help_text="The sweeps of the study.")


class SweepsView(StudyQueryView):
    """Returns the results of each metric over each numeric parameter that varies."""

    summary = "Read a study's sweeps"
    serializer_class = SweepsSerializer

    def get_object(self) -> Any:
        return {"results": study_sweeps(self.viewer, self.study)}


class TrendCaseSerializer(OutputSerializer):
    """A benchmark on a host that has a trend."""

    row_type = TrendSubject
    columns = "case_id case=label tool host version_count is_dated"
    descriptions = {
        "version_count": "The number of versions in the trend.",
        "is_dated": "Whether the runs have start times.",
    }


class TrendPointSerializer(ShapeSerializer):
    """The mean of one day or version."""

    row_type = TrendPoint
    columns = "version measured_at=at n mean=value low high"
    descriptions = {
        "version": "The version of the hypervisor; empty for a day.",
        "measured_at": "When the first of the runs started; null if unknown.",
        "mean": "The mean over the runs; null if no single figure describes them.",
        "low": (
            "The lower end of the mean's 95 % confidence interval; null without an "
            "interval."
        ),
        "high": (
            "The upper end of the mean's 95 % confidence interval; null without an "
            "interval."
        ),
    }


class ChangePointSerializer(OutputSerializer):
    """A change point in a trend."""

    row_type = ChangePoint
    columns = "day_index=index before after ratio=factor low high p_value"
    descriptions = {
        "day_index": "The index in `days` of the first day of the new level, from 0.",
        "before": (
            "The median before the change; null if no single figure describes its days."
        ),
        "after": (
            "The median after the change; null if no single figure describes its days."
        ),
        "ratio": (
            "The values after the change divided by those before it (Hodges-Lehmann); "
            "null without medians."
        ),
        "low": "The lower end of the ratio's 95 % confidence interval.",
        "high": "The upper end of the ratio's 95 % confidence interval.",
        "p_value": "The p-value of the change.",
    }


class SeriesSerializer(serializers.Serializer[Any]):
    """The trend of systems that differ only in the hypervisor version."""

    system = serializers.CharField(
        source="system.label", help_text="The label of the newest system of the series."
    )
    system_id = serializers.IntegerField(
        source="system.pk", help_text="The id of the newest system of the series."
    )
    days = TrendPointSerializer(
        many=True, source="day_points", help_text="The means by day."
    )
    versions = TrendPointSerializer(
        many=True, source="version_points", help_text="The means by hypervisor version."
    )
    changes = ChangePointSerializer(
        many=True,
        source="changes.changes",
        allow_null=True,
        default=None,
        help_text="The change points; null if there are too few days.",
    )
    drift = serializers.FloatField(
        source="changes.drift",
        allow_null=True,
        default=None,
        help_text=(
            "The last value divided by the first on a line, if the values change "
            "gradually instead of at change points; otherwise null."
        ),
    )


class TrendSerializer(serializers.Serializer[Any]):
    """The benchmarks of a study that have a trend, and the requested series."""

    results = TrendCaseSerializer(
        many=True, help_text="The benchmarks of the study that have a trend."
    )
    series = SeriesSerializer(
        many=True,
        help_text=(
            "The series of the requested benchmark and host; empty if none was "
            "requested."
        ),
    )


class TrendQuery(StudyQuery):
    case = IntegerParameter(
        required=False,
        help_text="The id of a benchmark; together with `host` it selects a series.",
    )
    host = Text(required=False, max_length=100, help_text="The slug of a host.")


class TrendView(StudyQueryView):
    """Returns the results by date and by hypervisor version."""

    query_class = TrendQuery
    summary = "Read the trend of a benchmark over dates and versions"
    serializer_class = TrendSerializer

    def get_object(self) -> Any:
        case, host = self.query.get("case"), self.query.get("host")
        subjects = [
            subject
            for subject in trend_subjects(self.viewer, self.study)
            if case in (None, subject.case_id) and host in (None, subject.host)
        ]
        if case is not None and not subjects:
            raise NotFoundError(Sentence("benchmark"), case)
        # If several hosts or circumstances match, the longest history is the first.
        series = () if case is None else read_trend(self.viewer, subjects[0]).series
        return {"results": subjects, "series": series}
