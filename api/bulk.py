"""/runs/bulk/: many runs at once, one JSON object a line, all of them or none."""

from collections.abc import Sequence
from typing import Any, cast

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_202_ACCEPTED

from api.kit.errors import invalid, problem_of
from api.kit.parsing import Line, NDJSONParser
from api.kit.refusals import LinesRefusedError, Problem
from api.kit.views import ApiView
from api.quick import read_quickly
from api.runs import RUN, RunInput
from benchmarks.errors import BatchRefusedError
from benchmarks.models import Agent, Run
from benchmarks.uploads.intake import Submission, Upload, submit_uploads

EXAMPLE = OpenApiExample(
    "One line", value=RUN, request_only=True, media_type=NDJSONParser.media_type
)


class RunLinesParser(NDJSONParser):
    """Read runs, one a line; those that are right need no second look."""

    read_quickly = staticmethod(read_quickly)


class BulkRunSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField()
    id = serializers.IntegerField()
    key = serializers.UUIDField()
    status = serializers.ChoiceField(choices=Run.Status.values)


class BulkSerializer(serializers.Serializer[Any]):
    """What became of each line; 202 means that all of them are stored."""

    accepted = serializers.IntegerField(help_text="Runs that are new.")
    repeated = serializers.IntegerField(help_text="Runs that were here already.")
    runs = BulkRunSerializer(many=True)


class BulkView(ApiView):
    """Uploads of many runs."""

    parser_classes = [RunLinesParser]

    @extend_schema(
        summary="Upload many runs, all or none",
        description="At most 10,000 lines and 8 MB. One bad line refuses them all, "
        'and `fields` says what is wrong by `"line 17"`.',
        request={"application/x-ndjson": RunInput},
        responses={202: BulkSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        lines = cast(list[Line], request.data)
        check_lines(lines)
        submissions = submit_lines(self.agent, lines)
        return Response(bulk_answer(lines, submissions), status=HTTP_202_ACCEPTED)


def check_lines(lines: Sequence[Line]) -> None:
    """Check the shape of every line before any is looked at more closely."""
    shape = RunInput()  # one for all: making it takes longer than using it
    problems: dict[int, Problem] = {}
    for line in lines:
        if line.upload:
            continue
        try:
            shape.run_validation(line.document)
        except serializers.ValidationError as error:
            problems[line.number] = invalid(error.detail, "The line")
    if problems:
        raise LinesRefusedError(problems)


def submit_lines(agent: Agent, lines: Sequence[Line]) -> list[Submission]:
    """Submit all lines; errors name the line, not its place among the runs."""
    try:
        uploads = [line.upload or Upload.of(line.document) for line in lines]
        return submit_uploads(agent=agent, uploads=uploads)
    except BatchRefusedError as refused:
        raise LinesRefusedError(
            {
                lines[index].number: problem_of(error)
                for index, error in refused.problems.items()
            }
        ) from None


def bulk_answer(
    lines: Sequence[Line], submissions: Sequence[Submission]
) -> dict[str, Any]:
    """Say what became of each line."""
    repeated = sum(submission.repeated for submission in submissions)
    # Not by its serializer, which takes longer than storing them all did.
    runs = [
        {
            "line": line.number,
            "id": submission.run_id,
            "key": str(submission.key),
            "status": submission.status,
        }
        for line, submission in zip(lines, submissions, strict=True)
    ]
    return {"accepted": len(runs) - repeated, "repeated": repeated, "runs": runs}
