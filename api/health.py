"""/health/: whether everything the product stands on answers."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_503_SERVICE_UNAVAILABLE

from api.kit.errors import RETRY_AFTER_S
from api.kit.views import ApiView
from benchmarks.health import health


class OutboxSerializer(serializers.Serializer[Any]):
    """The work left to do."""

    waiting = serializers.IntegerField()
    oldest_s = serializers.FloatField()
    quarantined = serializers.IntegerField()


class StuckSerializer(serializers.Serializer[Any]):
    """Background work of one kind that failed: tried again by itself, or set aside."""

    kind = serializers.ChoiceField(choices=["check", "energy", "plan", "publishing"])
    failing = serializers.IntegerField()
    quarantined = serializers.IntegerField()
    since_s = serializers.FloatField()


class HealthSerializer(serializers.Serializer[Any]):
    """Without Redis work waits a little; without PostgreSQL all stops.

    `degraded` also where background work was set aside: `stuck` counts it.
    """

    status = serializers.ChoiceField(choices=["ok", "degraded", "down"])
    version = serializers.CharField()
    database = serializers.BooleanField()
    redis = serializers.BooleanField()
    outbox = OutboxSerializer(allow_null=True)
    stuck = StuckSerializer(many=True)


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
