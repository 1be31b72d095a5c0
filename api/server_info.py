"""/health/, /ready/, /time/, /schema/ and /docs/: information about the server."""

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
from drf_spectacular.utils import OpenApiResponse, extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_503_SERVICE_UNAVAILABLE

from api.kit.errors import RETRY_AFTER_S
from api.kit.fields import Pattern
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import Query
from api.kit.schema import openapi_document
from api.kit.views import ApiView
from benchmarks.health import (
    MONITORED_KINDS,
    FailedJobs,
    Outbox,
    ReplicaStatus,
    WaitingJobs,
    check_health,
    check_readiness,
)
from benchmarks.models import Job

FAILABLE_KINDS = [kind for kind in Job.Kind.values if kind != Job.Kind.UPLOAD]


class OutboxSerializer(OutputSerializer):
    """The queue of uploads that are not processed yet."""

    row_type = Outbox
    columns = "waiting oldest_age_s quarantined"
    descriptions = {
        "waiting": "The number of uploads that are not processed yet.",
        "oldest_age_s": "The age of the oldest waiting upload in seconds.",
        "quarantined": (
            "The number of uploads that could not be processed and were set aside."
        ),
    }


class FailedJobsSerializer(OutputSerializer):
    """Failed background jobs of one kind."""

    row_type = FailedJobs
    columns = "kind retrying quarantined last_attempt_age_s"
    descriptions = {
        "retrying": "The number of failed jobs that will be retried.",
        "quarantined": "The number of failed jobs that were set aside.",
        "last_attempt_age_s": (
            "How long ago the oldest failed job was last tried, in seconds."
        ),
    }

    kind = serializers.ChoiceField(choices=FAILABLE_KINDS, help_text="The kind of job.")


class WaitingJobsSerializer(OutputSerializer):
    """Waiting background jobs of one kind."""

    row_type = WaitingJobs
    columns = "kind waiting oldest_age_s is_late"
    descriptions = {
        "waiting": "The number of waiting jobs.",
        "oldest_age_s": "The age of the oldest waiting job in seconds.",
        "is_late": "Whether the oldest job has waited for more than ten minutes.",
    }

    kind = serializers.ChoiceField(
        choices=MONITORED_KINDS, help_text="The kind of job."
    )


class ReplicaStatusSerializer(OutputSerializer):
    """The state of the read replica."""

    row_type = ReplicaStatus
    columns = "is_in_use lag_s lag_bytes"
    descriptions = {
        "is_in_use": "Whether pages are read from the replica now.",
        "lag_s": "The replication lag in seconds; null if unknown.",
        "lag_bytes": "The replication lag in bytes; null if unknown.",
    }


class HealthSerializer(serializers.Serializer[Any]):
    """The health of the server."""

    status = serializers.ChoiceField(
        choices=["ok", "degraded", "down"],
        help_text=(
            "`degraded`: Redis is unavailable, jobs were set aside, or jobs have "
            "waited for more than ten minutes; `down`: the database is unavailable."
        ),
    )
    version = serializers.CharField(help_text="The version of the server.")
    database = serializers.BooleanField(help_text="Whether the database answers.")
    redis = serializers.BooleanField(help_text="Whether Redis answers.")
    outbox = OutboxSerializer(
        allow_null=True,
        help_text="The state of the upload queue; null without a database.",
    )
    failed_jobs = FailedJobsSerializer(
        many=True, help_text="Failed background jobs by kind."
    )
    waiting_jobs = WaitingJobsSerializer(
        many=True, help_text="Waiting background jobs by kind."
    )
    replica = ReplicaStatusSerializer(
        allow_null=True,
        help_text="The state of the read replica; null if none is configured.",
    )


