"""/runs/: uploads go in here, and can be read again with their samples."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.status import HTTP_200_OK, HTTP_202_ACCEPTED

from api.kit.fields import Choice, Printed, Slug, Text, Timestamp, UUIDText, WholeNumber
from api.kit.parsing import PrintedJSONParser
from api.kit.queries import ListQuery, ToolParameter, WholeParameter, study_parameter
from api.kit.shapes import JSONObject, ListOf, StrictSerializer, checked
from api.kit.views import AddressedRow, ApiView
from api.samples import SampleInput, SampleSerializer
from api.systems import SYSTEM, SystemField
from benchmarks.comparing.table import SCENARIOS
from benchmarks.errors import BatchRefusedError
from benchmarks.models import Agent, Run
from benchmarks.uploads import runs
from benchmarks.uploads.intake import Submission, submit_runs

MAX_SAMPLES = 10_000
MAX_VMS = 10_000
CLOCKS = ("external", "client", "meter", "guest", "local")
FILTERS = ("study", "tool", "status", "system", "sitting", "key")
LOOKUPS = {name: name for name in FILTERS}

RUN = {
    "key": "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b",
    "study": "lmu-2010-xen",
    "system": SYSTEM,
    "tool": "iometer",
    "samples": [
        {
            "metric": "network throughput",
            "parameters": {"operation": "write"},
            "value": 13.08,
            "unit": "MB/s",
        }
    ],
}
EXAMPLE = OpenApiExample("One network run", value=RUN, request_only=True)
RAW = {
    "key": "0b0f6f4e-8f0e-4a55-9a0c-5f6b7c8d9e0f",
    "study": "lmu-2010-xen",
    "system": SYSTEM,
    "output": " Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec",
}
RAW_EXAMPLE = OpenApiExample("What hdparm printed", value=RAW, request_only=True)


class RunInput(StrictSerializer):
    """One execution of one tool on one system, or the raw output of one or several.

    With `samples` the numbers are yours; with `output` the text is kept and read here.
    """

    key = UUIDText(
        help_text="Made by the agent, once per run: sending it again is safe."
    )
    study = Slug(help_text="The slug of a study of the lab.")
    system = SystemField()
    tool = Text(
        required=False,
        max_length=100,
        help_text="A tool's slug or title, or your lab's own tool's. Raw output says "
        "itself whose it is; a file of an own tool's samples does not.",
    )
    samples = ListOf(
        required=False, child=SampleInput(), min_length=1, max_length=MAX_SAMPLES
    )
    output = Printed(
        required=False,
        help_text="Instead of samples: what the tool printed, as it was printed. "
        "Several results in it become several runs.",
    )
    locale = Text(
        required=False,
        max_length=200,
        help_text="With output; de_DE for example: only then a decimal comma is read.",
    )
    tool_version = Text(required=False, allow_blank=True, max_length=100)
    scenario = Choice(choices=SCENARIOS, required=False)
    vms = WholeNumber(required=False, allow_null=True, min_value=0, max_value=MAX_VMS)
    slot = Text(
        required=False,
        allow_blank=True,
        max_length=20,
        help_text="Which of the VMs: 1, 2, ..., or sum, mean, all, host.",
    )
    load = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="What else kept the machine busy.",
    )
    corun = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="A name shared by the runs that ran together.",
    )
    session = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="A name shared by the runs done in one sitting.",
    )
    clock = Choice(
        choices=["", *CLOCKS],
        required=False,
        help_text="Whose clock timed it.",
    )
    started_at = Timestamp(required=False, allow_null=True)
    document = Text(required=False, allow_blank=True, max_length=300)
    table = Text(required=False, allow_blank=True, max_length=300)
    note = Text(required=False, allow_blank=True, multiline=True)
    facts = JSONObject(required=False, help_text="The state of the system at the time.")

    def validate(self, document: dict[str, Any]) -> dict[str, Any]:
        """Either numbers with their tool, or a text."""
        if problem := _mixture(document):
            raise serializers.ValidationError(problem)
        return document


def _mixture(document: dict[str, Any]) -> dict[str, list[str]]:
    if "samples" in document and "output" in document:
        return {"output": ["Send either samples or output, not both."]}
    if "output" in document:
        return {}
    if "samples" not in document:
        return {
            "samples": ["This is missing. Send it, or what the tool printed as output."]
        }
    if "tool" not in document:
        return {"tool": ["This is missing. Send it."]}
    if "locale" in document:
        return {"locale": ["A locale belongs to output only; numbers have none."]}
    return {}


class MarkSerializer(serializers.Serializer[Any]):
    """A doubt that the tool's own output raises."""

    code = serializers.CharField()
    sentence = serializers.CharField()


