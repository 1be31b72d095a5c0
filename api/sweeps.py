"""/sweeps/: cases that differ in one number only, as lines along an axis."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.comparisons import BETTER, NONE_YET, VERDICTS
from api.kit.views import NamedStudyView
from benchmarks.comparing.sweeps import study_sweeps
from benchmarks.comparing.table import COMPONENTS

COURSES = ("keeps", "parts", "joins", "slower")


class SweepPointSerializer(serializers.Serializer[Any]):
    """A cell on the axis, at ``level`` of ``level_unit`` (empty: a plain number).

    ``low`` to ``high`` is the 95 % interval of the mean ``value``; they are null where
    no single figure describes the runs, and ``reason`` says so.
    """

    cell_id = serializers.IntegerField(source="row.id")
    level = serializers.FloatField(source="level.amount")
    level_unit = serializers.CharField(source="level.unit")
    value = serializers.FloatField(source="row.shown.value", allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(source="row.shown.n")
    ratio = serializers.FloatField(source="row.shown.ratio", allow_null=True)
    verdict = serializers.ChoiceField(
        VERDICTS, source="row.shown.judgement.verdict", **NONE_YET
    )
    reason = serializers.CharField(source="row.shown.reason")


class SweepLineSerializer(serializers.Serializer[Any]):
    """A system along the axis, lowest level first.

    ``course`` says how it goes against its baseline where all verdicts decide: never
    slower (``keeps``), slower from point ``course_at`` on (``parts``), slower before it
    (``joins``), slower everywhere. Points are counted from 0.
    """

    system = serializers.CharField(source="column.label")
    system_id = serializers.IntegerField(source="column.system_id")
    course = serializers.ChoiceField(COURSES, source="parting.course", **NONE_YET)
    course_at = serializers.IntegerField(source="parting.at", **NONE_YET)
    points = SweepPointSerializer(many=True)


class SweepSerializer(serializers.Serializer[Any]):
    """A tool's metric over one parameter, all others and the circumstances equal."""

    tool = serializers.CharField()
    metric = serializers.CharField()
    component = serializers.ChoiceField(choices=COMPONENTS)
    unit = serializers.CharField()
    better = serializers.ChoiceField(choices=BETTER)
    axis = serializers.CharField()
    parameters = serializers.DictField(child=serializers.CharField())
    circumstances = serializers.DictField(child=serializers.CharField())
    lines = SweepLineSerializer(many=True)


class SweepsSerializer(serializers.Serializer[Any]):
    results = SweepSerializer(many=True)


class SweepsView(NamedStudyView):
    """What becomes of a metric along a parameter."""

    @extend_schema(
        summary="Read a study's values along numeric parameters",
        operation_id="sweeps_retrieve",
        responses=SweepsSerializer,
    )
    def get(self, request: Request) -> Response:
        families = study_sweeps(self.viewer, self.study)
        return Response(self.shown(SweepsSerializer, {"results": families}))
