"""/publishing/: what a study may be published as, and what is missing."""

from typing import Any, get_args

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.views import NamedStudyView
from benchmarks.analysis.publishing import DISCLOSURE, DISPERSION, ENOUGH_RUNS, Level
from benchmarks.evidence.replication import reproduced_by
from benchmarks.publishing.readiness import study_assessment

LEVELS = get_args(Level)


class ShortCellSerializer(serializers.Serializer[Any]):
    """A cell that keeps the study from the next level."""

    id = serializers.IntegerField()
    case = serializers.CharField(source="label")
    component = serializers.CharField()
    n = serializers.IntegerField()
    dispersion = serializers.FloatField(allow_null=True)


class AssessmentSerializer(serializers.Serializer[Any]):
    """``few_runs`` have less than five; ``dispersed`` vary more than their component
    may; ``undisclosed`` is what nobody states, by host, hypervisor, guest, benchmark.
    ``reproduced_by`` are other labs that found the same, in public studies of theirs.
    """

    rule_set = serializers.IntegerField()
    level = serializers.ChoiceField(choices=LEVELS)
    cells = serializers.IntegerField()
    few_runs = ShortCellSerializer(many=True)
    dispersed = ShortCellSerializer(many=True)
    undisclosed = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField())
    )
    reproduced_by = serializers.ListField(child=serializers.CharField())


class PublishingView(NamedStudyView):
    """A study judged by the rules of publishing."""

    @extend_schema(
        summary="Judge a study by the rules of publishing",
        description=f"Rule set 1: {ENOUGH_RUNS} runs a cell; a dispersion of at most "
        + ", ".join(f"{name} {limit:.0%}" for name, limit in DISPERSION.items())
        + f"; a disclosure of {', '.join(DISCLOSURE)}.",
        responses=AssessmentSerializer,
    )
    def get(self, request: Request) -> Response:
        assessment = study_assessment(self.study).reproduced(reproduced_by(self.study))
        return Response(self.shown(AssessmentSerializer, assessment))
