"""/parse/ and /parse/machine/: parse output without storing it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.composite_fields import StrictSerializer, validate_document
from api.kit.errors import too_large_error
from api.kit.fields import RawOutput, Text
from api.kit.output_serializer import OutputSerializer
from api.kit.strict_json import RawOutputJSONParser
from api.kit.views import ApiView
from api.runs import ParseWarningSerializer
from benchmarks.custom_tools.lookup import find_visible_declaration
from benchmarks.custom_tools.sample_tables import extract_sample_runs
from benchmarks.labs.quotas import admit_preview, preview_cpu_budget
from benchmarks.labs.sign_in_throttle import network_of
from benchmarks.parsing import run_extraction
from benchmarks.parsing.machine_facts import read_machine
from benchmarks.parsing.run_extraction import ExtractedRun

HDPARM_EXAMPLE = OpenApiExample(
    "An hdparm run",
    value={
        "output": " Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec",
        "tool": "hdparm",
    },
    request_only=True,
)


class PreviewInput(StrictSerializer):
    """The output to parse."""

    output = RawOutput(help_text="The unmodified output of one or several tools.")
    tool = Text(
        required=False,
        max_length=200,
        help_text=(
            "The tool; if left out, it is detected. A custom tool (`lab:slug`) "
            "reads a table of its samples."
        ),
    )
    locale = Text(
        required=False,
        max_length=200,
        help_text=(
            "The locale of the output, such as de_DE; required to read decimal commas."
        ),
    )
    part = Text(
        required=False,
        max_length=200,
        help_text="The part to parse, if the output has results of several systems.",
    )


class ExtractedSampleSerializer(serializers.Serializer[Any]):
    """A number that was read from an output."""

    metric = serializers.CharField(help_text="The name of the metric.")
    parameters = serializers.DictField(
        help_text="The parameters of the benchmark by name."
    )
    value = serializers.FloatField(help_text="The number as printed.")
    unit = serializers.CharField(
        help_text="The unit of the number, as the tool uses its name."
    )
    repetition = serializers.IntegerField(
        help_text="The number of the repetition within the run."
    )


class ExtractedRunSerializer(OutputSerializer):
    """A run that was found in an output."""

    row_type = ExtractedRun
    columns = """
        tool version=tool_version parser_version status problem first_line last_line
        command part samples warnings facts
    """
    descriptions = {
        "version": "The version of the tool; empty if the output does not state it.",
        "parser_version": "The version of the parser that read the run.",
        "first_line": "The first line of the run in the output.",
        "last_line": "The last line of the run in the output.",
        "command": "The command that printed the output; empty if unknown.",
        "part": (
            "The system or label that the run belongs to, if the output has several; "
            "empty otherwise. An upload must state it as `part`."
        ),
    }

    status = serializers.ChoiceField(
        choices=["parsed", "rejected"], help_text="Whether the run could be parsed."
    )
    problem = serializers.SerializerMethodField(
        help_text="Why the run was rejected; empty otherwise."
    )
    samples = ExtractedSampleSerializer(
        many=True, source="readings", help_text="The measured numbers."
    )
    warnings = ParseWarningSerializer(
        many=True, help_text="Warnings that the tool's own output gives."
    )
    facts = serializers.DictField(help_text="The facts that the output states.")

    def get_problem(self, run: ExtractedRun) -> str:
        return str(run.problem or "")


class PreviewSerializer(serializers.Serializer[Any]):
    """Runs that were parsed but not stored."""

    runs = ExtractedRunSerializer(
        many=True, help_text="The runs that were found in the output."
    )


@contextmanager
def admitted_preview(request: Request) -> Iterator[None]:
    network = network_of(request.META.get("REMOTE_ADDR", ""))
    admit_preview(network)
    with preview_cpu_budget(network):
        yield


class PreviewView(ApiView):
    parser_classes = [RawOutputJSONParser]
    # A token is optional; with it, the custom tools of its lab are known too.
    permission_classes = []

    @extend_schema(
        summary="Parse the output of a tool without storing it",
        request=PreviewInput,
        responses=PreviewSerializer,
        examples=[HDPARM_EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        """Parse the output of tools without storing it.

        A token is required only for custom tools of private studies.
        """
        with admitted_preview(request):
            return Response(PreviewSerializer({"runs": self._extract(request)}).data)

    def _extract(self, request: Request) -> Sequence[ExtractedRun]:
        fields = validate_document(PreviewInput, request.data)
        if len(fields["output"]) > settings.PREVIEW_LIMIT_CHARACTERS:
            raise too_large_error(
                f"A preview parses at most {settings.PREVIEW_LIMIT_CHARACTERS:,} "
                "characters. Shorten the output, or upload it: the server parses "
                "uploads completely."
            )
        name, locale = fields.get("tool"), fields.get("locale")
        # Tokens without read permission may also use the custom tools of their lab.
        viewer = self.lab_viewer if request.auth else self.viewer
        if declaration := find_visible_declaration(viewer, name or ""):
            return extract_sample_runs(
                declaration.tool, declaration.version, fields["output"], locale
            )
        return run_extraction.extract_runs(
            fields["output"], name, locale, part=fields.get("part", "")
        )


EXAMPLE_OUTPUT = OpenApiExample(
    "What uname -a printed",
    value={"output": "Linux alpha 6.1.0-18-amd64 #1 SMP x86_64 GNU/Linux"},
    request_only=True,
)


class MachineOutputInput(StrictSerializer):
    """The output of programs that describe a machine."""

    output = RawOutput(
        help_text=(
            "The output of lscpu, dmidecode, uname -a, systeminfo or esxcli; "
            "several outputs may follow each other."
        )
    )


class MachineFactsSerializer(serializers.Serializer[Any]):
    """The facts of a machine, read from the output of its programs."""

    facts = serializers.DictField(help_text="The facts that the output states.")
    programs = serializers.ListField(
        child=serializers.CharField(),
        help_text="The programs whose output was recognized.",
    )
    warnings = serializers.ListField(
        child=serializers.CharField(),
        help_text=(
            "Reasons why the facts may not describe the machine, for example "
            "because they were printed in a guest."
        ),
    )


class ParseMachineView(ApiView):
    parser_classes = [RawOutputJSONParser]
    authentication_classes = []
    permission_classes = []

    @extend_schema(
        summary="Extract the facts of a machine from the output of its programs",
        request=MachineOutputInput,
        responses=MachineFactsSerializer,
        examples=[EXAMPLE_OUTPUT],
    )
    def post(self, request: Request) -> Response:
        """Read the facts of a machine from output; nothing is stored.

        No token is needed.
        """
        with admitted_preview(request):
            output = validate_document(MachineOutputInput, request.data)["output"]
            facts = read_machine(output)
        return Response(self.serialize(MachineFactsSerializer, facts))
