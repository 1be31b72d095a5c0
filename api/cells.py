"""/cells/: the statistics of each system, case and scenario."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.comparisons import DOUBTS
from api.kit.fields import Choice, Text
from api.kit.queries import ListQuery, ToolParameter, WholeParameter, study_parameter
from api.kit.views import ListView
from benchmarks.analysis.clocks import ORDER
from benchmarks.comparing.table import SCENARIOS
from benchmarks.models import Cell, CellSession

SITTINGS = (
    CellSession.objects.filter(cell=OuterRef("pk"), session__isnull=False)
    .order_by("session__name")
    .values("session__name")
)


class CellSerializer(serializers.Serializer[Any]):
    """Statistics over the means of ``n`` runs, in ``unit``.

    ``m2`` is the sum of squared deviations from the mean: the variance is m2 / (n - 1).
    ``mean`` is null where no single figure describes the runs; ``doubts`` says why.
    ``session`` is what uploaders named for all its runs, ``sittings`` are the names of
    the sessions they count in. ``clock_trust`` is the worst that is known of the runs'
    clocks, empty if nothing is.
    """

    id = serializers.IntegerField()
    study = serializers.CharField(source="study.slug")
    system_id = serializers.IntegerField()
    system = serializers.CharField(source="system.label")
    case_id = serializers.IntegerField()
    case = serializers.CharField(source="case.label")
    tool = serializers.CharField(source="case.tool")
    metric = serializers.CharField(source="case.metric")
    parameters = serializers.DictField(
        source="case.parameters", child=serializers.CharField()
    )
    unit = serializers.CharField(source="case.unit")
    better = serializers.CharField(source="case.better")
    component = serializers.CharField(source="case.component")
    scenario = serializers.CharField()
    vms = serializers.IntegerField(allow_null=True)
    slot = serializers.CharField()
    load = serializers.CharField()
    clock = serializers.CharField()
    clock_trust = serializers.ChoiceField(choices=ORDER)
    n = serializers.IntegerField()
    mean = serializers.SerializerMethodField()
    doubts = serializers.SerializerMethodField()
    m2 = serializers.FloatField(allow_null=True)
    minimum = serializers.FloatField(allow_null=True)
    q1 = serializers.FloatField(allow_null=True)
    median = serializers.FloatField(allow_null=True)
    q3 = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    sample_count = serializers.IntegerField()
    first_at = serializers.DateTimeField(allow_null=True)
    last_at = serializers.DateTimeField(allow_null=True)
    session = serializers.CharField(source="session.name", default="")
    sittings = serializers.ListField(child=serializers.CharField())
    document = serializers.CharField()
    table = serializers.CharField()
    updated_at = serializers.DateTimeField()

    @extend_schema_field(serializers.FloatField(allow_null=True))
    def get_mean(self, cell: Cell) -> float | None:
        return None if cell.shape_codes else cell.mean

    @extend_schema_field(
        serializers.ListField(child=serializers.ChoiceField(choices=DOUBTS))
    )
    def get_doubts(self, cell: Cell) -> list[str]:
        return cell.shape_codes.split(",") if cell.shape_codes else []


class CellQuery(ListQuery):
    study = study_parameter()
    system = WholeParameter(required=False, help_text="A system's id.")
    case = WholeParameter(required=False, help_text="A case's id.")
    tool = ToolParameter(required=False, help_text="A tool's slug or title.")
    metric = Text(required=False, max_length=100)
    scenario = Choice(choices=SCENARIOS, required=False)


class CellsView(ListView):
    """Summaries of runs."""

    query_class = CellQuery
    summary = "List cells and their statistics"
    serializer_class = CellSerializer
    lookups = {
        "study": "study",
        "system": "system",
        "case": "case",
        "tool": "case__tool",
        "metric": "case__metric",
        "scenario": "scenario",
    }

    def get_queryset(self) -> QuerySet[Any]:
        cells = Cell.objects.visible_to(self.viewer).filter(n__gt=0)
        related = cells.select_related("study", "system", "case", "session")
        return related.annotate(sittings=ArraySubquery(SITTINGS))
