"""/data/: the visible data as files of whole tables."""

import base64
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from typing import Any, Final

from django.conf import settings
from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from api.kit.fields import Choice, Slug, Text
from api.kit.query_parameters import (
    HypervisorParameter,
    IntegerParameter,
    Query,
    ToolParameter,
    study_parameter,
)
from api.kit.views import ApiView
from benchmarks.datasets.files import FILE_FORMATS, DataFile, write_table
from benchmarks.datasets.row_selection import RowSelection, count_selected_rows
from benchmarks.datasets.tables import TABLES, table_schema
from benchmarks.errors import NotFoundError, UnavailableError
from benchmarks.models.run import SCENARIOS

# Half of a process's threads (config/gunicorn.py) stay free for other requests.
MAX_CONCURRENT_FILES: Final = 2
# Files that a process is sending; each occupies its size on the disk.
MAX_CONCURRENT_DOWNLOADS: Final = 8
RETRY_AFTER_S: Final = 5
DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
TABLE_PARAMETER = OpenApiParameter(
    "table", str, OpenApiParameter.PATH, enum=list(TABLES)
)
FORMAT_PARAMETER = OpenApiParameter(
    "file_format", str, OpenApiParameter.PATH, enum=list(FILE_FORMATS)
)


@extend_schema_field(OpenApiTypes.DATE)
class DateParameter(serializers.CharField):
    """A day such as 2026-03-14."""

    def to_internal_value(self, data: Any) -> date:  # type: ignore[override]  # a day
        # Python also parses other formats; and the next day has to exist.
        if DAY.fullmatch(data) and data != date.max.isoformat():
            with suppress(ValueError):
                return date.fromisoformat(data)
        raise serializers.ValidationError("Send a day such as 2026-03-14.")


class DataQuery(Query):
    study = study_parameter()
    host = Slug(required=False, help_text="The slug of a host.")
    hypervisor = HypervisorParameter(
        required=False,
        max_length=100,
        help_text="A hypervisor in any spelling, or `native`.",
    )
    tool = ToolParameter(
        required=False,
        help_text="The slug or title of a tool; a custom tool has the form `lab:slug`.",
    )
    metric = Text(required=False, max_length=100)
    case = IntegerParameter(
        required=False, help_text="The id of a benchmark (`/cases/`)."
    )
    scenario = Choice(choices=SCENARIOS, required=False)
    since = DateParameter(
        required=False,
        help_text=(
            "The first day (UTC) on which runs started, such as 2026-03-14. "
            "Runs without a start time are excluded."
        ),
    )
    until = DateParameter(
        required=False, help_text="The last day (UTC) on which runs started."
    )


class DataView(ApiView):
    """Base of the views of exported tables: reads the filters."""

    query_class = DataQuery

    @property
    def selection(self) -> RowSelection:
        query = {name: value for name, value in self.query.items() if name != "study"}
        return RowSelection(study=self.requested_study, **query)


class DataTableSerializer(serializers.Serializer[Any]):
    """An exported table."""

    name = serializers.ChoiceField(choices=list(TABLES))
    description = serializers.CharField(help_text="What a row of the table is.")
    row_count = serializers.IntegerField(
        help_text=(
            "The number of selected rows. For samples, `metric` and `case` are not "
            "taken into account."
        )
    )
    files = serializers.DictField(
        child=serializers.URLField(), help_text="The URL of the table in each format."
    )


class DataTablesSerializer(serializers.Serializer[Any]):
    """The exported tables."""

    schema = serializers.URLField(help_text="The URL of the tables' schema.")
    results = DataTableSerializer(many=True)


class DataTablesView(DataView):
    """The exported tables, with their numbers of rows and URLs."""

    @extend_schema(
        summary="List the exported tables",
        operation_id="data",
        responses=DataTablesSerializer,
    )
    def get(self, request: Request) -> Response:
        query = request.META["QUERY_STRING"]
        tail = f"?{query}" if query else ""

        def address(**url_kwargs: str) -> str:
            return reverse("api:data-file", kwargs=url_kwargs, request=request) + tail

        wanted = self.selection
        tables = [
            {
                "name": name,
                "description": str(table.description),
                "row_count": count_selected_rows(name, self.viewer, wanted),
                "files": {
                    form: address(table=name, file_format=form) for form in FILE_FORMATS
                },
            }
            for name, table in TABLES.items()
        ]
        schema = reverse("api:data-schema", request=request)
        return Response({"schema": schema, "results": tables})


