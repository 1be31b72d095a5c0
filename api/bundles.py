"""/bundles/: what a machine without a network measured, in one signed file."""

from collections.abc import Mapping, Sequence
from typing import IO, Any, cast

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_202_ACCEPTED

from api.bulk import check_lines, submit_lines
from api.kit import bodies
from api.kit.errors import problem_of
from api.kit.parsing import Line, PrintedJSONParser, StrictJSONError, read_object
from api.kit.refusals import LinesRefusedError
from api.kit.shapes import checked
from api.kit.views import ApiView
from api.power import PowerInput
from api.systems import HostInput
from benchmarks.errors import BenchmarksError, ConflictError, InvalidError
from benchmarks.models import Agent
from benchmarks.power.logs import keep_power
from benchmarks.studies.saving import register_host
from benchmarks.uploads.bundles import Counts, Document, import_bundle

EXAMPLE = OpenApiExample(
    "A bundle",
    value="(the file, as it is)",
    request_only=True,
    media_type="application/gzip",
)


class BundleParser(BaseParser):
    """Take the bytes of a bundle as they are."""

    media_type = "application/gzip"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        assert parser_context is not None
        return bodies.read_body(stream, parser_context["request"])


class BundleSerializer(serializers.Serializer[Any]):
    """What became of a bundle; 202 means that all of it is stored."""

    accepted = serializers.IntegerField(
        source="counts.accepted",
        help_text="Runs and pieces of power logs that are new.",
    )
    repeated = serializers.IntegerField(
        source="counts.repeated", help_text="Those that were here already."
    )
    hosts = serializers.IntegerField(
        source="counts.hosts", help_text="Machines that were registered."
    )
    agent = serializers.CharField(
        source="token.agent.name", help_text="In whose name they are stored."
    )
    made_at = serializers.DateTimeField()


class BundlesView(ApiView):
    """Bundles that were carried here."""

    parser_classes = [BundleParser]

    @extend_schema(
        summary="Import a bundle of an agent without a network",
        description="The file that `virtlab-agent.pyz bundle write` made, signed by a "
        "token of the lab that imports it. Imported twice, it is there once.",
        request={"application/gzip": bytes},
        responses={202: BundleSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        imported = import_bundle(
            packed=cast(bytes, request.data), lab=self.lab, by=self.agent.name
        )
        return Response(
            self.shown(BundleSerializer, imported), status=HTTP_202_ACCEPTED
        )


def store_documents(agent: Agent, documents: Sequence[Document]) -> Counts:
    """Store what a bundle holds, as if it had come one by one.

    The shape of all is looked at before any is stored.
    """
    hosts, runs, power = (
        [_read(it) for it in documents if it.kind == kind]
        for kind in ("host", "run", "power")
    )
    for line in hosts:
        _said_of(line, checked, HostInput, line.document)
    for line in power:
        _said_of(line, checked, PowerInput, line.document)
    try:
        if runs:
            check_lines(runs)
        registered = sum(_said_of(line, _register, agent, line) for line in hosts)
        repeated = [it.repeated for it in submit_lines(agent, runs)] if runs else []
    except LinesRefusedError as refused:
        raise InvalidError("bundle_refused", str(refused.detail)) from None
    for line in power:
        kept = _said_of(line, keep_power, agent=agent, document=line.document)
        repeated.append(kept.repeated)
    known = sum(repeated)
    return Counts(len(repeated) - known, known, registered)


def _read(document: Document) -> Line:
    try:
        read = read_object(document.raw, PrintedJSONParser.as_printed)
    except StrictJSONError as error:
        raise InvalidError("bundle_refused", f"Line {document.line}: {error}") from None
    return Line(document.line, read)


def _register(agent: Agent, line: Line) -> bool:
    try:
        return register_host(lab=agent.lab, **checked(HostInput, line.document))[1]
    except ConflictError:  # with other facts, which stay
        return False


def _said_of(line: Line, act: Any, *words: Any, **named: Any) -> Any:
    """Do something with a line; what is wrong names it."""
    try:
        return act(*words, **named)
    except (BenchmarksError, serializers.ValidationError) as error:
        reason = problem_of(error).detail
        raise InvalidError("bundle_refused", f"Line {line.number}: {reason}") from None
