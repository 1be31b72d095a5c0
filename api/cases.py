"""/cases/: metrics with their parameters, the rows of comparisons."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Text
from api.kit.queries import ListQuery, ToolParameter, study_parameter
from api.kit.views import AddressedRow, ApiView
from benchmarks.errors import NotFoundError
from benchmarks.models import Case

LOOKUPS = {"tool": "tool", "metric": "metric", "component": "component"}


class CaseSerializer(AddressedRow):
    """A metric of a tool with canonical parameters, in the metric's unit."""

    address = "api:case"

    id = serializers.IntegerField()
    url = serializers.SerializerMethodField()
    tool = serializers.CharField()
    metric = serializers.CharField()
    parameters = serializers.DictField(child=serializers.CharField())
    unit = serializers.CharField()
    better = serializers.CharField()
    component = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field has one too


class CaseQuery(ListQuery):
    study = study_parameter()
    tool = ToolParameter(required=False, help_text="A tool's slug or title.")
    metric = Text(required=False, max_length=100)
    component = Text(required=False, max_length=20)


class CasesView(ApiView):
    """Cases that a visible study has measured."""

    query_class = CaseQuery

    @extend_schema(
        summary="List cases",
        operation_id="cases_list",
        responses=CaseSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        cells = self.looked_up_in_study({})
        cases = Case.objects.measured_for(self.viewer, **cells)
        return self.page_of(cases.filter(**self.looked_up(LOOKUPS)), CaseSerializer)


class CaseView(ApiView):
    """One case."""

    @extend_schema(summary="Read a case", responses=CaseSerializer)
    def get(self, request: Request, pk: int) -> Response:
        case = Case.objects.measured_for(self.viewer).filter(pk=pk).first()
        if case is None:
            raise NotFoundError("case", pk)
        return Response(self.shown(CaseSerializer, case))
