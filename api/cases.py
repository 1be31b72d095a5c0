"""/cases/: metrics with their parameters, the rows of comparisons."""

from typing import Any, get_args

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Text
from api.kit.queries import ListQuery, ToolParameter, study_parameter
from api.kit.views import AddressedRow, ApiView, ListView
from benchmarks.errors import NotFoundError
from benchmarks.models import Case
from benchmarks.own_tools.lookup import known_tool
from benchmarks.parsing.contract import Kind
from benchmarks.work_classes import WORK_CLASSES


class CaseSerializer(AddressedRow):
    """A metric of a tool with canonical parameters, in the metric's unit.

    ``kind`` is what the metric tells of: only a ``speed`` and an ``energy`` have an
    efficiency. ``stands_for`` is ``test`` for a primary metric, ``implied`` for one
    that follows from others (it stands for its test where none of these was measured)
    and ``detail`` for all others. ``work_class`` is the slug of the kind of work, empty
    where none is declared.
    """

    address = "api:case"

    id = serializers.IntegerField()
    url = serializers.SerializerMethodField()
    tool = serializers.CharField()
    metric = serializers.CharField()
    parameters = serializers.DictField(child=serializers.CharField())
    unit = serializers.CharField()
    better = serializers.CharField()
    component = serializers.CharField()
    kind = serializers.SerializerMethodField()
    stands_for = serializers.SerializerMethodField()
    work_class = serializers.SerializerMethodField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field has one too

    @extend_schema_field(serializers.ChoiceField(choices=get_args(Kind)))
    def get_kind(self, case: Case) -> str:
        return str(known_tool(case.tool).metric(case.metric).kind)

    @extend_schema_field(serializers.ChoiceField(choices=("test", "implied", "detail")))
    def get_stands_for(self, case: Case) -> str:
        tool = known_tool(case.tool)
        if case.metric in tool.primary:
            return "test"
        return "implied" if case.metric in tool.implied else "detail"

    @extend_schema_field(serializers.ChoiceField(choices=("", *WORK_CLASSES)))
    def get_work_class(self, case: Case) -> str:
        return known_tool(case.tool).work_of(case.metric, case.parameters)


class CaseQuery(ListQuery):
    study = study_parameter()
    tool = ToolParameter(required=False, help_text="A tool's slug or title.")
    metric = Text(required=False, max_length=100)
    component = Text(required=False, max_length=20)


class CasesView(ListView):
    """Cases that a visible study has measured."""

    query_class = CaseQuery
    summary = "List cases"
    serializer_class = CaseSerializer
    lookups = {"tool": "tool", "metric": "metric", "component": "component"}

    def get_queryset(self) -> QuerySet[Any]:
        cells = self.looked_up({"study": "study"})
        return Case.objects.measured_for(self.viewer, **cells)


class CaseView(ApiView):
    """One case."""

    @extend_schema(summary="Read a case", responses=CaseSerializer)
    def get(self, request: Request, pk: int) -> Response:
        case = Case.objects.measured_for(self.viewer).filter(pk=pk).first()
        if case is None:
            raise NotFoundError("case", pk)
        return Response(self.shown(CaseSerializer, case))
