"""/cases/ and /cells/: metrics with parameters, and their statistics per system."""

from typing import Any, get_args

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.comparisons import DOUBTS
from api.kit.fields import Choice, Text
from api.kit.outputs import OutputSerializer
from api.kit.queries import ListQuery, ToolParameter, WholeParameter, study_parameter
from api.kit.views import AddressedRow, ListView, ReadView
from benchmarks.analysis.clocks import ORDER
from benchmarks.models import Case, Cell, CellSession
from benchmarks.models.run import SCENARIOS
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

    row_type = Case
    columns = """
        tool metric parameters unit better component kind stands_for work_class label
    """

    parameters = serializers.DictField(child=serializers.CharField())
    kind = serializers.SerializerMethodField()
    stands_for = serializers.SerializerMethodField()
    work_class = serializers.SerializerMethodField()

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
    no_filters = ("study",)

    def get_queryset(self) -> QuerySet[Any]:
        study = self.asked_study
        cells = {"study": study} if study else {}
        return Case.objects.measured_for(self.viewer, **cells)


class CaseView(ReadView):
    """One case."""

    kind = "case"
    summary = "Read a case"
    serializer_class = CaseSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return Case.objects.measured_for(self.viewer)


SITTINGS = (
    CellSession.objects.filter(cell=OuterRef("pk"), session__isnull=False)
    .order_by("session__name")
    .values("session__name")
)


class CellSerializer(OutputSerializer):
    """Statistics over the means of ``n`` runs, in ``unit``.

    ``m2`` is the sum of squared deviations from the mean: the variance is m2 / (n - 1).
    ``mean`` is null where no single figure describes the runs; ``doubts`` says why.
    ``session`` is what uploaders named for all its runs, ``sittings`` are the names of
    the sessions they count in. ``clock_trust`` is the worst that is known of the runs'
    clocks, empty if nothing is.
    """

    row_type = Cell
    columns = """
        id study=study.slug system_id system=system.label case_id case=case.label
        tool=case.tool metric=case.metric parameters unit=case.unit better=case.better
        component=case.component scenario vms slot load clock clock_trust n mean doubts
        m2 minimum q1 median q3 maximum sample_count first_at last_at session sittings
        document table updated_at
    """

    parameters = serializers.DictField(
        source="case.parameters", child=serializers.CharField()
    )
    clock_trust = serializers.ChoiceField(choices=ORDER)
    mean = serializers.SerializerMethodField()
    doubts = serializers.SerializerMethodField()
    session = serializers.CharField(source="session.name", default="")
    sittings = serializers.ListField(child=serializers.CharField())

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
    tool = ToolParameter(
        required=False, source="case__tool", help_text="A tool's slug or title."
    )
    metric = Text(required=False, source="case__metric", max_length=100)
    scenario = Choice(choices=SCENARIOS, required=False)


class CellsView(ListView):
    """Summaries of runs."""

    query_class = CellQuery
    summary = "List cells and their statistics"
    serializer_class = CellSerializer

    def get_queryset(self) -> QuerySet[Any]:
        cells = Cell.objects.visible_to(self.viewer).filter(n__gt=0)
        related = cells.select_related("study", "system", "case", "session")
        return related.annotate(sittings=ArraySubquery(SITTINGS))
