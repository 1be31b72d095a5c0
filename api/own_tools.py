"""/own-tools/: benchmarks that a lab declares itself, and the versions of each."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.fields import Choice, Slug, Text, TrueOrFalse
from api.kit.outputs import OutputSerializer
from api.kit.queries import ListQuery
from api.kit.shapes import ListOf, StrictSerializer
from api.kit.views import AddressedRow, ApiView, Fields, ListView, ReadView, operation
from benchmarks.models import OwnTool, OwnToolVersion
from benchmarks.own_tools.declaration import DeclaredMetric
from benchmarks.own_tools.declaring import (
    BETTER,
    COMPONENTS,
    KINDS,
    MAX_DESCRIPTION,
    MAX_HOMEPAGE,
    MAX_METRICS,
    MAX_NAME,
    change_tool,
    declare_tool,
    declared,
    retire_tool,
)
from benchmarks.own_tools.lookup import find_tool_of, visible_tools
from benchmarks.work_classes import WORK_CLASSES

DECLARED = {
    "title": "Boot stopwatch",
    "description": "From power-on to the login prompt, timed by a camera.",
    "metrics": [
        {
            "name": "boot time",
            "unit": "s",
            "better": "lower",
            "component": "application",
            "work_class": "system-process-creation",
            "primary": True,
        }
    ],
}
EXAMPLE = ("A stopwatch", {"slug": "boot-time", **DECLARED})
EXAMPLE_VERSION = ("What it is now", DECLARED)
EXAMPLE_RETIRED = ("Take no more uploads", {"is_retired": True})


class MetricInput(StrictSerializer):
    """What one number of the tool means."""

    name = Text(max_length=MAX_NAME)
    title = Text(
        required=False,
        allow_blank=True,
        max_length=MAX_NAME,
        help_text="What tables call it; the name unless told.",
    )
    unit = Text(
        max_length=20,
        allow_blank=True,
        help_text="Uploads may use any unit that converts; empty for a plain count.",
    )
    better = Choice(choices=BETTER)
    component = Choice(choices=COMPONENTS)
    work_class = Choice(
        choices=["", *WORK_CLASSES],
        required=False,
        help_text="Empty or left out: work of no class, never pooled.",
    )
    kind = Choice(
        choices=["", *KINDS],
        required=False,
        help_text="What sort of number it is; empty or left out: what its unit and "
        "direction say. Only speeds and energies, and CPU time for work, have an "
        "efficiency; a time that is always of one length is a setting.",
    )
    fixed_by = Text(
        required=False,
        allow_blank=True,
        max_length=64,
        help_text="The parameter that fixes the value, as the length of a timed test: "
        "such a metric has no speed.",
    )
    zero_allowed = TrueOrFalse(
        required=False,
        help_text="0 can be a reading. Else it is refused: a failed run.",
    )
    primary = TrueOrFalse(
        required=False,
        help_text="Only primary metrics enter profiles; at least one.",
    )


class DeclarationInput(StrictSerializer):
    """All that a version says; what is left out is not said any more."""

    title = Text(max_length=MAX_NAME)
    homepage = Text(required=False, allow_blank=True, max_length=MAX_HOMEPAGE)
    description = Text(
        required=False, allow_blank=True, multiline=True, max_length=MAX_DESCRIPTION
    )
    metrics = ListOf(child=MetricInput(), min_length=1, max_length=MAX_METRICS)


class OwnToolInput(DeclarationInput):
    """A slug and its first version."""

    slug = Slug(help_text="Unlike every name of a tool in docs/tools.md.")


class OwnToolChange(StrictSerializer):
    is_retired = TrueOrFalse(help_text="A retired tool takes no new uploads.")


class MetricSerializer(OutputSerializer):
    row_type = DeclaredMetric
    columns = """
        name title unit better component work_class kind fixed_by zero_allowed primary
    """

    better = serializers.ChoiceField(choices=BETTER)
    component = serializers.ChoiceField(choices=COMPONENTS)
    kind = serializers.CharField(default="")


class OwnToolVersionSerializer(OutputSerializer):
    """What was declared on a day, and by whom."""

    row_type = OwnToolVersion
    columns = "number title homepage description metrics who at"

    metrics = MetricSerializer(many=True)


class OwnToolSerializer(AddressedRow):
    """A tool by its newest version; ``name`` is what runs and cases call it."""

    address = "api:own-tool"

    row_type = OwnTool
    columns = "lab=lab.slug slug name title version versions created_at retired_at"

    title = serializers.SerializerMethodField()
    version = serializers.SerializerMethodField()
    versions = OwnToolVersionSerializer(
        many=True,
        source="versions.all",
        read_only=True,
        help_text="All, the newest first.",
    )

    def get_title(self, tool: OwnTool) -> str:
        return str(tool.versions.all()[0].title)

    def get_version(self, tool: OwnTool) -> int:
        return int(tool.versions.all()[0].number)


class OwnToolQuery(ListQuery):
    lab = Slug(required=False, source="lab__slug", help_text="A lab's slug.")
    slug = Slug(required=False)


class OwnToolsView(ListView):
    """Own tools of one's lab, and those that a public study measured with."""

    query_class = OwnToolQuery
    summary = "List the tools that labs declared"
    serializer_class = OwnToolSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_tools(self.viewer)

    @operation(
        "Declare a tool of the token's lab, or find the same one",
        OwnToolInput,
        EXAMPLE,
        statuses=(201, 200),
    )
    def post(self, document: Fields) -> Response:
        tool, created = declare_tool(
            lab=self.lab,
            slug=document["slug"],
            declaration=declared(document),
            by=self.agent,
        )
        shown = find_tool_of(self.lab_viewer, pk=tool.pk)
        return self.created_or_known(OwnToolSerializer, shown, created)


class OwnToolView(ReadView):
    """One own tool; its lab retires it, and takes it into use again."""

    summary = "Read a tool that a lab declared"
    serializer_class = OwnToolSerializer

    def get_object(self) -> Any:
        return find_tool_of(self.viewer, pk=self.kwargs["pk"])

    @operation(
        "Retire a tool of the token's lab, or take it into use again",
        OwnToolChange,
        EXAMPLE_RETIRED,
    )
    def patch(self, change: Fields, pk: int) -> Response:
        tool = find_tool_of(self.lab_viewer, pk=pk)
        self.require_own(tool, "tool", pk)
        retire_tool(tool=tool, by=self.agent, is_retired=change["is_retired"])
        shown = find_tool_of(self.lab_viewer, pk=pk)
        return Response(self.shown(OwnToolSerializer, shown))


class OwnToolVersionsView(ApiView):
    """What a lab declares of its tool from now on."""

    @operation(
        "Declare a new version of a tool, or find the same one",
        DeclarationInput,
        EXAMPLE_VERSION,
        answers=OwnToolSerializer,
        statuses=(201, 200),
    )
    def post(self, document: Fields, pk: int) -> Response:
        tool = find_tool_of(self.lab_viewer, pk=pk)
        self.require_own(tool, "tool", pk)
        _, created = change_tool(
            tool=tool, declaration=declared(document), by=self.agent
        )
        shown = find_tool_of(self.lab_viewer, pk=pk)
        return self.created_or_known(OwnToolSerializer, shown, created)