class SubmissionSerializer(serializers.Serializer[Any]):
    """What became of an upload; 202 and 200 both mean that it is stored."""

    id = serializers.IntegerField()
    key = serializers.UUIDField()
    status = serializers.ChoiceField(choices=Run.Status.values)
    url = serializers.URLField()


class RunSerializer(AddressedRow):
    """A run; ``samples`` is null when there are too many to show in line."""

    address = "api:run"

    key = serializers.UUIDField()
    part = serializers.IntegerField(help_text="Its place among the runs of the upload.")
    lab = serializers.CharField(source="study.lab.slug")
    study = serializers.CharField(source="study.slug")
    duplicate_of = serializers.IntegerField(
        source="duplicate_of_id",
        allow_null=True,
        help_text="The run that said all this before; this one is not counted again.",
    )
    system_id = serializers.IntegerField()
    system = serializers.CharField(source="system.label")
    agent = serializers.CharField(source="agent.name")
    tool = serializers.CharField()
    tool_version = serializers.CharField()
    parser_version = serializers.IntegerField(
        allow_null=True, help_text="null where samples were sent."
    )
    declared_version = serializers.IntegerField(
        allow_null=True, help_text="Of a lab's own tool: the version it was read by."
    )
    scenario = serializers.CharField()
    vms = serializers.IntegerField(allow_null=True)
    slot = serializers.CharField()
    load = serializers.CharField()
    corun = serializers.CharField(source="corun.name", default="")
    session = serializers.CharField(
        source="session.name", default="", help_text="What its uploader named."
    )
    sitting = serializers.CharField(
        source="sitting.name",
        default="",
        help_text="The session it counts in; empty where no time is stated.",
    )
    sitting_id = serializers.IntegerField(allow_null=True)
    clock = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    received_at = serializers.DateTimeField()
    document = serializers.CharField()
    table = serializers.CharField()
    note = serializers.CharField()
    facts = serializers.DictField()
    status = serializers.ChoiceField(choices=Run.Status.values)
    reason = serializers.CharField()
    warnings = MarkSerializer(many=True)
    first_line = serializers.IntegerField(allow_null=True)
    last_line = serializers.IntegerField(allow_null=True)
    sample_count = serializers.IntegerField()
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


class RunsView(ApiView):
    """Uploads of runs."""

    parser_classes = [PrintedJSONParser]
    query_class = RunQuery

    @extend_schema(
        summary="List runs with their samples",
        operation_id="runs_list",
        responses=RunSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        filters = self.looked_up(LOOKUPS)
        page = self.cut(runs.visible_runs(self.viewer, **filters))
        samples = runs.samples_inline(page)
        return self.answer_page(page, RunSerializer, samples=samples)

    @extend_schema(
        summary="Upload a run",
        request=RunInput,
        responses={202: SubmissionSerializer, 200: SubmissionSerializer},
        examples=[EXAMPLE, RAW_EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        # Only checked: what is kept, and known again by its digest, is what was sent.
        checked(RunInput, request.data)
        submission = submit_run(self.agent, request.data)
        url = reverse("api:run", kwargs={"pk": submission.run_id}, request=request)
        fields = asdict(submission) | {"id": submission.run_id, "url": url}
        shown = SubmissionSerializer(fields).data
        status = HTTP_200_OK if submission.repeated else HTTP_202_ACCEPTED
        return Response(shown, status=status, headers={"Location": url})


class RunView(ApiView):
    """One run with its samples."""

    @extend_schema(summary="Read a run", responses=RunSerializer)
    def get(self, request: Request, pk: int) -> Response:
        run = runs.find_run(self.viewer, pk)
        samples = runs.samples_inline([run])
        return Response(self.shown(RunSerializer, run, samples=samples))


def submit_run(agent: Agent, document: dict[str, Any]) -> Submission:
    """Submit one run; its own error is the answer, not that of a batch."""
    try:
        return submit_runs(agent=agent, documents=[document])[0]
    except BatchRefusedError as refused:
        raise refused.problems[0] from None
