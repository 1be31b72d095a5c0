"""/trend/: one case on one host, over dates and hypervisor versions."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.comparisons import FigureSerializer
from api.kit.fields import Text
from api.kit.queries import WholeParameter
from api.kit.views import NamedStudyView, StudyQuery
from benchmarks.comparing.trend import trend_of, trend_subjects
from benchmarks.errors import NotFoundError
from benchmarks.sentences import Sentence


class TrendSubjectSerializer(serializers.Serializer[Any]):
    """A case on a host, and how long its trend is: ask for it by both."""

    case_id = serializers.IntegerField()
    case = serializers.CharField(source="label")
    tool = serializers.CharField()
    host = serializers.CharField()
    versions = serializers.IntegerField()
    is_dated = serializers.BooleanField()


class TrendPointSerializer(FigureSerializer):
    """Runs of one day or version, with the 95 % interval of their mean.

    ``mean`` is null where no single figure describes the runs: ``doubts`` and
    ``reason`` then say why.
    """

    version = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    n = serializers.IntegerField()
    mean = serializers.FloatField(source="value", allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class ChangeSerializer(serializers.Serializer[Any]):
    """A new level from dated run ``at`` on (the first is 0).

    ``before`` and ``after`` are null where no single figure describes the runs of
    that level, and then ``factor`` is, too.
    """

    at = serializers.IntegerField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    factor = serializers.FloatField(allow_null=True)
    p_value = serializers.FloatField()


class SeriesSerializer(serializers.Serializer[Any]):
    """Systems that differ in nothing but the version; ``system`` is the last of them.

    ``changes`` are null where the method allows none: too few dated runs.
    """

    system = serializers.CharField(source="system.label")
    system_id = serializers.IntegerField(source="system.pk")
    days = TrendPointSerializer(many=True)
    versions = TrendPointSerializer(many=True)
    changes = ChangeSerializer(many=True, allow_null=True)


class TrendSerializer(serializers.Serializer[Any]):
    """``results`` are the subjects of a study, ``series`` those of the one asked
    for; empty where none was."""

    results = TrendSubjectSerializer(many=True)
    series = SeriesSerializer(many=True)


class TrendQuery(StudyQuery):
    case = WholeParameter(required=False, help_text="A case's id, to read its series.")
    host = Text(required=False, max_length=100, help_text="A host's slug.")


class TrendView(NamedStudyView):
    """What a study measured before, and on other versions."""

    query_class = TrendQuery

    @extend_schema(
        summary="Read a case's trend over dates and versions",
        operation_id="trend_retrieve",
        responses=TrendSerializer,
    )
    def get(self, request: Request) -> Response:
        case, host = self.query.get("case"), self.query.get("host")
        subjects = [
            subject
            for subject in trend_subjects(self.viewer, self.study)
            if case in (None, subject.case_id) and host in (None, subject.host)
        ]
        if case is not None and not subjects:
            raise NotFoundError(Sentence("case"), case)
        # A case may have several hosts and circumstances: the richest history is first.
        series = () if case is None else trend_of(self.viewer, subjects[0]).series
        body = {"results": subjects, "series": series}
        return Response(self.shown(TrendSerializer, body))
