from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.composite_fields import ListOf, StrictSerializer
from api.kit.fields import Boolean, Choice, Slug, Text
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import ListQuery
from api.kit.views import (
    ApiView,
    ListView,
    ReadView,
    ResourceSerializer,
    ValidatedData,
    operation,
)
from benchmarks.custom_tools.declaration import DeclaredMetric
from benchmarks.custom_tools.lookup import find_visible_tool, visible_custom_tools
from benchmarks.custom_tools.registration import (
    BETTER,
    COMPONENTS,
    MAX_DESCRIPTION,
    MAX_HOMEPAGE,
    MAX_METRICS,
    MAX_NAME,
    METRIC_KINDS,
    change_tool,
    declare_tool,
    read_declaration,
    retire_tool,
)
from benchmarks.models import CustomTool, CustomToolVersion
from benchmarks.work_classes import WORK_CLASSES

EXAMPLE_DECLARATION = {
    "title": "Boot stopwatch",
    "description": "From power-on to the login prompt, timed by a camera.",
    "metrics": [
        {
            "name": "boot time",
            "unit": "s",
            "better": "lower",
            "component": "application",
            "work_class": "system-process-creation",
            "is_primary": True,
        }
    ],
}
EXAMPLE = ("A stopwatch", {"slug": "boot-time", **EXAMPLE_DECLARATION})
EXAMPLE_VERSION = ("A new version", EXAMPLE_DECLARATION)
EXAMPLE_RETIRED = ("Accept no more uploads", {"is_retired": True})


class MetricInput(StrictSerializer):
    """A metric of a custom tool."""

    name = Text(max_length=MAX_NAME, help_text="The name of the metric in uploads.")
    title = Text(
        required=False,
        allow_blank=True,
        max_length=MAX_NAME,
        help_text="The name of the metric in tables; the default is `name`.",
    )
    unit = Text(
        max_length=20,
        allow_blank=True,
        help_text=(
            "The unit; empty for a plain number. Uploads may use any unit that "
            "converts to it."
        ),
    )
    better = Choice(
        choices=BETTER,
        help_text="Whether a higher or a lower value is better, or neither.",
    )
    component = Choice(
        choices=COMPONENTS, help_text="The component that the metric measures."
    )
    work_class = Choice(
        choices=["", *WORK_CLASSES],
        required=False,
        help_text="The slug of the kind of work; metrics without one are never pooled.",
    )
    kind = Choice(
        choices=["", *METRIC_KINDS],
        required=False,
        help_text=(
            "What kind of number the metric is; if left out, it is derived from "
            "`unit` and `better`. Only speeds, energies and CPU time per amount of "
            "work have a relative performance."
        ),
    )
    fixed_by_parameter = Text(
        required=False,
        allow_blank=True,
        max_length=64,
        help_text=(
            "The parameter that fixes the value, such as the length of a timed "
            "test; such a metric has no relative performance."
        ),
    )
    allows_zero = Boolean(
        required=False,
        help_text=(
            "Whether 0 is a valid reading; otherwise it is rejected as a failed run."
        ),
    )
    is_primary = Boolean(
        required=False,
        help_text="Whether the metric enters profiles; at least one metric must.",
    )


class CustomToolDeclarationInput(StrictSerializer):
    """The complete declaration of a version of a custom tool. Omitted fields are
    empty.
    """

    title = Text(max_length=MAX_NAME, help_text="The title of the tool.")
    homepage = Text(
        required=False,
        allow_blank=True,
        max_length=MAX_HOMEPAGE,
        help_text="The URL of the tool's homepage.",
    )
    description = Text(
        required=False,
        allow_blank=True,
        multiline=True,
        max_length=MAX_DESCRIPTION,
        help_text="What the tool measures.",
    )
    metrics = ListOf(
        child=MetricInput(),
        min_length=1,
        max_length=MAX_METRICS,
        help_text="The metrics that the tool measures.",
    )


class CustomToolInput(CustomToolDeclarationInput):
    """A custom tool and its first version."""

    slug = Slug(
        help_text=(
            "The slug of the tool; it must differ from every tool name in "
            "`docs/tools.md`."
        )
    )


class CustomToolChange(StrictSerializer):
    """A request to retire or reactivate a custom tool."""

    is_retired = Boolean(
        help_text="Whether the tool is retired; a retired tool accepts no uploads."
    )


