"""/runs/: uploads, runs and samples. /parse/: parse output without storing it."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.status import HTTP_200_OK, HTTP_202_ACCEPTED

from api.kit.authentication import token_from_header
from api.kit.composite_fields import StrictSerializer, validate_document
from api.kit.errors import too_large_error
from api.kit.fields import Choice, RawOutput, Text, UUIDText
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import (
    IntegerParameter,
    ListQuery,
    ToolParameter,
    study_parameter,
)
from api.kit.strict_json import RawOutputJSONParser
from api.kit.views import ApiView, ListView, ResourceSerializer, UploadView
from api.uploads import RAW_EXAMPLE, RUN_EXAMPLE, RunInput, read_upload
from benchmarks.custom_tools.lookup import find_visible_declaration
from benchmarks.custom_tools.sample_tables import extract_sample_runs
from benchmarks.errors import BatchRefusedError, BenchmarksError
from benchmarks.labs import tokens
from benchmarks.labs.quotas import admit_preview
from benchmarks.labs.sign_in_throttle import network_of
from benchmarks.models import Run, Sample
from benchmarks.parsing import run_extraction
from benchmarks.parsing.run_extraction import ExtractedRun
from benchmarks.parsing.tool import ParseWarning
from benchmarks.uploads import run_queries
from benchmarks.uploads.intake import submit_uploads


class SampleSerializer(OutputSerializer):
    """One measured number."""

    row_type = Sample
    columns = """
        sequence case_id case=case.label metric=case.metric parameters value
        unit=case.unit repetition
    """
    descriptions = {
        "sequence": "The position of the sample in its run, counted from 1.",
        "value": "The number in the unit of the metric.",
        "repetition": "The number of the repetition within the run.",
    }

    parameters = serializers.DictField(
        source="case.parameters",
        child=serializers.CharField(),
        help_text="The parameters of the benchmark by name.",
    )
    is_derived = serializers.BooleanField(
        help_text=(
            "Whether the sample was derived from other samples of the run instead "
            "of uploaded."
        ),
    )


class SamplesView(ListView):
    """The samples of a run in the order of measurement."""

    cursor_field = "sequence"
    summary = "List the samples of a run"
    operation_id = "samples_list"
    serializer_class = SampleSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return run_queries.samples_of(
            run_queries.find_run(self.viewer, self.kwargs["pk"])
        )


class ParseWarningSerializer(OutputSerializer):
    """A warning that the output of a tool gives about its own result."""

    columns = "code:str message"
    descriptions = {
        "code": "A stable code for programs.",
    }

    message = serializers.SerializerMethodField(help_text="The warning in words.")

    def get_message(self, warning: ParseWarning | Mapping[str, str]) -> str:
        # Warnings of a stored run are JSON.
        if isinstance(warning, ParseWarning):
            return str(warning.message)
        return warning["sentence"]


class UploadReceiptSerializer(serializers.Serializer[Any]):
    """The result of an upload. Status 200 and 202 both mean that it is stored."""

    id = serializers.IntegerField(help_text="The id of the first run of the upload.")
    key = serializers.UUIDField()
    status = serializers.ChoiceField(
        choices=Run.Status.values, help_text="The processing status."
    )
    url = serializers.URLField(help_text="The URL of the run.")


class RunSerializer(ResourceSerializer):
    """One execution of one tool on one system."""

    url_name = "api:run"

    row_type = Run
    columns = """
        key upload_position lab=study.lab.slug study=study.slug duplicate_of system_id
        system=system.label agent=agent.name tool tool_version parser_version
        custom_tool_version scenario vms slot load corun declared_session session
        session_id clock
        started_at received_at document table note facts status reason warnings
        first_line last_line sample_count
    """
    descriptions = {
        "key": "The upload key.",
        "agent": "The name of the agent that uploaded the run.",
        "tool_version": "The version of the tool; empty if not stated.",
        "session_id": "The id of that session; null if no start time is known.",
        "started_at": "When the run started; null if unknown.",
        "received_at": "When the upload was received.",
        "reason": "Why the run was rejected or set aside; empty otherwise.",
        "first_line": (
            "The first line of the run in the output; null if samples were uploaded."
        ),
        "last_line": (
            "The last line of the run in the output; null if samples were uploaded."
        ),
        "sample_count": "The number of samples.",
    }

    upload_position = serializers.IntegerField(
        help_text="The position of the run in its upload, counted from 1."
    )
    duplicate_of = serializers.IntegerField(
        source="duplicate_of_id",
        allow_null=True,
        help_text=(
            "The id of an earlier run with the same content; this run is not "
            "counted again."
        ),
    )
    parser_version = serializers.IntegerField(
        allow_null=True,
        help_text="The version of the parser; null if samples were uploaded.",
    )
    custom_tool_version = serializers.IntegerField(
        allow_null=True,
        help_text=(
            "The version of the custom tool by which the run was read; null for "
            "other tools."
        ),
    )
    corun = serializers.CharField(
        source="corun.name",
        default="",
        help_text="The name of the co-run; empty if the run was alone.",
    )
    declared_session = serializers.CharField(
        source="declared_session.name",
        default="",
        help_text="The session that the uploader named; empty if none.",
    )
    session = serializers.CharField(
        source="session.name",
        default="",
        help_text=(
            "The name of the session to which the run belongs; empty if no start "
            "time is known."
        ),
    )
    status = serializers.ChoiceField(
        choices=Run.Status.values, help_text="The processing status."
    )
    warnings = ParseWarningSerializer(
        many=True, help_text="Warnings that the tool's own output gives."
    )
    samples = serializers.SerializerMethodField(
        help_text="The samples; null if there are more than 100."
    )
    samples_url = serializers.SerializerMethodField()

    @extend_schema_field(SampleSerializer(many=True, allow_null=True))
    def get_samples(self, run: Run) -> Any:
        samples = self.context["samples"].get(run.pk)
        return None if samples is None else SampleSerializer(samples, many=True).data

    def get_samples_url(self, run: Run) -> str:
        url_kwargs = {"pk": run.pk}
        return reverse(
            "api:samples", kwargs=url_kwargs, request=self.context["request"]
        )


class RunQuery(ListQuery):
    study = study_parameter()
    tool = ToolParameter(
        required=False,
        help_text="The slug or title of a tool; a custom tool has the form `lab:slug`.",
    )
    status = Choice(choices=Run.Status.values, required=False)
    system = IntegerParameter(required=False, help_text="The id of a system.")
    session = IntegerParameter(required=False, help_text="The id of a session.")
    key = UUIDText(
        required=False,
        help_text="The key of an upload; all runs read from it are listed.",
    )


class RunsView(UploadView):
    """Runs with their samples."""

    query_class = RunQuery

    @extend_schema(
        summary="List runs with their samples",
        operation_id="runs_list",
        responses=RunSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        page = self.paginate(run_queries.visible_runs(self.viewer, **self.filters))
        samples = run_queries.inline_samples(page)
        return self.page_response(page, RunSerializer, samples=samples)

    @extend_schema(
        summary="Upload a run",
        request=RunInput,
        responses={202: UploadReceiptSerializer, 200: UploadReceiptSerializer},
        examples=[RUN_EXAMPLE, RAW_EXAMPLE],
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        # A cached token is verified by the statement that stores the upload.
        cached = (
            None
            if request.GET
            else tokens.cached_token(token_from_header(request) or "")
        )
        token = cached or self.upload_token(request)
        try:
            upload = read_upload(self.body(request))
        except (APIException, BenchmarksError):
            if cached:
                self.upload_token(request)
            raise
        try:
            [submission] = submit_uploads(
                agent=token.agent, uploads=[upload], token=cached
            )
        except BatchRefusedError as refused:
            raise refused.problems[0] from None
        url = f"{request.scheme}://{request.get_host()}{request.path}"
        url = f"{url}{submission.run_id}/"
        receipt = {
            "id": submission.run_id,
            "key": str(submission.key),
            "status": submission.status,
            "url": url,
        }
        status = HTTP_200_OK if submission.repeated else HTTP_202_ACCEPTED
        return self.json_response(receipt, status, Location=url)


class RunView(ApiView):
    """One run with its samples."""

    @extend_schema(summary="Read a run", responses=RunSerializer)
    def get(self, request: Request, pk: int) -> Response:
        run = run_queries.find_run(self.viewer, pk)
        samples = run_queries.inline_samples([run])
        return Response(self.serialize(RunSerializer, run, samples=samples))


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


class ExtractedSampleSerializer(serializers.Serializer[Any]):
    """A number that was read from an output."""

    metric = serializers.CharField(help_text="The name of the metric.")
    parameters = serializers.DictField(
        help_text="The parameters of the benchmark by name."
    )
    value = serializers.FloatField(help_text="The number as printed.")
    unit = serializers.CharField(help_text="The unit that the tool means.")
    repetition = serializers.IntegerField(
        help_text="The number of the repetition within the run."
    )


class ExtractedRunSerializer(OutputSerializer):
    """A run that was found in an output."""

    row_type = ExtractedRun
    columns = """
        tool version=tool_version parser_version status problem first_line last_line
        command samples warnings facts
    """
    descriptions = {
        "version": "The version of the tool; empty if the output does not state it.",
        "first_line": "The first line of the run in the output.",
        "last_line": "The last line of the run in the output.",
        "command": "The command that printed the output; empty if unknown.",
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


class PreviewView(ApiView):
    """Runs that were parsed from output. Nothing is stored."""

    parser_classes = [RawOutputJSONParser]
    # A token is optional: it adds the custom tools of its lab.
    permission_classes = []

    @extend_schema(
        summary="Parse the output of a tool without storing it",
        request=PreviewInput,
        responses=PreviewSerializer,
        examples=[HDPARM_EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        admit_preview(network_of(request.META.get("REMOTE_ADDR", "")))
        fields = validate_document(PreviewInput, request.data)
        if len(fields["output"]) > settings.PREVIEW_LIMIT_CHARACTERS:
            raise too_large_error(
                f"A preview reads at most {settings.PREVIEW_LIMIT_CHARACTERS:,} "
                "characters. Cut the output, or upload it: uploads are read whole."
            )
        name, locale = fields.get("tool"), fields.get("locale")
        # Tokens that can only upload can use the custom tools of their lab too.
        viewer = self.lab_viewer if request.auth else self.viewer
        if own := find_visible_declaration(viewer, name or ""):
            extracted = extract_sample_runs(
                own.tool, own.version, fields["output"], locale
            )
        else:
            extracted = run_extraction.extract_runs(fields["output"], name, locale)
        return Response(PreviewSerializer({"runs": extracted}).data)
