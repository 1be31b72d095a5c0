"""/health/, /ready/, /time/, /schema/ and /docs/: the server itself."""

import hashlib
import time
from functools import cache
from pathlib import Path
from typing import Any

from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
)
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_503_SERVICE_UNAVAILABLE

from api.kit.errors import RETRY_AFTER_S
from api.kit.fields import Pattern
from api.kit.outputs import OutputSerializer
from api.kit.queries import Query
from api.kit.schema import openapi_document
from api.kit.views import ApiView
from benchmarks.health import DUE, DueWork, Outbox, Standby, Stuck, health, readiness
from benchmarks.models import Job

STUCK = [kind for kind in Job.Kind.values if kind != Job.Kind.UPLOAD]


class OutboxSerializer(OutputSerializer):
    """The work left to do."""

    row_type = Outbox
    columns = "waiting oldest_s quarantined"


class StuckSerializer(OutputSerializer):
    """Background work of one kind that failed: tried again by itself, or set aside."""

    row_type = Stuck
    columns = "kind failing quarantined since_s"

    kind = serializers.ChoiceField(choices=STUCK)


class DueSerializer(OutputSerializer):
    """Background work of one kind that waits for its turn; late: for too long."""

    row_type = DueWork
    columns = "kind waiting oldest_s is_late"

    kind = serializers.ChoiceField(choices=DUE)


class StandbySerializer(OutputSerializer):
    """The standby that pages and exports are read from, where there is one."""

    row_type = Standby
    columns = "is_read lag_s lag_bytes"


class HealthSerializer(serializers.Serializer[Any]):
    """Without Redis work waits a little; without PostgreSQL all stops.

    `degraded` also where background work was set aside (`stuck` counts it), and where
    any waits for more than ten minutes (`due`, `outbox`).
    """

    status = serializers.ChoiceField(choices=["ok", "degraded", "down"])
    version = serializers.CharField()
    database = serializers.BooleanField()
    redis = serializers.BooleanField()
    outbox = OutboxSerializer(allow_null=True)
    stuck = StuckSerializer(many=True)
    due = DueSerializer(many=True)
    replica = StandbySerializer(allow_null=True)


class OpenView(ApiView):
    """A view for everybody: no token and no session is read."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def state_response(self, shown: Any, *, is_up: bool) -> Response:
        """Return a state of the server: with 503 if it cannot answer requests."""
        if is_up:
            return Response(shown)
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return Response(shown, status=HTTP_503_SERVICE_UNAVAILABLE, headers=headers)


class HealthView(OpenView):
    """For load balancers and people; asks no database who is asking."""

    @extend_schema(
        summary="Ask whether the server is well",
        responses={200: HealthSerializer, 503: HealthSerializer},
    )
    def get(self, request: Request) -> Response:
        state = health()
        shown = HealthSerializer(state).data
        return self.state_response(shown, is_up=state.status != "down")


class ReadinessSerializer(serializers.Serializer[Any]):
    """Whether requests may be sent here."""

    ready = serializers.BooleanField()
    problem = serializers.CharField(allow_blank=True)


class ReadinessView(OpenView):
    """For whoever sends requests to one of several web servers."""

    @extend_schema(
        summary="Ask whether the server can answer requests",
        responses={200: ReadinessSerializer, 503: ReadinessSerializer},
    )
    def get(self, request: Request) -> Response:
        state = readiness()
        return self.state_response(ReadinessSerializer(state).data, is_up=state.ready)


BOOT = Path("/proc/sys/kernel/random/boot_id")
# Linux states a tick here where it counts ticks; a microsecond is what we tell.
RESOLUTION_US = max(1, round(time.get_clock_info("monotonic").resolution * 1e6))


class TimeQuery(Query):
    nonce = Pattern(
        "[A-Za-z0-9-]+",
        "letters, digits and -",
        required=False,
        max_length=64,
        help_text="Comes back, so that no answer is taken for another one's.",
    )


class TimeSerializer(serializers.Serializer[Any]):
    """Two clocks in whole microseconds, read as late as possible."""

    nonce = serializers.CharField()
    clock = serializers.CharField(
        help_text="Only times of the same clock can be subtracted."
    )
    wall_us = serializers.IntegerField(help_text="Since 1970, UTC.")
    monotonic_us = serializers.IntegerField(help_text="Never set; since any moment.")
    resolution_us = serializers.IntegerField(
        help_text="The steps in which the latter moves: part of every bound."
    )


class TimeView(OpenView):
    """For agents that bracket their runs; asks no database."""

    query_class = TimeQuery

    @extend_schema(summary="Ask for the server's time", responses=TimeSerializer)
    def get(self, request: Request) -> Response:
        times = {
            "nonce": self.query.get("nonce", ""),
            "clock": clock_name(),
            # After the name of the clock, which is read from a file the first time.
            "wall_us": time.time_ns() // 1000,
            "monotonic_us": time.monotonic_ns() // 1000,
            "resolution_us": RESOLUTION_US,
        }
        return Response(times, headers={"Cache-Control": "no-store"})


@cache
def clock_name() -> str:
    """Return the same for all processes of one boot of one machine.

    Where a system does not tell its boots apart, each process is a clock of its own.
    """
    boot = BOOT.read_text().strip() if BOOT.exists() else str(time.time_ns())
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


class UnknownAddressError(NotFound):
    default_detail = (
        "There is no such address. All of them end with a slash and are listed "
        "at /api/v1/docs/."
    )


class SchemaView(OpenView):
    """The OpenAPI 3 document, as JSON or YAML."""

    renderer_classes = [
        OpenApiJsonRenderer2,
        OpenApiJsonRenderer,
        OpenApiYamlRenderer,
    ]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        return Response(openapi_document())


class DocsView(SpectacularSwaggerSplitView):
    """The document as a page; its script is a file of ours, never inline."""

    authentication_classes = []
    permission_classes = [AllowAny]
    template_name = "api/docs.html"
    url_name = "api:schema"


class UnknownAddressView(OpenView):
    """Whatever is not here says so in the shape of every error."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        # Before all else: the same answer for every method and whoever asks.
        raise UnknownAddressError
