"""/cells/: results with their statistics."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.comparisons import SHAPE_CODES
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import (
    IntegerParameter,
    ListQuery,
    ToolParameter,
    metric_parameter,
    scenario_parameter,
    study_parameter,
)
from api.kit.views import ListView
from benchmarks.analysis.clock_reliability import TRUST_ORDER
from benchmarks.models import Cell, CellSession
from benchmarks.models.cell import SHOWN_CELLS

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
        summarized_runs failed_runs failure
        shape_codes m2 minimum q1 median q3 maximum sample_count first_at last_at
        declared_session sessions
        document table updated_at
    """
    descriptions = {
        "failed_runs": (
            "The number of runs whose work failed; they are not among the n runs. If "
            "all runs failed, n is 0 and there are no statistics."
        ),
        "failure": "Why most of them failed; empty if none did.",
        "summarized_runs": (
            "How many of the n runs are known only from a published mean and standard "
            "deviation. If any are, minimum, maximum and quartiles are null."
        ),
        "m2": (
            "The sum of squared deviations of the run means from their mean; the "
            "variance is m2 / (n - 1). Null if a standard deviation is not stated."
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
        cells = Cell.objects.visible_to(self.viewer).filter(SHOWN_CELLS)
        related = cells.select_related("study", "system", "case", "declared_session")
        return related.annotate(session_names=ArraySubquery(CELL_SESSIONS))