class PublicView(ApiView):
    """Base of public views, which ignore tokens and sessions."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def status_response(self, content: Any, *, is_up: bool) -> Response:
        if is_up:
            return Response(content)
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return Response(content, status=HTTP_503_SERVICE_UNAVAILABLE, headers=headers)


class HealthView(PublicView):
    """Returns the health of the server, for load balancers and monitoring.

    No token is needed.
    """

    @extend_schema(
        summary="Check the health of the server",
        responses={
            200: HealthSerializer,
            503: OpenApiResponse(HealthSerializer, "The server accepts no uploads."),
        },
    )
    def get(self, request: Request) -> Response:
        state = check_health()
        content = HealthSerializer(state).data
        return self.status_response(content, is_up=state.status != "down")


class ReadinessSerializer(serializers.Serializer[Any]):
    """Whether the server can answer requests."""

    ready = serializers.BooleanField(
        help_text="Whether the server can answer requests."
    )
    problem = serializers.CharField(
        allow_blank=True, help_text="Why it cannot; empty if it can."
    )


class ReadinessView(PublicView):
    """Returns whether the server can answer requests, for load balancers.

    No token is needed.
    """

    @extend_schema(
        summary="Check whether the server can answer requests",
        responses={
            200: ReadinessSerializer,
            503: OpenApiResponse(
                ReadinessSerializer, "This server cannot answer requests."
            ),
        },
    )
    def get(self, request: Request) -> Response:
        state = check_readiness()
        return self.status_response(ReadinessSerializer(state).data, is_up=state.ready)


BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")
# Linux states the length of a tick if it counts ticks. The API states microseconds.
RESOLUTION_US = max(1, round(time.get_clock_info("monotonic").resolution * 1e6))


class TimeQuery(Query):
    nonce = Pattern(
        "[A-Za-z0-9-]+",
        "letters, digits and -",
        required=False,
        max_length=64,
        help_text=(
            "A text that the response repeats, so that the client can recognize the "
            "response to each request."
        ),
    )


class TimeSerializer(serializers.Serializer[Any]):
    """The server's clocks, read as late as possible."""

    nonce = serializers.CharField(help_text="The nonce of the request.")
    clock_id = serializers.CharField(
        help_text=(
            "The id of the clock; only monotonic times of the same clock may be "
            "subtracted."
        )
    )
    wall_us = serializers.IntegerField(
        help_text="The wall clock in microseconds since 1970 (UTC)."
    )
    monotonic_us = serializers.IntegerField(
        help_text="The monotonic clock, which is never set, in microseconds."
    )
    resolution_us = serializers.IntegerField(
        help_text="The resolution of the monotonic clock in microseconds."
    )


class TimeView(PublicView):
    """Returns the server's clocks, for agents that time runs with an external clock.

    Neither a token nor the database is needed.
    """

    query_class = TimeQuery

    @extend_schema(summary="Read the server's clocks", responses=TimeSerializer)
    def get(self, request: Request) -> Response:
        times = {
            "nonce": self.query.get("nonce", ""),
            "clock_id": clock_id(),
            # Read after the clock's id, because the first call of `clock_id` is slow.
            "wall_us": time.time_ns() // 1000,
            "monotonic_us": time.monotonic_ns() // 1000,
            "resolution_us": RESOLUTION_US,
        }
        return Response(times, headers={"Cache-Control": "no-store"})


@cache
def clock_id() -> str:
    """Return an id of the monotonic clock, the same for all processes of one boot.

    If the system does not identify its boots, each process has its own id.
    """
    boot = (
        BOOT_ID_PATH.read_text().strip()
        if BOOT_ID_PATH.exists()
        else str(time.time_ns())
    )
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


class UnknownUrlError(NotFound):
    default_detail = (
        "There is no endpoint at this URL. All URLs of the API end with a slash; they "
        "are listed at /api/v1/docs/."
    )


class SchemaView(PublicView):
    renderer_classes = [
        OpenApiJsonRenderer2,
        OpenApiJsonRenderer,
        OpenApiYamlRenderer,
    ]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        return Response(openapi_document())


class DocsView(SpectacularSwaggerSplitView):
    """The OpenAPI document as a page, without inline scripts."""

    authentication_classes = []
    permission_classes = [AllowAny]
    template_name = "api/docs.html"
    url_name = "api:schema"


class UnknownUrlView(PublicView):
    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        # Raised before the method and the client are checked.
        raise UnknownUrlError
