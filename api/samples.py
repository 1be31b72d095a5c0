"""/runs/<id>/samples/: the measured numbers of a run."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.queries import ListQuery
from api.kit.views import ApiView
from benchmarks.uploads import runs


class SampleSerializer(serializers.Serializer[Any]):
    """A number in the unit of its metric."""

    sequence = serializers.IntegerField()
    case_id = serializers.IntegerField()
    case = serializers.CharField(source="case.label")
    metric = serializers.CharField(source="case.metric")
    parameters = serializers.DictField(
        source="case.parameters", child=serializers.CharField()
    )
    value = serializers.FloatField()
    unit = serializers.CharField(source="case.unit")
    repetition = serializers.IntegerField()
    derived = serializers.BooleanField(
        source="is_derived",
        help_text="Derived from the run's other samples, not uploaded.",
    )


class SamplesView(ApiView):
    """The samples of a run in the order they were measured."""

    query_class = ListQuery
    cursor_field = "sequence"

    @extend_schema(
        summary="List a run's samples",
        operation_id="samples_list",
        responses=SampleSerializer(many=True),
    )
    def get(self, request: Request, pk: int) -> Response:
        run = runs.find_run(self.viewer, pk)
        return self.page_of(runs.samples_of(run), SampleSerializer)
