"""/data/: everything that one may see, as files of whole tables."""

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
from api.kit.queries import (
    HypervisorParameter,
    Query,
    ToolParameter,
    WholeParameter,
    study_parameter,
)
from api.kit.views import ApiView
from benchmarks.datasets.files import FORMS, DataFile, write_table
from benchmarks.datasets.selecting import Wanted, count_of
from benchmarks.datasets.tables import TABLES, description
from benchmarks.errors import NotFoundError, UnavailableError
from benchmarks.models.run import SCENARIOS

# Of the threads of a process (config/gunicorn.py) half are always left for others.
MADE_AT_ONCE: Final = 2
# Files of a process that are on their way; each takes its size of the disk.
SENT_AT_ONCE: Final = 8
RETRY_AFTER_S: Final = 5
DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
TABLE = OpenApiParameter("table", str, OpenApiParameter.PATH, enum=list(TABLES))
FORM = OpenApiParameter("form", str, OpenApiParameter.PATH, enum=list(FORMS))


@extend_schema_field(OpenApiTypes.DATE)
class DayParameter(serializers.CharField):
    """A day, as 2026-03-14."""

    def to_internal_value(self, data: Any) -> date:  # type: ignore[override]  # a day
        # Python reads other forms of a day, too; and the day after it has to exist.
        if DAY.fullmatch(data) and data != date.max.isoformat():
            with suppress(ValueError):
                return date.fromisoformat(data)
        raise serializers.ValidationError("Send a day such as 2026-03-14.")


class DataQuery(Query):
    study = study_parameter()
    host = Slug(required=False, help_text="A host's slug.")
    hypervisor = HypervisorParameter(
        required=False, max_length=100, help_text='In any spelling, or "native".'
    )
    tool = ToolParameter(required=False, help_text="A tool's slug or title.")
    metric = Text(required=False, max_length=100)
    case = WholeParameter(required=False, help_text="A case's id.")
    scenario = Choice(choices=SCENARIOS, required=False)
    since = DayParameter(
        required=False,
        help_text="Runs that began on this day or later (UTC). Without a time: left "
        "out.",
    )
    until = DayParameter(required=False, help_text="On this day or earlier.")


class DataView(ApiView):
    """What all addresses of the data share: what is asked for."""

    query_class = DataQuery

    @property
    def wanted(self) -> Wanted:
        query = {name: it for name, it in self.query.items() if name != "study"}
        return Wanted(study=self.asked_study, **query)


class DataTableSerializer(serializers.Serializer[Any]):
    """A table: how many rows are asked for, and where each form of it is."""

    name = serializers.ChoiceField(choices=list(TABLES))
    description = serializers.CharField()
    rows = serializers.IntegerField(
        help_text="Of samples without regard to `metric` and `case`."
    )
    files = serializers.DictField(child=serializers.URLField())


class DataTablesSerializer(serializers.Serializer[Any]):
    schema = serializers.URLField()
    results = DataTableSerializer(many=True)


class DataTablesView(DataView):
    """The tables there are."""

    @extend_schema(
        summary="List the tables of the data",
        operation_id="data",
        responses=DataTablesSerializer,
    )
    def get(self, request: Request) -> Response:
        query = request.META["QUERY_STRING"]
        tail = f"?{query}" if query else ""

        def address(**place: str) -> str:
            return reverse("api:data-file", kwargs=place, request=request) + tail

        wanted = self.wanted
        tables = [
            {
                "name": name,
                "description": str(table.meaning),
                "rows": count_of(name, self.viewer, wanted),
                "files": {form: address(table=name, form=form) for form in FORMS},
            }
            for name, table in TABLES.items()
        ]
        schema = reverse("api:data-schema", request=request)
        return Response({"schema": schema, "results": tables})


class DataSchemaView(ApiView):
    """What the columns are called, hold and mean."""

    authentication_classes = []
    permission_classes = []

    @extend_schema(
        summary="Describe the tables: names, types, units, meanings",
        operation_id="data_schema",
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request) -> Response:
        resources = [
            {"name": name, "schema": description(table)}
            for name, table in TABLES.items()
        ]
        return Response({"name": "virtlab", "resources": resources})


class DataFileView(DataView):
    """A table as a file, with its SHA-256."""

    @extend_schema(
        summary="Download a table",
        operation_id="data_file",
        parameters=[TABLE, FORM],
        responses={(200, kind): OpenApiTypes.BINARY for kind in FORMS.values()},
    )
    def get(self, request: Request, table: str, form: str) -> HttpResponseBase:
        if table not in TABLES:
            raise NotFoundError("table", table)
        if form not in FORMS:
            raise NotFoundError("form", form)
        wanted = self.wanted
        if request.method == "HEAD":
            # Its length and its digest are not known before it is made.
            return HttpResponse(content_type=FORMS[form])
        with _turn(_MAKING, "made"):
            _take(_SENDING, "sent")
            try:
                made = write_table(
                    table,
                    form,
                    self.viewer,
                    wanted,
                    settings.DATA_FOLDER,
                    # The web server's own; other servers, and tests, cannot tell.
                    is_unwanted=request.META.get("waitress.client_disconnected", bool),
                )
            except BaseException:
                _SENDING.release()
                raise
        return _sent(made, f"virtlab-{table}.{form}", FORMS[form])


_MAKING = threading.BoundedSemaphore(MADE_AT_ONCE)
_SENDING = threading.BoundedSemaphore(SENT_AT_ONCE)


def _take(turns: threading.BoundedSemaphore, what: str) -> None:
    if not turns.acquire(blocking=False):
        busy = UnavailableError(
            "busy",
            f"As many files are being {what} as this server takes at once. Ask again "
            f"in {RETRY_AFTER_S} s.",
        )
        busy.wait_s = RETRY_AFTER_S
        raise busy


@contextmanager
def _turn(turns: threading.BoundedSemaphore, what: str) -> Iterator[None]:
    _take(turns, what)
    try:
        yield
    finally:
        turns.release()


def _sent(made: DataFile, name: str, kind: str) -> FileResponse:
    """Return a file that the web server's loop sends while the thread is free again."""
    digest = base64.b64encode(made.digest).decode()
    response = FileResponse(
        made.file,
        as_attachment=True,
        filename=name,
        content_type=kind,
        headers={
            # RFC 9530; in hexadecimal for `sha256sum --check`.
            "Repr-Digest": f"sha-256=:{digest}:",
            "X-SHA256": made.digest.hex(),
            "ETag": f'"{made.digest.hex()}"',
            "Content-Length": str(made.size),
            "Cache-Control": "private, no-store",
        },
    )
    closers: list[Callable[[], None]] = vars(response)["_resource_closers"]
    closers.append(_once(_SENDING.release))
    return response


def _once(act: Callable[[], None]) -> Callable[[], None]:
    """Return what does something when it is called first, and nothing afterwards."""
    acts = [act]

    def called() -> None:
        if acts:
            acts.pop()()

    return called
