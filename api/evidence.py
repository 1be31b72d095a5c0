from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Choice
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import HypervisorParameter, Query
from api.kit.views import ApiView
from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.evidence.json_records import SUBGROUPS, question_record, summary_record
from benchmarks.evidence.queries import Question, evidence_matrix, study_averages
from benchmarks.evidence.synthesis import (
    METHOD,
    SINGLE_RUN_METHOD,
    PooledEffect,
    Synthesis,
)
from benchmarks.models import Effect
from benchmarks.work_classes import WORK_CLASSES

STRENGTHS = [strength.slug for strength in EvidenceStrength]


class IntervalField(serializers.ListField):
    child = serializers.FloatField()


class PoolSerializer(OutputSerializer):
    """A pooled estimate over machines.

    There is a mean of one machine, of three machines of a lab, and of three labs.
    """

    row_type = PooledEffect
    columns = """
        machine_count:int=machines lab_count:int=labs study_count mean
        confidence_interval prediction_interval predicts_same_lab tau2 tau2_lab
        tau2_machine i2 method
    """
    descriptions = {
        "machine_count": "The number of machines; each counts once.",
        "lab_count": "The number of independent labs.",
        "mean": (
            "The pooled performance relative to native (native = 1); null with no "
            "machine, two machines or two labs."
        ),
        "tau2": (
            "The variance of the natural logarithm of the performance between "
            "machines of different labs; null without a pooled mean."
        ),
        "i2": (
            "The share of the variation between machines that is not due to chance; "
            "null without a pooled mean."
        ),
    }

    study_count = serializers.IntegerField(
        source="studies",
        required=False,
        help_text="The number of studies; missing in old reviews.",
    )
    predicts_same_lab = serializers.BooleanField(
        source="is_one_lab",
        required=False,
        help_text=(
            "Whether all machines belong to one lab, so that the prediction is for "
            "another machine of this lab; missing in old reviews."
        ),
    )
    tau2_lab = serializers.FloatField(
        allow_null=True,
        required=False,
        help_text=(
            "The part of `tau2` between labs; it includes machines if each lab has "
            "one. Null without a pooled mean over labs."
        ),
    )
    tau2_machine = serializers.FloatField(
        allow_null=True,
        required=False,
        help_text=(
            "The part of `tau2` between machines of a lab; null if no lab has "
            "several machines."
        ),
    )
    method = serializers.ChoiceField(
        choices=("", METHOD, SINGLE_RUN_METHOD),
        required=False,
        help_text=(
            "The method: random effects of labs and machines by REML with intervals "
            "by the reference prior, or Student's t over the means of labs "
            "(`docs/method.md`, Across studies); empty if nothing is pooled."
        ),
    )

    confidence_interval = IntervalField(
        source="interval",
        allow_null=True,
        help_text=(
            "The 95 % confidence interval of the mean, or of a single machine; null "
            "without a mean, and for single runs of one machine."
        ),
    )
    prediction_interval = IntervalField(
        source="predicted",
        allow_null=True,
        help_text=(
            "The 95 % prediction interval for a machine of another lab, or for another "
            "machine of the same lab; null without a pooled mean."
        ),
    )


class OtherPoolsSerializer(serializers.Serializer[Any]):
    """The pooled estimates with another screening of the results."""

    strength = serializers.ChoiceField(
        choices=STRENGTHS, help_text="The strength of the evidence."
    )
    lab_count = serializers.IntegerField(
        source="labs", help_text="The number of independent labs."
    )
    pool = PoolSerializer(
        help_text="The pooled estimate of machines with repeated runs."
    )
    single_run_pool = PoolSerializer(
        source="single_runs",
        help_text="The pooled estimate of machines with single runs only.",
    )


class ConfigurationSerializer(OutputSerializer):
    """One of a machine's configurations that differ by more than their intervals."""

    columns = (
        "system_id:int=system ratio:float confidence_interval cell_count:int=cells"
    )
    descriptions = {
        "system_id": "The id of the system.",
        "ratio": "The mean performance relative to native (native = 1).",
        "cell_count": "The number of results.",
    }

    confidence_interval = IntervalField(
        source="interval",
        allow_null=True,
        help_text="The 95 % confidence interval of the ratio; null for single runs.",
    )


