from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Choice, Pattern, Text
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import (
    HypervisorParameter,
    HypervisorsParameter,
    IntegerParameter,
    ListQuery,
    ToolParameter,
    metric_parameter,
    scenario_parameter,
    study_parameter,
)
from api.kit.views import ApiView
from benchmarks.analysis.comparability import ComparabilityRating
from benchmarks.analysis.session_intervals import SessionDesign
from benchmarks.analysis.verdicts import EvidenceLevel, Verdict
from benchmarks.comparison.comparison_row import (
    FAILED,
    NOT_COMPARED_YET,
    ComparisonRow,
)
from benchmarks.comparison.comparison_table import COMPONENTS
from benchmarks.comparison.cross_study import SystemInStudy, largest_measurement
from benchmarks.comparison.row_queries import (
    ReferenceCells,
    compared_cells,
    comparison_row,
)
from benchmarks.comparison.study_verdicts import StudyVerdicts, study_verdicts
from benchmarks.comparison.system_comparability import ComparabilityCache, systems_by_id
from benchmarks.errors import NotFoundError
from benchmarks.models import Cell, Efficiency, Study, System
from benchmarks.parsing.tool import Better
from benchmarks.work_classes import WORK_CLASSES

BETTER = get_args(Better)
STATES = (*Efficiency.State.values, NOT_COMPARED_YET, FAILED)
SHAPE_CODES = ("bimodal", "periodic", "drift", "first_run")
COMPARABILITY_LEVELS = get_args(ComparabilityRating)
VERDICTS = [verdict.slug for verdict in Verdict]
# A direction is a verdict other than NOT_ASSESSED, which is the last one.
DIRECTIONS = VERDICTS[: Verdict.NOT_ASSESSED]
EVIDENCE_LEVELS = [evidence_level.name.lower() for evidence_level in EvidenceLevel]
DESIGNS = [design.slug for design in SessionDesign if design]
NULL_UNTIL_PROCESSED: Final[dict[str, Any]] = {"default": None, "allow_null": True}


class ShapeSerializer(OutputSerializer):
    """Whether a single figure describes the runs of a result and, if not, why."""

    shape_codes = serializers.ListField(
        child=serializers.ChoiceField(choices=SHAPE_CODES),
        source="figure.shape_codes",
        help_text=(
            "Codes of the reasons why no single figure describes the runs; empty if "
            "one does."
        ),
    )
    shape_message = serializers.CharField(
        source="figure.reason",
        help_text="Why there is no single figure, as text; empty if there is one.",
    )
    mode_medians = serializers.ListField(
        child=serializers.FloatField(),
        source="figure.mode_medians",
        help_text="The medians of both modes if the runs are bimodal; otherwise empty.",
    )
    range = serializers.ListField(
        child=serializers.FloatField(),
        source="figure.range",
        allow_null=True,
        help_text=(
            "The lowest and the highest run mean; null if a single figure describes "
            "the runs."
        ),
    )


class RatioOfKindField(serializers.FloatField):
    """Field for the ratio of a row that has this ``ratio_kind``; null for others."""

    def __init__(self, ratio_kind: str, **options: Any) -> None:
        self.ratio_kind = ratio_kind
        super().__init__(**options)

    def get_attribute(self, instance: ComparisonRow) -> float | None:
        result = instance.result
        return result.ratio if result.ratio_kind == self.ratio_kind else None


