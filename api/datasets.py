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

from api.kit.fields import Slug
from api.kit.query_parameters import (
    HypervisorParameter,
    IntegerParameter,
    Query,
    ToolParameter,
    metric_parameter,
    scenario_parameter,
    study_parameter,
)
from api.kit.views import ApiView
from benchmarks.datasets.files import FILE_FORMATS, DataFile, write_table
from benchmarks.datasets.row_selection import RowSelection, count_selected_rows
from benchmarks.datasets.tables import TABLES, table_schema
from benchmarks.errors import NotFoundError, UnavailableError

# Files that a process writes at the same time. Half of its threads (config/gunicorn.py)
# stay free for other requests.
MAX_CONCURRENT_FILES: Final = 2
# Files that a process sends at the same time; each occupies its size on the disk.
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
    """A day in the form 2026-03-14."""

    def to_internal_value(self, data: Any) -> date:  # type: ignore[override]  # a day
        # Python also parses other formats. The last day is refused, because filters use
        # the day after it.
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
    tool = ToolParameter()
    metric = metric_parameter()
    case = IntegerParameter(
        required=False, help_text="The id of a benchmark (`/cases/`)."
    )
    scenario = scenario_parameter()
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
    query_class = DataQuery

    @property
    def selection(self) -> RowSelection:
        query = {name: value for name, value in self.query.items() if name != "study"}
        return RowSelection(study=self.requested_study, **query)


class DataTableSerializer(serializers.Serializer[Any]):
    """An exported table."""

    name = serializers.ChoiceField(
        choices=list(TABLES), help_text="The name of the table."
    )
    description = serializers.CharField(
        help_text="What each row of the table describes."
    )
    row_count = serializers.IntegerField(
        help_text=(
            "The number of selected rows. For the table of samples, the filters "
            "`metric` and `case` are ignored in this count."
        )
    )
    files = serializers.DictField(
        child=serializers.URLField(), help_text="The URL of the table in each format."
    )


class DataTablesSerializer(serializers.Serializer[Any]):
    """The exported tables."""

    schema = serializers.URLField(help_text="The URL of the tables' schema.")
    results = DataTableSerializer(many=True, help_text="The exported tables.")


class DataTablesView(DataView):
    """Lists the exported tables with their numbers of rows and their URLs."""

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

        selection = self.selection
        tables = [
            {
                "name": name,
                "description": str(table.description),
                "row_count": count_selected_rows(name, self.viewer, selection),
                "files": {
                    form: address(table=name, file_format=form) for form in FILE_FORMATS
                },
            }
            for name, table in TABLES.items()
        ]
        schema = reverse("api:data-schema", request=request)
        return Response({"schema": schema, "results": tables})


class DataSchemaView(ApiView):
    """Returns the names, types, units and descriptions of the columns of each table."""

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
    """Returns a table as a file.

    The header `X-SHA256` of the response contains the SHA-256 of the file.
    """

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
            raise NotFoundError("file format", file_format)
        selection = self.selection
        return file_response(
            request,
            lambda **options: write_table(
                table, file_format, self.viewer, selection, **options
            ),
            f"virtlab-{table}.{file_format}",
            FILE_FORMATS[file_format],
        )


_FILE_SLOTS = threading.BoundedSemaphore(MAX_CONCURRENT_FILES)
_DOWNLOAD_SLOTS = threading.BoundedSemaphore(MAX_CONCURRENT_DOWNLOADS)


def _acquire_slot(slots: threading.BoundedSemaphore, verb: str) -> None:
    if not slots.acquire(blocking=False):
        busy = UnavailableError(
            "busy",
            f"The server already {verb} as many files as it can at the same time. Try "
            f"again in {RETRY_AFTER_S} s.",
        )
        busy.retry_after_s = RETRY_AFTER_S
        raise busy


@contextmanager
def _reserved_slot(slots: threading.BoundedSemaphore, verb: str) -> Iterator[None]:
    _acquire_slot(slots, verb)
    try:
        yield
    finally:
        slots.release()


def file_response(
    request: Request, write: Callable[..., DataFile], name: str, content_type: str
) -> HttpResponseBase:
    """Write a file, which the web server sends without occupying a thread."""
    if request.method == "HEAD":
        # The length and digest are unknown until the file is complete.
        return HttpResponse(content_type=content_type)
    with _reserved_slot(_FILE_SLOTS, "writes"):
        _acquire_slot(_DOWNLOAD_SLOTS, "sends")
        try:
            file = write(
                folder=settings.EXPORT_FOLDER,
                # Only the web server waitress reports that a client disconnected.
                is_cancelled=request.META.get("waitress.client_disconnected", bool),
            )
        except BaseException:
            _DOWNLOAD_SLOTS.release()
            raise
    digest = base64.b64encode(file.digest).decode()
    response = FileResponse(
        file.file,
        as_attachment=True,
        filename=name,
        content_type=content_type,
        headers={
            "Repr-Digest": f"sha-256=:{digest}:",  # RFC 9530
            "X-SHA256": file.digest.hex(),  # for `sha256sum --check`
            "ETag": f'"{file.digest.hex()}"',
            "Content-Length": str(file.size),
            "Cache-Control": "private, no-store",
        },
    )
    closers: list[Callable[[], None]] = vars(response)["_resource_closers"]
    closers.append(_call_once(_DOWNLOAD_SLOTS.release))
    return response


def _call_once(function: Callable[[], None]) -> Callable[[], None]:
    remaining = [function]

    def wrapper() -> None:
        if remaining:
            remaining.pop()()

    return wrapper
