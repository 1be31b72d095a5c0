"""/runs/: uploads, and runs with their samples; /parse/: read output, store nothing."""

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

from api.kit.authentication import shown_token
from api.kit.errors import too_large
from api.kit.fields import Choice, Printed, Text, UUIDText
from api.kit.outputs import OutputSerializer
from api.kit.parsing import PrintedJSONParser
from api.kit.queries import ListQuery, ToolParameter, WholeParameter, study_parameter
from api.kit.shapes import StrictSerializer, checked
from api.kit.views import AddressedRow, ApiView, ListView, UploadView
from api.uploads import EXAMPLE, RAW_EXAMPLE, RunInput, read_upload
from benchmarks.errors import BatchRefusedError, BenchmarksError
from benchmarks.labs import tokens
from benchmarks.labs.quotas import admit_preview
from benchmarks.labs.throttle import network_of
from benchmarks.models import Run, Sample
from benchmarks.own_tools.lookup import readable_tool
from benchmarks.own_tools.samples import read_runs
from benchmarks.parsing import reading
from benchmarks.parsing.reading import ReadRun
from benchmarks.uploads import runs
from benchmarks.uploads.intake import submit_uploads


class SampleSerializer(OutputSerializer):
    """A number in the unit of its metric."""

    row_type = Sample
    columns = """
        sequence case_id case=case.label metric=case.metric parameters value
        unit=case.unit repetition
    """

    parameters = serializers.DictField(
        source="case.parameters", child=serializers.CharField()
    )
    derived = serializers.BooleanField(
        source="is_derived",
        help_text="Derived from the run's other samples, not uploaded.",
    )


class SamplesView(ListView):
    """The samples of a run in the order they were measured."""

    cursor_field = "sequence"
    summary = "List a run's samples"
    operation_id = "samples_list"
    serializer_class = SampleSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return runs.samples_of(runs.find_run(self.viewer, self.kwargs["pk"]))


class MarkSerializer(OutputSerializer):
    """A doubt that the tool's own output raises."""

    columns = "code:str sentence:str"


class SubmissionSerializer(serializers.Serializer[Any]):
    """What became of an upload; 202 and 200 both mean that it is stored."""

    id = serializers.IntegerField()
    key = serializers.UUIDField()
    status = serializers.ChoiceField(choices=Run.Status.values)
    url = serializers.URLField()


class RunSerializer(AddressedRow):
    """A run; ``samples`` is null when there are too many to show in line."""

    address = "api:run"

    row_type = Run
    columns = """
        key part lab=study.lab.slug study=study.slug duplicate_of system_id
        system=system.label agent=agent.name tool tool_version parser_version
        declared_version scenario vms slot load corun session sitting sitting_id clock
        started_at received_at document table note facts status reason warnings
        first_line last_line sample_count
    """

    part = serializers.IntegerField(help_text="Its place among the runs of the upload.")
    duplicate_of = serializers.IntegerField(
        source="duplicate_of_id",
        allow_null=True,
        help_text="The run that said all this before; this one is not counted again.",
    )
    parser_version = serializers.IntegerField(
        allow_null=True, help_text="null where samples were sent."
    )
    declared_version = serializers.IntegerField(
        allow_null=True, help_text="Of a lab's own tool: the version it was read by."
    )
    corun = serializers.CharField(source="corun.name", default="")
    session = serializers.CharField(
        source="session.name", default="", help_text="What its uploader named."
    )
    sitting = serializers.CharField(
        source="sitting.name",
        default="",
        help_text="The session it counts in; empty where no time is stated.",
    )
    status = serializers.ChoiceField(choices=Run.Status.values)
    warnings = MarkSerializer(many=True)
    samples = serializers.SerializerMethodField()
    samples_url = serializers.SerializerMethodField()

    @extend_schema_field(SampleSerializer(many=True, allow_null=True))
    def get_samples(self, run: Run) -> Any:
        samples = self.context["samples"].get(run.pk)
        return None if samples is None else SampleSerializer(samples, many=True).data

    def get_samples_url(self, run: Run) -> str:
        place = {"pk": run.pk}
        return reverse("api:samples", kwargs=place, request=self.context["request"])


class RunQuery(ListQuery):
    study = study_parameter()
    tool = ToolParameter(required=False, help_text="A tool's slug or title.")
    status = Choice(choices=Run.Status.values, required=False)
    system = WholeParameter(required=False, help_text="A system's id.")
    sitting = WholeParameter(required=False, help_text="A session's id.")
    key = UUIDText(required=False, help_text="An upload's key: all runs read from it.")


class RunsView(UploadView):
    """Uploads of runs."""

    query_class = RunQuery

    @extend_schema(
        summary="List runs with their samples",
        operation_id="runs_list",
        responses=RunSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        page = self.cut(runs.visible_runs(self.viewer, **self.filters))
        samples = runs.samples_inline(page)
        return self.answer_page(page, RunSerializer, samples=samples)

    @extend_schema(
        summary="Upload a run",
        request=RunInput,
        responses={202: SubmissionSerializer, 200: SubmissionSerializer},
        examples=[EXAMPLE, RAW_EXAMPLE],
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        # A known token is proved by the statement that looks up what the upload names.
        known = None if request.GET else tokens.known(shown_token(request) or "")
        token = known or self.upload_token(request)
        try:
            upload = read_upload(self.body(request))
        except (APIException, BenchmarksError):
            if known:
                self.upload_token(request)
            raise
        try:
            [submission] = submit_uploads(
                agent=token.agent, uploads=[upload], token=known
            )
        except BatchRefusedError as refused:
            raise refused.problems[0] from None
        url = f"{request.scheme}://{request.get_host()}{request.path}"
        url = f"{url}{submission.run_id}/"
        shown = {
            "id": submission.run_id,
            "key": str(submission.key),
            "status": submission.status,
            "url": url,
        }
        status = HTTP_200_OK if submission.repeated else HTTP_202_ACCEPTED
        return self.json_response(shown, status, Location=url)


class RunView(ApiView):
    """One run with its samples."""

    @extend_schema(summary="Read a run", responses=RunSerializer)
    def get(self, request: Request, pk: int) -> Response:
        run = runs.find_run(self.viewer, pk)
        samples = runs.samples_inline([run])
        return Response(self.shown(RunSerializer, run, samples=samples))


HDPARM_EXAMPLE = OpenApiExample(
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


class ReadRunSerializer(OutputSerializer):
    """A run found in the text; a rejected one has no samples but a problem."""

    row_type = ReadRun
    columns = """
        tool version=tool_version parser_version status problem first_line last_line
        command samples warnings facts
    """

    status = serializers.ChoiceField(choices=["parsed", "rejected"])
    problem = serializers.SerializerMethodField()
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
        examples=[HDPARM_EXAMPLE],
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
            found = read_runs(own.tool, own.version, given["output"], locale)
        else:
            found = reading.read(given["output"], name, locale)
        return Response(PreviewSerializer({"runs": found}).data)