class MachineEffectSerializer(OutputSerializer):
    """The contribution of one machine to a pooled estimate."""

    columns = """
        host:str lab:str year studies benchmarks ratio:float confidence_interval
        standard_error is_single_run:bool weight:float mean_without:float?=without
        cell_count:int=cells model_count machine_count prediction_interval
        flagged_models
    """
    descriptions = {
        "ratio": "The mean performance relative to native (native = 1).",
        "is_single_run": "Whether the machine has single runs only.",
        "weight": "The weight of the machine in the pooled mean; all add up to 1.",
        "mean_without": (
            "The pooled mean without this machine or, with several labs, without all "
            "machines of its lab."
        ),
        "cell_count": "The number of results.",
    }

    model_count = serializers.IntegerField(
        source="models",
        required=False,
        help_text=(
            "The number of machine models, if this is a provider whose guests and "
            "native runs are of different machines of a model; otherwise 0."
        ),
    )
    machine_count = serializers.IntegerField(
        source="machines", required=False, help_text="The number of its machines."
    )
    prediction_interval = IntervalField(
        source="predicted",
        allow_null=True,
        required=False,
        help_text="The 95 % prediction interval for another model of a provider.",
    )
    flagged_models = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Models that are left out because their native runs are doubtful.",
    )
    year = serializers.CharField(
        help_text="The year of the first study of the machine; empty if unknown."
    )
    studies = serializers.ListField(
        child=serializers.CharField(),
        help_text="The studies of the machine (`lab/slug`).",
    )
    benchmarks = serializers.ListField(
        child=serializers.CharField(), help_text="The benchmarks that were averaged."
    )
    confidence_interval = IntervalField(
        source="interval",
        allow_null=True,
        help_text="The 95 % confidence interval of the ratio; null for single runs.",
    )
    doubtful_count = serializers.IntegerField(
        source="doubtful",
        required=False,
        help_text="How many of the results are in doubt; missing in old reviews.",
    )
    configurations = ConfigurationSerializer(
        many=True,
        required=False,
        help_text=(
            "The configurations if they differ by more than their intervals, "
            "otherwise empty; missing in old reviews."
        ),
    )
    standard_error = serializers.FloatField(
        allow_null=True,
        required=False,
        help_text=(
            "The standard error of the natural logarithm of the ratio; null for "
            "single runs and in old reviews."
        ),
    )


class HeterogeneitySerializer(OutputSerializer):
    """The variation of the relative performance between machines."""

    columns = """
        tau:float tau_low:float tau_high:float dersimonian_laird_mean:float=mean_dl
        robust_standard_error
    """
    descriptions = {
        "tau": (
            "The standard deviation of the natural logarithm of the performance "
            "between machines of different labs."
        ),
        "tau_low": "The lower end of the 95 % Q-profile interval of `tau`.",
        "tau_high": "The upper end of the 95 % Q-profile interval of `tau`.",
        "dersimonian_laird_mean": (
            "The pooled ratio by DerSimonian and Laird, for comparison with REML."
        ),
    }

    robust_standard_error = serializers.FloatField(
        source="robust_error",
        required=False,
        help_text=(
            "The standard error of the logarithm of the mean with labs as clusters "
            "(sandwich estimator), for comparison; missing in old reviews."
        ),
    )


class ExclusionSerializer(OutputSerializer):
    """Results of a study that were not pooled."""

    columns = "study:str tool:str metric:str reason cells cell_count:int=count"
    descriptions = {
        "cell_count": "The number of results.",
    }

    reason = serializers.ChoiceField(
        choices=Effect.Exclusion.values, help_text="Why the results were not pooled."
    )
    cells = serializers.ListField(
        child=serializers.IntegerField(), help_text="The ids of the results."
    )


class SubgroupSerializer(serializers.Serializer[Any]):
    """The pooled estimates of a part of the results.

    Results are grouped by `benchmark` (tool and metric), decade, virtualization type
    or `path` (how a guest reaches the disk or the network).
    """

    grouped_by = serializers.ChoiceField(
        choices=list(SUBGROUPS),
        source="by",
        help_text="The property that the results of the subgroup share.",
    )
    group = serializers.CharField(
        source="name",
        allow_blank=True,
        help_text="The value of that property; empty if not stated.",
    )
    strength = serializers.ChoiceField(
        choices=STRENGTHS, help_text="The strength of the evidence."
    )
    lab_count = serializers.IntegerField(
        source="labs", help_text="The number of independent labs."
    )
    pool = PoolSerializer(
        help_text="The pooled estimate of machines with repeated runs."
    )
    single_run_pool = PoolSerializer(
        source="single_runs",
        help_text="The pooled estimate of machines with single runs only.",
    )


