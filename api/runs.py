from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.status import HTTP_200_OK, HTTP_202_ACCEPTED

from api.kit.authentication import token_from_header
from api.kit.fields import Choice, UUIDText
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import (
    IntegerParameter,
    ListQuery,
    ToolParameter,
    study_parameter,
)
from api.kit.views import ApiView, ListView, ResourceSerializer, UploadView
from api.uploads import RAW_EXAMPLE, RUN_EXAMPLE, RunInput, read_upload
from benchmarks.errors import BatchRejectedError, BenchmarksError
from benchmarks.labs import tokens
from benchmarks.models import Run, Sample
from benchmarks.parsing.tool import ParseWarning
from benchmarks.uploads import run_queries
from benchmarks.uploads.intake import submit_uploads


class SampleSerializer(OutputSerializer):
    """One measured number."""

    row_type = Sample
    columns = """
        sequence case_id case=case.label metric=case.metric parameters value
        unit=case.unit repetition summarized_runs standard_deviation
    """
    descriptions = {
        "sequence": "The position of the sample in its run, counted from 1.",
        "value": "The number in the unit of the metric.",
        "repetition": "The number of the repetition within the run.",
        "summarized_runs": (
            "The number of runs whose mean the value is; null for a measured value."
        ),
        "standard_deviation": (
            "The standard deviation of the summarized runs; null if it is not stated."
        ),
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
    """Lists the samples of a run in the order of measurement."""

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
        # Warnings of a stored run come from JSON.
        if isinstance(warning, ParseWarning):
            return str(warning.message)
        return warning["sentence"]


class UploadReceiptSerializer(serializers.Serializer[Any]):
    """The result of an upload. Status 200 and 202 both mean that it is stored."""

    id = serializers.IntegerField(help_text="The id of the first run of the upload.")
    key = serializers.UUIDField(help_text="The key of the upload.")
    status = serializers.ChoiceField(
        choices=Run.Status.values, help_text="The processing status."
    )
    url = serializers.URLField(help_text="The URL of the first run of the upload.")


class RunSerializer(ResourceSerializer):
    """One execution of one tool on one system."""

    url_name = "api:run"

    row_type = Run
    columns = """
        key upload_position lab=study.lab.slug study=study.slug duplicate_of system_id
        system=system.label agent=agent.name tool tool_version parser_version
        custom_tool_version scenario vms slot load corun declared_session session
        session_id clock
        started_at received_at document table note facts failure is_failed errors
        operations status reason warnings
        first_line last_line sample_count
    """
    descriptions = {
        "key": "The key of the upload from which the run was read.",
        "agent": "The name of the agent that uploaded the run.",
        "tool_version": "The version of the tool; empty if not stated.",
        "session_id": "The id of the session; null if no start time is known.",
        "started_at": "When the run started; null if unknown.",
        "received_at": "When the upload was received.",
        "failure": "Why the work of the run failed; empty if it did not.",
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
    is_failed = serializers.BooleanField(
        help_text=(
            "Whether the work of the run failed; results do not count it then. It is "
            "false if the lab dismissed the flag."
        )
    )
    errors = serializers.IntegerField(  # type: ignore[assignment]  # a field
        allow_null=True, help_text="The number of failed operations; null if unknown."
    )
    operations = serializers.IntegerField(
        allow_null=True,
        help_text="The number of attempted operations; null if unknown.",
    )
    parser_version = serializers.IntegerField(
        allow_null=True,
        help_text="The version of the parser; null if samples were uploaded.",
    )
    custom_tool_version = serializers.IntegerField(
        allow_null=True,
        help_text=(
            "The version of the custom tool with which the run was read; null for "
            "other tools."
        ),
    )
    corun = serializers.CharField(
        source="corun.name",
        default="",
        help_text="The name of the co-run; empty if the run is not part of one.",
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
    samples_url = serializers.SerializerMethodField(
        help_text="The URL of the list of all samples of the run."
    )

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
    tool = ToolParameter()
    status = Choice(
        choices=Run.Status.values,
        required=False,
        help_text="The processing status of runs.",
    )
    system = IntegerParameter(required=False, help_text="The id of a system.")
    session = IntegerParameter(required=False, help_text="The id of a session.")
    key = UUIDText(
        required=False,
        help_text="The key of an upload; all runs read from it are listed.",
    )


class RunsView(UploadView):
    """Lists the runs of visible studies with their samples."""

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
        """Store a run; sending the same upload again is safe.

        An output with several results becomes several runs when it is processed.
        """
        # A cached token is checked by the SQL statement that stores the upload.
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
        except BatchRejectedError as refused:
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
    """Returns a run with its samples."""

    @extend_schema(summary="Read a run", responses=RunSerializer)
    def get(self, request: Request, pk: int) -> Response:
        run = run_queries.find_run(self.viewer, pk)
        samples = run_queries.inline_samples([run])
        return Response(self.serialize(RunSerializer, run, samples=samples))
