from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.status import HTTP_202_ACCEPTED

from api.hosts import HostInput
from api.kit.composite_fields import StrictSerializer, validate_document
from api.kit.errors import LinesRejectedError, problem_from_exception
from api.kit.strict_json import parse_json_object
from api.kit.views import UploadView
from api.power import PowerChunkInput
from api.uploads import read_lines, submit_lines
from benchmarks.errors import BenchmarksError, ConflictError, InvalidError
from benchmarks.models import Agent
from benchmarks.power.meter_logs import store_power_chunk
from benchmarks.studies.systems import register_host
from benchmarks.uploads.bundles import BundleDocument, ImportCounts, import_bundle

EXAMPLE = OpenApiExample(
    "A bundle",
    value="(the file, as it is)",
    request_only=True,
    media_type="application/gzip",
)


class BundleSerializer(serializers.Serializer[Any]):
    """The result of a bundle import. Status 202 means that everything is stored."""

    accepted = serializers.IntegerField(
        source="counts.accepted",
        help_text="The number of new runs and chunks of power logs.",
    )
    repeated = serializers.IntegerField(
        source="counts.repeated",
        help_text="The number of runs and chunks that were stored before.",
    )
    host_count = serializers.IntegerField(
        source="counts.hosts", help_text="The number of hosts that were registered."
    )
    agent = serializers.CharField(
        source="token.agent.name",
        help_text="The name of the agent that signed the bundle.",
    )
    created_at = serializers.DateTimeField(help_text="When the bundle was written.")


class BundlesView(UploadView):
    media_type = "application/gzip"

    @extend_schema(
        summary="Import a bundle",
        description=(
            "Imports a file written by `virtlab-agent.pyz bundle write` and "
            "signed with a token of the same lab. Importing it twice stores it "
            "once."
        ),
        request={"application/gzip": bytes},
        responses={202: BundleSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        agent = self.upload_token(request).agent
        packed = self.body(request)
        imported = import_bundle(content=packed, lab=agent.lab, actor=agent.name)
        return self.json_response(BundleSerializer(imported).data, HTTP_202_ACCEPTED)


def store_documents(agent: Agent, documents: Sequence[BundleDocument]) -> ImportCounts:
    """Store the documents of a bundle as if they had been uploaded separately.

    All are validated before the first one is stored. Raises InvalidError, which names
    the line of the invalid document.
    """
    by_kind = {
        kind: [document for document in documents if document.kind == kind]
        for kind in ("host", "run", "power")
    }
    try:
        hosts = _read_documents(by_kind["host"], HostInput)
        power = _read_documents(by_kind["power"], PowerChunkInput)
        for run in by_kind["run"]:
            with failing_line_context(run.line):
                parse_json_object(run.raw, raw_text_fields=("output",))
        runs = read_lines((run.line, run.raw) for run in by_kind["run"])
        registered = 0
        for line, host in hosts:
            # A host that is registered with other facts keeps them.
            with failing_line_context(line), suppress(ConflictError):
                registered += register_host(
                    lab=agent.lab, **validate_document(HostInput, host)
                )[1]
        repeated = [run.repeated for run in submit_lines(agent, runs)] if runs else []
    except LinesRejectedError as error:
        raise InvalidError("bundle_rejected", str(error)) from None
    for line, chunk in power:
        with failing_line_context(line):
            repeated.append(store_power_chunk(agent=agent, document=chunk).is_repeated)
    repeated_count = sum(repeated)
    return ImportCounts(len(repeated) - repeated_count, repeated_count, registered)


def _read_documents(
    documents: Iterable[BundleDocument], serializer_class: type[StrictSerializer]
) -> list[tuple[int, dict[str, Any]]]:
    read = []
    for document in documents:
        with failing_line_context(document.line):
            content = parse_json_object(document.raw, raw_text_fields=("output",))
            validate_document(serializer_class, content)
            read.append((document.line, content))
    return read


@contextmanager
def failing_line_context(line: int) -> Iterator[None]:
    """Convert errors to InvalidError, whose message names the line."""
    try:
        yield
    except (BenchmarksError, serializers.ValidationError) as error:
        reason = problem_from_exception(error).detail
        raise InvalidError("bundle_rejected", f"Line {line}: {reason}") from None