class ComparisonSerializer(OutputSerializer):
    """A result compared with its baseline.

    A benchmark that does not measure a speed (state `no_speed`: a fixed duration, a
    count, a share, an amount) has no ratio. The `comparability` is `full` if only
    factors of the study differ, and `limited` if other properties differ as well. It is
    `none` if the host, the parameters or the unit differ; such results have no verdict.
    Results with which others are compared have the verdict `baseline`.
    """

    row_type = ComparisonRow
    columns = """
        id study case=case.label case_id=case.id tool=case.tool
        tool_title metric=case.metric operation
        access parameters component better
        system=system.label system_id=system.id host=system.host.slug
        hypervisor=system.hypervisor hypervisor_version=system.hypervisor_version
        virtualization=system.virtualization guest_os=system.guest_os
        guest_bits=system.guest_bits vcpus=system.vcpus memory_bytes=system.memory_bytes
        hw_virt guest_tools options
        scenario vms slot load clock value=result.value shape_codes
        shape_message=result.shape_sentence mode_medians=result.mode_medians range
        unit=result.unit n=result.n failed_runs=result.failed_runs
        failure=result.failure baseline_shape_codes
        baseline_value=result.baseline_value baseline_n=result.baseline_n
        baseline_system_id=result.baseline_system_id relative_performance
        relative_to_reference scaling slowdown low high verdict direction evidence_level
        reason_codes reason_messages advice design scope session_counts
        between_session_sd ratio_range is_weak outliers mean_ratio
        sessions_needed rule_set state
        comparability comparability_reason=result.comparability_reason
        state_message=result.reason document table
    """
    descriptions = {
        "tool_title": "The title of the tool.",
        "operation": (
            "The operation, such as read or write; empty if the benchmark has none."
        ),
        "access": (
            "The access pattern, such as random or sequential; empty if the "
            "benchmark has none."
        ),
        "hw_virt": "The system's option `hw_virt`; empty if not stated.",
        "guest_tools": "The system's option `guest_tools`; empty if not stated.",
        "value": (
            "The mean over the runs; null if no single figure describes them or all "
            "failed."
        ),
        "failed_runs": (
            "The number of runs whose work failed; they are not among the n runs. If "
            "all runs failed, n is 0 and `state` is `failed`."
        ),
        "failure": "Why most of them failed; empty if none did.",
        "shape_message": "Why no single figure describes the runs; empty if one does.",
        "baseline_value": (
            "The mean of the baseline; null if no single figure describes its runs."
        ),
        "baseline_n": "The number of runs of the baseline.",
        "baseline_system_id": "The id of the baseline's system.",
        "comparability_reason": "What differs between the result and its baseline.",
        "state_message": "The meaning of `state` in words.",
    }

    component = serializers.ChoiceField(
        choices=COMPONENTS,
        source="case.component",
        help_text="The component that the metric measures.",
    )
    better = serializers.ChoiceField(
        choices=BETTER,
        source="result.better",
        help_text="Whether a higher or a lower value is better, or neither.",
    )
    parameters = serializers.DictField(
        child=serializers.CharField(),
        source="case.parameters",
        help_text="The parameters of the benchmark by name.",
    )
    options = serializers.DictField(
        child=serializers.CharField(),
        source="system.options",
        help_text="The system's options by name.",
    )
    shape_codes = serializers.ListField(
        child=serializers.ChoiceField(choices=SHAPE_CODES),
        source="result.shape_codes",
        help_text=(
            "Codes of the reasons why no single figure describes the runs; empty if "
            "one does."
        ),
    )
    range = serializers.ListField(
        child=serializers.FloatField(),
        **NULL_UNTIL_PROCESSED,
        source="result.range",
        help_text=(
            "The lowest and the highest run mean; null if a single figure describes "
            "the runs."
        ),
    )
    baseline_shape_codes = serializers.ListField(
        child=serializers.ChoiceField(choices=SHAPE_CODES),
        source="result.baseline_shape_codes",
        help_text=(
            "Codes of the reasons why no single figure describes the runs of the "
            "baseline; empty if one does."
        ),
    )
    relative_performance = RatioOfKindField(
        "efficiency",
        allow_null=True,
        help_text=(
            "The performance relative to the machine without a hypervisor (native = "
            "1, higher is better); null without a native result to compare with."
        ),
    )
    relative_to_reference = RatioOfKindField(
        "relative",
        allow_null=True,
        help_text=(
            "The performance relative to the reference system (reference = 1, higher "
            "is better); null if the result is not compared with such a system."
        ),
    )
    scaling = RatioOfKindField(
        "scaling",
        allow_null=True,
        help_text=(
            "The ratio of a sum over several VMs to the result of the machine without "
            "a hypervisor; null if the result is not such a sum."
        ),
    )
    slowdown = RatioOfKindField(
        "slowdown",
        allow_null=True,
        help_text=(
            "The ratio of the result of one of several VMs to that of the same system "
            "with one VM alone; null if the result is not that of one of several VMs."
        ),
    )
    low = serializers.FloatField(
        source="result.assessment.low",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "The lower end of the ratio's 95 % confidence interval; null for a "
            "single run."
        ),
    )
    high = serializers.FloatField(
        source="result.assessment.high",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "The upper end of the ratio's 95 % confidence interval; null for a "
            "single run."
        ),
    )
    verdict = serializers.ChoiceField(
        VERDICTS,
        source="result.assessment.verdict",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "The verdict, corrected for multiple tests over all results of the study; "
            "null before the result is processed."
        ),
    )
    direction = serializers.ChoiceField(
        DIRECTIONS,
        source="result.assessment.direction",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "The verdict that the confidence interval and the equivalence margin "
            "alone would give, also if there is a reason to give no verdict."
        ),
    )
    evidence_level = serializers.ChoiceField(
        EVIDENCE_LEVELS,
        source="result.assessment.evidence_level",
        **NULL_UNTIL_PROCESSED,
        help_text="The level of evidence that the number of runs allows.",
    )
    reason_codes = serializers.ListField(
        child=serializers.CharField(),
        source="result.assessment.reason_codes",
        default=[],
        help_text="Codes of the reasons why there is no verdict.",
    )
    reason_messages = serializers.ListField(
        child=serializers.CharField(),
        source="result.verdict_reasons",
        help_text=(
            "The reasons for the verdict or for its absence, in words; first the one "
            "that blocks a verdict."
        ),
    )
    advice = serializers.CharField(
        source="result.advice",
        help_text=(
            "What to do for a verdict; empty if there is one, or if there can be none."
        ),
    )
    design = serializers.ChoiceField(
        DESIGNS,
        source="result.assessment.design",
        default="",
        allow_blank=True,
        help_text=(
            "Whether runs or sessions were repeated, and in which way "
            '(`docs/method.md`, "What was repeated").'
        ),
    )
    scope = serializers.CharField(
        source="result.assessment.scope",
        default="",
        help_text='What the verdict covers, such as "across 5 sessions".',
    )
    session_counts = serializers.ListField(
        child=serializers.IntegerField(),
        source="result.assessment.sessions",
        **NULL_UNTIL_PROCESSED,
        help_text="The number of sessions of the result, of its baseline, and of both.",
    )
    between_session_sd = serializers.FloatField(
        source="result.assessment.between_sd",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "The relative standard deviation between sessions; null if no session "
            "was repeated."
        ),
    )
    ratio_range = serializers.ListField(
        child=serializers.FloatField(),
        source="result.assessment.range",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "The lowest and the highest ratio of one run to one run of the baseline."
        ),
    )
    is_weak = serializers.BooleanField(
        source="result.assessment.is_weak",
        default=False,
        help_text=(
            "Whether the verdict rests on an assumption about when the runs were made."
        ),
    )
    outliers = serializers.IntegerField(
        source="result.assessment.outliers",
        default=0,
        help_text=(
            "The number of outliers on both sides if the ratio and its interval are "
            "robust against them; otherwise 0."
        ),
    )
    mean_ratio = serializers.FloatField(
        source="result.assessment.mean_ratio",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "The ratio of the means of all runs, if a robust ratio replaces it; "
            "otherwise null."
        ),
    )
    sessions_needed = serializers.IntegerField(
        source="result.assessment.sessions_needed",
        **NULL_UNTIL_PROCESSED,
        help_text=(
            "The total number of sessions that would settle the verdict; null if "
            "sessions are not what is missing."
        ),
    )
    rule_set = serializers.IntegerField(
        source="result.assessment.rule_set",
        **NULL_UNTIL_PROCESSED,
        help_text="The number of the rule set that was applied (`docs/method.md`).",
    )
    state = serializers.ChoiceField(
        choices=STATES,
        source="result.state",
        help_text="How the result was paired with its baseline.",
    )
    comparability = serializers.ChoiceField(
        choices=COMPARABILITY_LEVELS,
        allow_blank=True,
        source="result.comparability",
        help_text=(
            "How far the result and its baseline are comparable; empty without a "
            "baseline. Results that cannot be compared have no verdict."
        ),
    )


