from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.kit.output_serializer import OutputSerializer
from api.kit.views import ListView
from benchmarks.labs.lab_queries import LastRun, agents_of, last_runs
from benchmarks.models import Agent, Token


class TokenSerializer(OutputSerializer):
    """A token without its secret, which is not stored."""

    row_type = Token
    columns = """
        prefix can_upload can_read can_manage is_valid created_at expires_at revoked_at
        last_used_at
    """
    descriptions = {
        "prefix": "The first part of the token, which identifies it.",
        "can_upload": "Whether the token may upload.",
        "can_read": "Whether the token may read the private data of its lab.",
        "can_manage": "Whether the token may change studies and other data of its lab.",
        "is_valid": "Whether the token is neither expired nor revoked.",
        "expires_at": "When the token expires; null if never.",
        "revoked_at": "When the token was revoked; null if it was not.",
        "last_used_at": "When the token was last used, to the minute; null if never.",
    }


class LastRunSerializer(OutputSerializer):
    """The latest run of an agent."""

    row_type = LastRun
    columns = "host system received_at agent_checksum python"
    descriptions = {
        "received_at": "When the run was received.",
        "agent_checksum": (
            "The first digits of the SHA-256 of the agent's file; empty if not stated."
        ),
        "python": "The version of the agent's Python; empty if not stated.",
    }


class AgentSerializer(OutputSerializer):
    """A program that uploads for a lab."""

    row_type = Agent
    columns = "id lab=lab.slug name created_at"
    descriptions = {"name": "The name of the agent."}

    last_seen_at = serializers.DateTimeField(
        allow_null=True,
        help_text=(
            "When one of the agent's tokens was last used, to the minute; null if "
            "never."
        ),
    )
    last_run = serializers.SerializerMethodField(
        help_text="The latest run of the agent; null before the first."
    )
    tokens = TokenSerializer(
        many=True,
        source="tokens.all",
        help_text="The agent's tokens, without their secrets.",
    )

    @extend_schema_field(LastRunSerializer(allow_null=True))
    def get_last_run(self, agent: Agent) -> Any:
        last = self.context["last_runs"].get(agent.pk)
        return LastRunSerializer(last).data if last else None


class AgentsView(ListView):
    """Lists the agents of the token's lab, or of the labs of the signed-in person."""

    summary = "List agents"
    serializer_class = AgentSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return agents_of(self.viewer.lab_ids)

    def page_context(self, page: list[Any]) -> dict[str, Any]:
        return {"last_runs": last_runs(page)}