class DataSchemaView(ApiView):
    """Names, types, units and descriptions of the columns."""

    authentication_classes = []
    permission_classes = []

    @extend_schema(
        summary="Read the schema of the tables",
        operation_id="data_schema",
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request) -> Response:
        resources = [
            {"name": name, "schema": table_schema(table)}
            for name, table in TABLES.items()
        ]
        return Response({"name": "virtlab", "resources": resources})


class DataFileView(DataView):
    """One table as a file. A response header has its SHA-256."""

    @extend_schema(
        summary="Download a table",
        operation_id="data_file",
        parameters=[TABLE_PARAMETER, FORMAT_PARAMETER],
        responses={(200, kind): OpenApiTypes.BINARY for kind in FILE_FORMATS.values()},
    )
    def get(self, request: Request, table: str, file_format: str) -> HttpResponseBase:
        if table not in TABLES:
            raise NotFoundError("table", table)
        if file_format not in FILE_FORMATS:
            raise NotFoundError("form", file_format)
        wanted = self.selection
        if request.method == "HEAD":
            # The length and digest are unknown until the file is complete.
            return HttpResponse(content_type=FILE_FORMATS[file_format])
        with _reserved_slot(_FILE_SLOTS, "made"):
            _acquire_slot(_DOWNLOAD_SLOTS, "sent")
            try:
                made = write_table(
                    table,
                    file_format,
                    self.viewer,
                    wanted,
                    settings.EXPORT_FOLDER,
                    # Only waitress reports clients that have disconnected.
                    is_cancelled=request.META.get("waitress.client_disconnected", bool),
                )
            except BaseException:
                _DOWNLOAD_SLOTS.release()
                raise
        return _file_response(
            made, f"virtlab-{table}.{file_format}", FILE_FORMATS[file_format]
        )


_FILE_SLOTS = threading.BoundedSemaphore(MAX_CONCURRENT_FILES)
_DOWNLOAD_SLOTS = threading.BoundedSemaphore(MAX_CONCURRENT_DOWNLOADS)


def _acquire_slot(turns: threading.BoundedSemaphore, what: str) -> None:
    if not turns.acquire(blocking=False):
        busy = UnavailableError(
            "busy",
            f"As many files are being {what} as this server takes at once. Ask again "
            f"in {RETRY_AFTER_S} s.",
        )
        busy.retry_after_s = RETRY_AFTER_S
        raise busy


@contextmanager
def _reserved_slot(turns: threading.BoundedSemaphore, what: str) -> Iterator[None]:
    _acquire_slot(turns, what)
    try:
        yield
    finally:
        turns.release()


def _file_response(made: DataFile, name: str, kind: str) -> FileResponse:
    """Return a file that the web server's event loop sends; the thread is free
    meanwhile.
    """
    digest = base64.b64encode(made.digest).decode()
    response = FileResponse(
        made.file,
        as_attachment=True,
        filename=name,
        content_type=kind,
        headers={
            # Like RFC 9530, but in hexadecimal for `sha256sum --check`.
            "Repr-Digest": f"sha-256=:{digest}:",
            "X-SHA256": made.digest.hex(),
            "ETag": f'"{made.digest.hex()}"',
            "Content-Length": str(made.size),
            "Cache-Control": "private, no-store",
        },
    )
    closers: list[Callable[[], None]] = vars(response)["_resource_closers"]
    closers.append(_call_once(_DOWNLOAD_SLOTS.release))
    return response


def _call_once(act: Callable[[], None]) -> Callable[[], None]:
    """Return a function that calls ``function`` at its first call only."""
    acts = [act]

    def called() -> None:
        if acts:
            acts.pop()()

    return called
