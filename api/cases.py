"""/cases/: benchmarks (a tool and metric with parameters)."""

from typing import Any, get_args

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.kit.fields import Text
from api.kit.query_parameters import (
    ListQuery,
    ToolParameter,
    metric_parameter,
    study_parameter,
)
from api.kit.views import ListView, ReadView, ResourceSerializer
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Case
from benchmarks.parsing.tool import MetricKind
from benchmarks.work_classes import WORK_CLASSES


class CaseSerializer(ResourceSerializer):
    """A benchmark: a metric of a tool with its parameters."""

    url_name = "api:case"

    row_type = Case
    columns = """
        tool metric parameters unit better component kind role work_class label
    """
    descriptions = {
        "label": "The name of the benchmark for people.",
    }

    parameters = serializers.DictField(
        child=serializers.CharField(), help_text="The canonical parameters by name."
    )
    kind = serializers.SerializerMethodField(
        help_text=(
            "What the number is: only a `speed` and an `energy` have a relative "
            "performance; CPU time per amount of work is a `cost`."
        )
    )
    role = serializers.SerializerMethodField(
        help_text=(
            "`test`: the metric is a primary metric of the tool; `implied`: it "
            "follows from the primary metrics and replaces them if none of them was "
            "measured; `detail`: it is neither."
        )
    )
    work_class = serializers.SerializerMethodField(
        help_text="The slug of the kind of work; empty if the metric has none."
    )

    @extend_schema_field(serializers.ChoiceField(choices=get_args(MetricKind)))
    def get_kind(self, case: Case) -> str:
        return str(require_tool(case.tool).metric(case.metric).kind)

    @extend_schema_field(serializers.ChoiceField(choices=("test", "implied", "detail")))
    def get_role(self, case: Case) -> str:
        tool = require_tool(case.tool)
        if case.metric in tool.primary_metrics:
            return "test"
        return "implied" if case.metric in tool.implied_metrics else "detail"

    @extend_schema_field(serializers.ChoiceField(choices=("", *WORK_CLASSES)))
    def get_work_class(self, case: Case) -> str:
        return require_tool(case.tool).work_class_of(case.metric, case.parameters)


class CaseQuery(ListQuery):
    study = study_parameter()
    tool = ToolParameter()
    metric = metric_parameter()
    component = Text(
        required=False,
        max_length=20,
        help_text="The component that the metric measures.",
    )


class CasesView(ListView):
    """Lists the benchmarks that visible studies have measured."""

    query_class = CaseQuery
    summary = "List benchmarks"
    serializer_class = CaseSerializer
    non_filter_parameters = ("study",)

    def get_queryset(self) -> QuerySet[Any]:
        study = self.requested_study
        cells = {"study": study} if study else {}
        return Case.objects.visible_to(self.viewer, **cells)


class CaseView(ReadView):
    """Returns a benchmark that a visible study has measured."""

    kind = "case"
    summary = "Read a benchmark"
    serializer_class = CaseSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return Case.objects.visible_to(self.viewer)
