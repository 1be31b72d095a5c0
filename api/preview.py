"""/parse/: what a tool's raw output says, read but not stored."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.errors import too_large
from api.kit.fields import Printed, Text
from api.kit.parsing import PrintedJSONParser
from api.kit.shapes import StrictSerializer, checked
from api.kit.views import ApiView
from api.runs import MarkSerializer
from benchmarks.labs.quotas import admit_preview
from benchmarks.labs.throttle import network_of
from benchmarks.own_tools.lookup import readable_tool
from benchmarks.own_tools.samples import read_runs
from benchmarks.parsing import reading
from benchmarks.parsing.reading import ReadRun

EXAMPLE = OpenApiExample(
    "An hdparm run",
    value={
        "output": " Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec",
        "tool": "hdparm",
    },
    request_only=True,
)


class PreviewInput(StrictSerializer):
    output = Printed(help_text="What one or several tools printed, as it was printed.")
    tool = Text(
        required=False,
        max_length=200,
        help_text="A name of the tool; without it each part says itself whose it is. "
        "That of a tool that a lab declared (lab:slug) reads a table of its samples.",
    )
    locale = Text(
        required=False,
        max_length=200,
        help_text="de_DE for example: only then a decimal comma is read as one.",
    )


class ReadingSerializer(serializers.Serializer[Any]):
    metric = serializers.CharField()
    parameters = serializers.DictField()
    value = serializers.FloatField(help_text="The number as it was printed.")
    unit = serializers.CharField(help_text="What the tool means by it, exactly.")
    repetition = serializers.IntegerField()


class ReadRunSerializer(serializers.Serializer[ReadRun]):
    """A run found in the text; a rejected one has no samples but a problem."""

    tool = serializers.CharField()
    version = serializers.CharField(source="tool_version")
    parser_version = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["parsed", "rejected"])
    problem = serializers.SerializerMethodField()
    first_line = serializers.IntegerField()
    last_line = serializers.IntegerField()
    command = serializers.CharField()
    samples = ReadingSerializer(many=True, source="readings")
    warnings = MarkSerializer(many=True)
    facts = serializers.DictField()

    def get_problem(self, run: ReadRun) -> str:
        return str(run.problem or "")


class PreviewSerializer(serializers.Serializer[Any]):
    runs = ReadRunSerializer(many=True)


class PreviewView(ApiView):
    """Reads raw output for whoever asks; nothing of it is kept."""

    parser_classes = [PrintedJSONParser]
    # A token shows what its lab alone may see; nobody needs one.
    permission_classes = []

    @extend_schema(
        summary="Read a tool's raw output without storing it",
        request=PreviewInput,
        responses=PreviewSerializer,
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        admit_preview(network_of(request.META.get("REMOTE_ADDR", "")))
        given = checked(PreviewInput, request.data)
        if len(given["output"]) > settings.PREVIEW_LIMIT_CHARACTERS:
            raise too_large(
                f"A preview reads at most {settings.PREVIEW_LIMIT_CHARACTERS:,} "
                "characters. Cut the output, or upload it: uploads are read whole."
            )
        name, locale = given.get("tool"), given.get("locale")
        # An agent that may but upload uploads by the tools of its lab, too.
        viewer = self.lab_viewer if request.auth else self.viewer
        if own := readable_tool(viewer, name or ""):
            runs = read_runs(own.tool, own.version, given["output"], locale)
        else:
            runs = reading.read(given["output"], name, locale)
        return Response(PreviewSerializer({"runs": runs}).data)