class ComparisonQuery(ListQuery):
    study = study_parameter()
    baseline = Pattern(
        r"native|[1-9]\d{0,17}",
        "native or a system's id",
        required=False,
        help_text=(
            "`native` (the default), or the id of a system of any study with "
            "which to compare."
        ),
    )
    host = Pattern(
        r"[-a-zA-Z0-9_]+(/[-a-zA-Z0-9_]+)?",
        "my-host or lab/my-host",
        required=False,
        max_length=151,
        help_text="The slug of a host, or `lab/slug`.",
    )
    case = IntegerParameter(
        source="case_id",
        required=False,
        help_text="The id of a benchmark, as listed by `/cases/`.",
    )
    hypervisors = HypervisorsParameter(
        source="system__hypervisor__in",
        required=False,
        max_length=1000,
        help_text="Several hypervisors, separated by commas.",
    )
    work_class = Choice(
        choices=list(WORK_CLASSES),
        source="effect__work_class",
        required=False,
        help_text=(
            "The slug of a kind of work. Only results of the scenario `single` "
            "that represent their test have one."
        ),
    )
    scenario = scenario_parameter()
    component = Choice(
        choices=COMPONENTS,
        source="case__component",
        required=False,
        help_text="The component that the metric measures.",
    )
    guest_os = Text(
        source="system__guest_os",
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="A guest operating system, spelled as in the results.",
    )
    guest_bits = IntegerParameter(
        source="system__guest_bits",
        required=False,
        help_text="The width of the guest operating system in bits: 32 or 64.",
    )
    hypervisor = HypervisorParameter(
        source="system__hypervisor",
        required=False,
        max_length=100,
        help_text="A hypervisor in any spelling, or `native`.",
    )
    tool = ToolParameter(source="case__tool")
    metric = metric_parameter(source="case__metric")
    state = Choice(
        choices=STATES,
        source="efficiency__state",
        required=False,
        help_text=(
            "How results were paired with their baseline; not allowed together with "
            "the id of a system as `baseline`."
        ),
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("baseline", "native") == "native":
            return attrs
        # The stored state describes the pairing with the native baseline.
        if "efficiency__state" in attrs:
            raise serializers.ValidationError(
                {"state": ["Leave this out, or send baseline=native."]}
            )
        return attrs


class ComparisonsView(ApiView):
    """Lists the results of visible studies, each compared with its baseline."""

    query_class = ComparisonQuery
    non_filter_parameters = ("study", "baseline", "host")

    @extend_schema(
        summary="Compare results with their baselines",
        operation_id="comparisons_list",
        responses=ComparisonSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        study = self.requested_study
        filters = self.filters
        if "host" in self.query:
            lab, _, slug = self.query["host"].rpartition("/")
            filters |= {"system__host__slug": slug}
            filters |= {"system__host__lab__slug": lab} if lab else {}
        # A result that was not compared yet has no stored state.
        if filters.get("efficiency__state") == NOT_COMPARED_YET:
            del filters["efficiency__state"]
            filters |= {"efficiency__isnull": True, "n__gt": 0}
        elif filters.get("efficiency__state") == FAILED:
            del filters["efficiency__state"]
            filters["n"] = 0
        reference = self._requested_reference(study)
        page = self.paginate(compared_cells(self.viewer, study=study, filters=filters))
        # Verdicts are corrected for all results of a study, not only of the page.
        studies = {cell.study_id: cell.study for cell in page}
        # The baseline of a result may be on another page.
        baseline_ids = {cell.baseline_system_id for cell in page}
        if reference is not None:
            baseline_ids = {reference.system.pk}
        systems = systems_by_id((cell.system for cell in page), baseline_ids)
        assessments = {
            pk: StudyAssessments.of(study, systems, reference)
            for pk, study in studies.items()
        }
        rows = [assessments[cell.study_id].comparison_row(cell) for cell in page]
        return self.page_response(rows, ComparisonSerializer)

    def _requested_reference(self, study: Study | None) -> SystemInStudy | None:
        """Return the system with which to compare; None for native baselines.

        Its results are taken from the requested study if this study measured the
        system, otherwise from the study with the most results of the system. Raise
        NotFoundError if no visible study has any.
        """
        baseline = self.query.get("baseline", "native")
        if baseline == "native":
            return None
        reference = largest_measurement(self.viewer, int(baseline), study)
        if reference is None:
            raise NotFoundError("system", baseline)
        return reference


@dataclass(frozen=True)
class StudyAssessments:
    """Data for comparing and assessing the results of one study.

    ``reference`` is None if the results are compared with their native baselines.
    """

    verdicts: StudyVerdicts
    comparability: ComparabilityCache
    reference: ReferenceCells | None

    @classmethod
    def of(
        cls,
        study: Study,
        systems: Mapping[int, System],
        reference: SystemInStudy | None,
    ) -> "StudyAssessments":
        if reference is None:
            return cls(study_verdicts(study), ComparabilityCache(study, systems), None)
        cells = ReferenceCells.load(
            reference.study, reference.system, other_study=study
        )
        return cls(
            study_verdicts(study, reference.system, reference_study=reference.study),
            ComparabilityCache(study, systems, cells),
            cells,
        )

    def comparison_row(self, cell: Cell) -> ComparisonRow:
        assessment = self.verdicts.assessment(cell.pk)
        is_other_host = (
            self.reference is not None
            and self.reference.is_host_incomparable(cell.system.host_id)
        )
        if assessment and is_other_host:
            # Assessments do not apply to results of different machines.
            assessment = replace(
                assessment, ratio=None, low=None, high=None, half_width=None, range=None
            )
        return comparison_row(cell, self.reference, assessment, self.comparability)
