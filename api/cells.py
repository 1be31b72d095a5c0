"""/cases/ and /cells/: benchmarks, and results with their statistics."""

from typing import Any, get_args

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.comparisons import SHAPE_CODES
from api.kit.fields import Text
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import (
    IntegerParameter,
    ListQuery,
    ToolParameter,
    metric_parameter,
    scenario_parameter,
    study_parameter,
)
from api.kit.views import ListView, ReadView, ResourceSerializer
from benchmarks.analysis.clock_reliability import TRUST_ORDER
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Case, Cell, CellSession
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


CELL_SESSIONS = (
    CellSession.objects.filter(cell=OuterRef("pk"), session__isnull=False)
    .order_by("session__name")
    .values("session__name")
)


class CellSerializer(OutputSerializer):
    """A result: statistics over the run means of one system and benchmark."""

    row_type = Cell
    columns = """
        id study=study.slug system_id system=system.label case_id case=case.label
        tool=case.tool metric=case.metric parameters unit=case.unit better=case.better
        component=case.component scenario vms slot load clock clock_trust n mean
        shape_codes m2 minimum q1 median q3 maximum sample_count first_at last_at
        declared_session sessions
        document table updated_at
    """
    descriptions = {
        "m2": (
            "The sum of squared deviations of the run means from their mean; the "
            "variance is m2 / (n - 1)."
        ),
        "minimum": "The lowest run mean.",
        "q1": "The lower quartile of the run means.",
        "median": "The median of the run means.",
        "q3": "The upper quartile of the run means.",
        "maximum": "The highest run mean.",
        "sample_count": "The number of samples in all runs.",
        "first_at": "When the first run started; null if no start is known.",
        "last_at": "When the last run started; null if no start is known.",
        "updated_at": "When the result was last computed.",
    }

    parameters = serializers.DictField(
        source="case.parameters",
        child=serializers.CharField(),
        help_text="The parameters of the benchmark by name.",
    )
    clock_trust = serializers.ChoiceField(
        choices=TRUST_ORDER,
        help_text=(
            "The worst trust in the clocks of the runs; empty if nothing is known."
        ),
    )
    mean = serializers.SerializerMethodField(
        help_text=(
            "The mean of the run means; null if no single figure describes the runs."
        )
    )
    shape_codes = serializers.SerializerMethodField(
        help_text=(
            "Codes of the reasons why no single figure describes the runs; empty if "
            "one does."
        )
    )
    declared_session = serializers.CharField(
        source="declared_session.name",
        default="",
        help_text=(
            "The session that the uploader named for all runs; empty if none or "
            "several."
        ),
    )
    sessions = serializers.ListField(
        source="session_names",
        child=serializers.CharField(),
        help_text="The names of the sessions to which the runs belong.",
    )

    @extend_schema_field(serializers.FloatField(allow_null=True))
    def get_mean(self, cell: Cell) -> float | None:
        return None if cell.shape_codes else cell.mean

    @extend_schema_field(
        serializers.ListField(child=serializers.ChoiceField(choices=SHAPE_CODES))
    )
    def get_shape_codes(self, cell: Cell) -> list[str]:
        return cell.shape_codes.split(",") if cell.shape_codes else []


class CellQuery(ListQuery):
    study = study_parameter()
    system = IntegerParameter(required=False, help_text="The id of a system.")
    case = IntegerParameter(
        required=False, help_text="The id of a benchmark (`/cases/`)."
    )
    tool = ToolParameter(source="case__tool")
    metric = metric_parameter(source="case__metric")
    scenario = scenario_parameter()


class CellsView(ListView):
    """Lists the results of visible studies: statistics over the means of runs."""

    query_class = CellQuery
    summary = "List results and their statistics"
    serializer_class = CellSerializer

    def get_queryset(self) -> QuerySet[Any]:
        cells = Cell.objects.visible_to(self.viewer).filter(n__gt=0)
        related = cells.select_related("study", "system", "case", "declared_session")
        return related.annotate(session_names=ArraySubquery(CELL_SESSIONS))
