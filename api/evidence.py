"""/evidence/: what all studies together say of a hypervisor and a class of work."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Choice
from api.kit.outputs import OutputSerializer
from api.kit.queries import HypervisorParameter, Query
from api.kit.views import ApiView
from benchmarks.analysis.pooling import EvidenceStrength
from benchmarks.evidence.reading import Question, evidence_matrix, evidence_parts
from benchmarks.evidence.records import SUBGROUPS, question_record, summary_record
from benchmarks.evidence.synthesis import Pool, Synthesis
from benchmarks.models import Effect
from benchmarks.work_classes import WORK_CLASSES

STRENGTHS = [strength.slug for strength in EvidenceStrength]


class EndsField(serializers.ListField):
    """Both ends of an interval of ratios; null where there is none."""

    child = serializers.FloatField()


class PoolSerializer(OutputSerializer):
    """Machines put together: their mean ratio, its 95 % interval, a new lab's.

    ``tau2`` is the variance between machines of the natural logarithm, ``i2`` which
    part of their differences is no noise. All null below three machines, but the mean
    and interval of one alone.
    """

    row_type = Pool
    columns = "machines labs mean interval predicted tau2 i2"

    machines = serializers.IntegerField()
    interval = EndsField(allow_null=True)
    predicted = EndsField(allow_null=True)


class UnitSerializer(OutputSerializer):
    """What one machine says, over all its results of the question.

    ``weight`` is its share of the pool, ``without`` the pooled mean if it is left out;
    ``interval`` is null of single runs, as is ``standard_error`` (of ln), by which it
    weighs. A review of before does not say it.
    """

    columns = """
        host:str lab:str year studies benchmarks ratio:float interval standard_error
        is_single_run:bool weight:float without:float? cells:int
    """

    year = serializers.CharField(help_text="Of the first study; may be empty.")
    studies = serializers.ListField(child=serializers.CharField())
    benchmarks = serializers.ListField(child=serializers.CharField())
    interval = EndsField(allow_null=True)
    standard_error = serializers.FloatField(allow_null=True, required=False)


class SpreadSerializer(OutputSerializer):
    """How much machines differ: ``tau`` (of ln) with its 95 % Q-profile interval.

    ``mean_dl`` is the pooled ratio by DerSimonian and Laird, beside REML's.
    """

    columns = "tau:float tau_low:float tau_high:float mean_dl:float"


class LeftOutSerializer(OutputSerializer):
    """Results of a study that are in no pool, and why."""

    columns = "study:str tool:str metric:str reason cells count:int"

    reason = serializers.ChoiceField(choices=Effect.Obstacle.values)
    cells = serializers.ListField(child=serializers.IntegerField())


class SubgroupSerializer(serializers.Serializer[Any]):
    """The same put together of a part of the results alone.

    ``by`` says what they have in common, ``name`` which; empty where nobody stated it.
    ``benchmark`` is a tool and its metric, ``path`` what leads to disk or network.
    """

    by = serializers.ChoiceField(choices=list(SUBGROUPS))
    name = serializers.CharField(allow_blank=True)
    strength = serializers.ChoiceField(choices=STRENGTHS)
    labs = serializers.IntegerField()
    pool = PoolSerializer()
    single_runs = PoolSerializer()


class EvidenceItemSerializer(serializers.Serializer[Any]):
    """All that is known of one hypervisor and one class of work.

    Ratios are to native, 1 is its speed. ``pool`` is of repeated runs, ``single_runs``
    of machines that have single ones only. ``screened`` counts results in no pool by
    the reason. ``units``, ``left_out``, ``subgroups`` and ``spread`` are null unless
    both ``hypervisor`` and ``work_class`` are given.
    """

    hypervisor = serializers.CharField()
    work_class = serializers.ChoiceField(choices=list(WORK_CLASSES))
    strength = serializers.ChoiceField(choices=STRENGTHS)
    labs = serializers.IntegerField()
    pool = PoolSerializer()
    single_runs = PoolSerializer()
    screened = serializers.DictField(child=serializers.IntegerField())
    spread = SpreadSerializer(allow_null=True)
    units = UnitSerializer(many=True, allow_null=True)
    left_out = LeftOutSerializer(many=True, allow_null=True)
    subgroups = SubgroupSerializer(many=True, allow_null=True)


class EvidenceSerializer(serializers.Serializer[Any]):
    results = EvidenceItemSerializer(many=True)


class EvidenceQuery(Query):
    hypervisor = HypervisorParameter(required=False, max_length=100)
    work_class = Choice(choices=list(WORK_CLASSES), required=False)
    flagged = Choice(
        choices=("without", "with"),
        required=False,
        help_text="Whether what a flag doubts is pooled: without, unless told.",
    )


class EvidenceView(ApiView):
    """Pooled over every study that may be seen."""

    query_class = EvidenceQuery

    @extend_schema(
        summary="Read what all studies together say",
        operation_id="evidence_list",
        responses=EvidenceSerializer,
    )
    def get(self, request: Request) -> Response:
        with_flagged = self.query.get("flagged") == "with"
        hypervisor = self.query.get("hypervisor")
        work = self.query.get("work_class")
        if hypervisor and work:
            question = Question(hypervisor, work)
            found = evidence_parts(self.viewer, question)
            items = [question_record(question, found, with_flagged=with_flagged)]
        else:
            known = evidence_matrix(self.viewer, with_flagged=with_flagged)
            items = [
                summary_record(question, whole)
                for question, whole in sorted(known.items(), key=_order)
                if hypervisor in (None, question.hypervisor)
                and work in (None, question.work)
            ]
        return Response(self.shown(EvidenceSerializer, {"results": items}))


def _order(item: tuple[Question, Synthesis]) -> tuple[str, int]:
    question = item[0]
    return question.hypervisor, list(WORK_CLASSES).index(question.work)
