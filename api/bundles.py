"""/bundles/: what a machine without a network measured, in one signed file."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.status import HTTP_202_ACCEPTED

from api.kit.errors import LinesRefusedError, problem_of
from api.kit.parsing import read_object
from api.kit.shapes import StrictSerializer, checked
from api.kit.views import UploadView
from api.power import PowerInput
from api.systems import HostInput
from api.uploads import read_lines, submit_lines
from benchmarks.errors import BenchmarksError, ConflictError, InvalidError
from benchmarks.models import Agent
from benchmarks.power.logs import keep_power
from benchmarks.studies.systems import register_host
from benchmarks.uploads.bundles import Counts, Document, import_bundle

EXAMPLE = OpenApiExample(
    "A bundle",
    value="(the file, as it is)",
    request_only=True,
    media_type="application/gzip",
)


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


class BundlesView(UploadView):
    """Bundles that were carried here."""

    media_type = "application/gzip"

    @extend_schema(
        summary="Import a bundle of an agent without a network",
        description="The file that `virtlab-agent.pyz bundle write` made, signed by a "
        "token of the lab that imports it. Imported twice, it is there once.",
        request={"application/gzip": bytes},
        responses={202: BundleSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        agent = self.upload_token(request).agent
        packed = self.body(request)
        imported = import_bundle(packed=packed, lab=agent.lab, by=agent.name)
        return self.json_response(BundleSerializer(imported).data, HTTP_202_ACCEPTED)


def store_documents(agent: Agent, documents: Sequence[Document]) -> Counts:
    """Store what a bundle holds, as if it had come one by one.

    The shape of all is looked at before any is stored.
    """
    by_kind = {
        kind: [each for each in documents if each.kind == kind]
        for kind in ("host", "run", "power")
    }
    try:
        hosts = _read(by_kind["host"], HostInput)
        power = _read(by_kind["power"], PowerInput)
        for run in by_kind["run"]:
            with naming(run.line):
                read_object(run.raw, as_printed=("output",))
        runs = read_lines((run.line, run.raw) for run in by_kind["run"])
        registered = 0
        for line, host in hosts:
            # A known machine with other facts keeps them.
            with naming(line), suppress(ConflictError):
                registered += register_host(lab=agent.lab, **checked(HostInput, host))[
                    1
                ]
        repeated = [run.repeated for run in submit_lines(agent, runs)] if runs else []
    except LinesRefusedError as error:
        raise InvalidError("bundle_refused", str(error)) from None
    for line, chunk in power:
        with naming(line):
            repeated.append(keep_power(agent=agent, document=chunk).repeated)
    known = sum(repeated)
    return Counts(len(repeated) - known, known, registered)


def _read(
    documents: Iterable[Document], shape: type[StrictSerializer]
) -> list[tuple[int, dict[str, Any]]]:
    """Return the line and the content of each document."""
    read = []
    for document in documents:
        with naming(document.line):
            content = read_object(document.raw, as_printed=("output",))
            checked(shape, content)
            read.append((document.line, content))
    return read


@contextmanager
def naming(line: int) -> Iterator[None]:
    """Name the line that an error is about."""
    try:
        yield
    except (BenchmarksError, serializers.ValidationError) as error:
        reason = problem_of(error).detail
        raise InvalidError("bundle_refused", f"Line {line}: {reason}") from None