class MetricSerializer(OutputSerializer):
    """A metric of a custom tool."""

    row_type = DeclaredMetric
    columns = """
        name title unit better component work_class kind fixed_by_parameter
        allows_zero is_primary
    """
    descriptions = {
        "name": "The name of the metric in uploads.",
        "title": "The name of the metric in tables.",
        "unit": "The unit; empty for a plain number.",
        "fixed_by_parameter": (
            "The parameter that fixes the value, such as the length of a timed "
            "test; empty if none does."
        ),
        "allows_zero": (
            "Whether 0 is a valid reading; otherwise it is rejected as a failed run."
        ),
        "is_primary": "Whether the metric enters profiles.",
    }

    better = serializers.ChoiceField(
        choices=BETTER,
        help_text="Whether a higher or a lower value is better, or neither.",
    )
    component = serializers.ChoiceField(
        choices=COMPONENTS, help_text="The component that the metric measures."
    )
    kind = serializers.CharField(
        default="",
        help_text=(
            "What kind of number the metric is; empty if it is derived from `unit` "
            "and `better`."
        ),
    )


class CustomToolVersionSerializer(OutputSerializer):
    """A version of a custom tool."""

    row_type = CustomToolVersion
    columns = "number title homepage description metrics declared_by declared_at"
    descriptions = {
        "number": "The number of the version, counted from 1.",
        "title": "The title of the tool in this version.",
        "homepage": "The URL of the tool's homepage.",
        "description": "What the tool measures.",
        "declared_by": "The name of the person or agent that declared the version.",
        "declared_at": "When the version was declared.",
    }

    metrics = MetricSerializer(many=True, help_text="The metrics of this version.")


class CustomToolSerializer(ResourceSerializer):
    """A tool that a lab declared."""

    url_name = "api:custom-tool"

    row_type = CustomTool
    columns = "lab=lab.slug slug name title version versions created_at retired_at"
    descriptions = {
        "slug": "The slug of the tool in its lab.",
        "name": "The name of the tool in runs and benchmarks (`lab:slug`).",
        "retired_at": "When the tool was retired; null if it is in use.",
    }

    title = serializers.SerializerMethodField(
        help_text="The title in the newest version."
    )
    version = serializers.SerializerMethodField(
        help_text="The number of the newest version."
    )
    versions = CustomToolVersionSerializer(
        many=True,
        source="versions.all",
        read_only=True,
        help_text="All versions, the newest first.",
    )

    def get_title(self, tool: CustomTool) -> str:
        return str(tool.versions.all()[0].title)

    def get_version(self, tool: CustomTool) -> int:
        return int(tool.versions.all()[0].number)


class CustomToolQuery(ListQuery):
    lab = Slug(required=False, source="lab__slug", help_text="The slug of a lab.")
    slug = Slug(required=False, help_text="The slug of a custom tool.")


class CustomToolsView(ListView):
    """Lists the custom tools of the client's labs and those with visible results."""

    query_class = CustomToolQuery
    summary = "List custom tools"
    serializer_class = CustomToolSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_custom_tools(self.viewer)

    @operation(
        "Declare a custom tool",
        CustomToolInput,
        EXAMPLE,
        statuses=(201, 200),
    )
    def post(self, document: ValidatedData) -> Response:
        """Declare a custom tool with its first version.

        If the lab has declared an identical tool, it is returned with status 200.
        """
        tool, created = declare_tool(
            lab=self.lab,
            slug=document["slug"],
            declaration=read_declaration(document),
            actor=self.agent,
        )
        visible_tool = find_visible_tool(self.lab_viewer, pk=tool.pk)
        return self.created_response(CustomToolSerializer, visible_tool, created)


class CustomToolView(ReadView):
    """Returns a custom tool with all its versions."""

    summary = "Read a custom tool"
    serializer_class = CustomToolSerializer

    def get_object(self) -> Any:
        return find_visible_tool(self.viewer, pk=self.kwargs["pk"])

    @operation(
        "Retire or reactivate a custom tool",
        CustomToolChange,
        EXAMPLE_RETIRED,
    )
    def patch(self, change: ValidatedData, pk: int) -> Response:
        """Retire a custom tool, or reactivate it, with a token of its lab."""
        tool = find_visible_tool(self.lab_viewer, pk=pk)
        self.require_same_lab(tool, "tool", pk)
        retire_tool(tool=tool, actor=self.agent, is_retired=change["is_retired"])
        visible_tool = find_visible_tool(self.lab_viewer, pk=pk)
        return Response(self.serialize(CustomToolSerializer, visible_tool))


class CustomToolVersionsView(ApiView):
    @operation(
        "Declare a new version of a custom tool",
        CustomToolDeclarationInput,
        EXAMPLE_VERSION,
        response_serializers=CustomToolSerializer,
        statuses=(201, 200),
    )
    def post(self, document: ValidatedData, pk: int) -> Response:
        """Declare a new version of a custom tool, which replaces all earlier ones.

        Fields that are left out become empty. If the declaration is identical with the
        newest version, it is returned with status 200.
        """
        tool = find_visible_tool(self.lab_viewer, pk=pk)
        self.require_same_lab(tool, "tool", pk)
        _, created = change_tool(
            tool=tool, declaration=read_declaration(document), actor=self.agent
        )
        visible_tool = find_visible_tool(self.lab_viewer, pk=pk)
        return self.created_response(CustomToolSerializer, visible_tool, created)