class EvidenceItemSerializer(serializers.Serializer[Any]):
    """The evidence about one hypervisor and one kind of work."""

    hypervisor = serializers.CharField(
        help_text='The name of the hypervisor; "native" is the machine itself.'
    )
    work_class = serializers.ChoiceField(
        choices=list(WORK_CLASSES),
        help_text="The slug of the kind of work; empty if the metric has none.",
    )
    strength = serializers.ChoiceField(
        choices=STRENGTHS, help_text="The strength of the evidence."
    )
    lab_count = serializers.IntegerField(
        source="labs", help_text="The number of independent labs."
    )
    pool = PoolSerializer(
        help_text="The pooled estimate of machines with repeated runs."
    )
    single_run_pool = PoolSerializer(
        source="single_runs",
        help_text="The pooled estimate of machines with single runs only.",
    )
    excluded_counts = serializers.DictField(
        child=serializers.IntegerField(),
        source="screened",
        help_text="The number of results that were not pooled, by reason.",
    )
    doubtful_count = serializers.IntegerField(
        source="doubtful",
        required=False,
        help_text="How many pooled results are in doubt; missing in old reviews.",
    )
    without_doubtful = OtherPoolsSerializer(
        allow_null=True,
        required=False,
        help_text="The estimates without doubtful results; null if there are none.",
    )
    with_impossible = OtherPoolsSerializer(
        allow_null=True,
        required=False,
        help_text=(
            "The estimates with results that are flagged as impossible or timed by an "
            "untrusted clock; null if there are none."
        ),
    )
    without_models = OtherPoolsSerializer(
        allow_null=True,
        required=False,
        help_text=(
            "The estimates without guests whose native runs are of other machines of "
            "the same model; null if there are none."
        ),
    )
    heterogeneity = HeterogeneitySerializer(
        source="spread",
        allow_null=True,
        help_text=(
            "How much machines differ; null unless both `hypervisor` and "
            "`work_class` are given, or without a pooled mean."
        ),
    )
    machines = MachineEffectSerializer(
        many=True,
        source="units",
        allow_null=True,
        help_text=(
            "The contribution of each machine; null unless both filters are given."
        ),
    )
    exclusions = ExclusionSerializer(
        many=True,
        source="left_out",
        allow_null=True,
        help_text=(
            "The results that were not pooled; null unless both filters are given."
        ),
    )
    subgroups = SubgroupSerializer(
        many=True,
        allow_null=True,
        help_text=(
            "Pooled estimates of parts of the results; null unless both filters are "
            "given."
        ),
    )


class EvidenceSerializer(serializers.Serializer[Any]):
    """The evidence across all visible studies."""

    results = EvidenceItemSerializer(
        many=True, help_text="One item per hypervisor and kind of work."
    )


class EvidenceQuery(Query):
    hypervisor = HypervisorParameter(
        required=False,
        max_length=100,
        help_text="A hypervisor in any spelling.",
    )
    work_class = Choice(
        choices=list(WORK_CLASSES),
        required=False,
        help_text="The slug of a kind of work.",
    )
    doubtful = Choice(
        choices=("exclude", "include"),
        required=False,
        help_text="Whether to pool doubtful results; the default is `include`.",
    )


class EvidenceView(ApiView):
    """Returns the relative performance by hypervisor and kind of work.

    It is pooled over all visible studies.
    """

    query_class = EvidenceQuery

    @extend_schema(
        summary="Read the evidence across all visible studies",
        operation_id="evidence_list",
        responses=EvidenceSerializer,
    )
    def get(self, request: Request) -> Response:
        without_doubtful = self.query.get("doubtful") == "exclude"
        hypervisor = self.query.get("hypervisor")
        work = self.query.get("work_class")
        if hypervisor and work:
            question = Question(hypervisor, work)
            averages = study_averages(self.viewer, question)
            items = [
                question_record(question, averages, without_doubtful=without_doubtful)
            ]
        else:
            syntheses = evidence_matrix(self.viewer, without_doubtful=without_doubtful)
            items = [
                summary_record(question, synthesis)
                for question, synthesis in sorted(syntheses.items(), key=_sort_key)
                if hypervisor in (None, question.hypervisor)
                and work in (None, question.work_class)
            ]
        return Response(self.serialize(EvidenceSerializer, {"results": items}))


def _sort_key(item: tuple[Question, Synthesis]) -> tuple[str, int]:
    question = item[0]
    return question.hypervisor, list(WORK_CLASSES).index(question.work_class)
