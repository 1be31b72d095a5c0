"""/health/: whether all that the product stands on answers; /ready/: whether it can."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_503_SERVICE_UNAVAILABLE

from api.kit.errors import RETRY_AFTER_S
from api.kit.views import ApiView
from benchmarks.health import DUE, health, readiness
from benchmarks.unattended.attempts import Kind


class OutboxSerializer(serializers.Serializer[Any]):
    """The work left to do."""

    waiting = serializers.IntegerField()
    oldest_s = serializers.FloatField()
    quarantined = serializers.IntegerField()


class StuckSerializer(serializers.Serializer[Any]):
    """Background work of one kind that failed: tried again by itself, or set aside."""

    kind = serializers.ChoiceField(choices=[*Kind, "publishing", "review"])
    failing = serializers.IntegerField()
    quarantined = serializers.IntegerField()
    since_s = serializers.FloatField()


class DueSerializer(serializers.Serializer[Any]):
    """Background work of one kind that waits for its turn; late: for too long."""

    kind = serializers.ChoiceField(choices=[kind for kind, *_ in DUE])
    waiting = serializers.IntegerField()
    oldest_s = serializers.FloatField()
    is_late = serializers.BooleanField()


class StandbySerializer(serializers.Serializer[Any]):
    """The standby that pages and exports are read from, where there is one."""

    is_read = serializers.BooleanField()
    lag_s = serializers.FloatField(allow_null=True)
    lag_bytes = serializers.IntegerField(allow_null=True)


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


class HealthView(ApiView):
    """For load balancers and people; asks no database who is asking."""

    authentication_classes = []
    permission_classes = [AllowAny]

    @extend_schema(
        summary="Ask whether the server is well",
        responses={200: HealthSerializer, 503: HealthSerializer},
    )
    def get(self, request: Request) -> Response:
        state = health()
        shown = HealthSerializer(state).data
        if state.status != "down":
            return Response(shown)
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return Response(shown, status=HTTP_503_SERVICE_UNAVAILABLE, headers=headers)


class ReadinessSerializer(serializers.Serializer[Any]):
    """Whether requests may be sent here."""

    ready = serializers.BooleanField()
    problem = serializers.CharField(allow_blank=True)


class ReadinessView(ApiView):
    """For whoever sends requests to one of several web servers."""

    authentication_classes = []
    permission_classes = [AllowAny]

    @extend_schema(
        summary="Ask whether the server can answer requests",
        responses={200: ReadinessSerializer, 503: ReadinessSerializer},
    )
    def get(self, request: Request) -> Response:
        state = readiness()
        shown = ReadinessSerializer(state).data
        if state.ready:
            return Response(shown)
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return Response(shown, status=HTTP_503_SERVICE_UNAVAILABLE, headers=headers)
