"""/agents/: the programs that upload to one's labs, and what they carry."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.queries import ListQuery
from api.kit.views import ApiView
from benchmarks.labs.pages import agents_of, last_runs
from benchmarks.models import Agent


class TokenSerializer(serializers.Serializer[Any]):
    """A token without its secret, which is stored nowhere."""

    prefix = serializers.CharField()
    can_upload = serializers.BooleanField()
    can_read = serializers.BooleanField()
    valid = serializers.BooleanField(source="is_valid")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class LastRunSerializer(serializers.Serializer[Any]):
    """Where it measured last. ``version`` is how the checksum of the agent's file
    begins, as it states it; empty if it does not."""

    host = serializers.CharField()
    system = serializers.CharField()
    at = serializers.DateTimeField()
    version = serializers.CharField()
    python = serializers.CharField()


class AgentSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    lab = serializers.CharField(source="lab.slug")
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField(allow_null=True)
    last_run = serializers.SerializerMethodField()
    tokens = TokenSerializer(many=True, source="tokens.all")

    @extend_schema_field(LastRunSerializer(allow_null=True))
    def get_last_run(self, agent: Agent) -> Any:
        last = self.context["last_runs"].get(agent.pk)
        return LastRunSerializer(last).data if last else None


class AgentsView(ApiView):
    """Agents of the labs that a token may read or a person belongs to."""

    query_class = ListQuery

    @extend_schema(
        summary="List the agents of one's labs",
        operation_id="agents_list",
        responses=AgentSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        # Cut first: what they did last is asked once for the whole page.
        page = self.cut(agents_of(self.viewer.lab_ids))
        return self.answer_page(page, AgentSerializer, last_runs=last_runs(page))
