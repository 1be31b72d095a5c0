"""/labs/ and /agents/: labs, and the programs that upload to them."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.status import HTTP_201_CREATED

from api.kit.fields import Slug, Text
from api.kit.outputs import OutputSerializer
from api.kit.shapes import StrictSerializer
from api.kit.views import Fields, ListView, operation
from benchmarks.labs.making import SLUG_LENGTH, make_lab_by_agent
from benchmarks.labs.pages import LastRun, agents_of, labs_with_counts, last_runs
from benchmarks.models import Agent, Lab, Token

EXAMPLE = ("A lab", {"slug": "rack-lab", "name": "The rack lab", "admin": "Carol"})


class LabInput(StrictSerializer):
    slug = Slug(help_text="For addresses; it stays for good.")
    name = Text(max_length=200)
    admin = Text(max_length=200, help_text="Whom the invitation is for: a name.")

    def validate_slug(self, slug: str) -> str:
        if len(slug) > SLUG_LENGTH:
            raise serializers.ValidationError(f"Send at most {SLUG_LENGTH} characters.")
        return slug


class LabSerializer(OutputSerializer):
    row_type = Lab
    columns = "id slug name studies created_at"

    studies = serializers.IntegerField(
        source="studies_count", help_text="How many of its studies you may see."
    )


class NewLabSerializer(OutputSerializer):
    """A lab that was made, and the code that makes its first admin; shown once."""

    row_type = Lab
    columns = "id slug name created_at"

    invitation = serializers.SerializerMethodField(
        help_text="The code that its admin enters at /invitation/; shown only here."
    )

    def get_invitation(self, row: Any) -> str:
        return str(self.context["code"])


class LabsView(ListView):
    """Labs with something for who asks: a study they may see, or a place."""

    summary = "List labs"
    serializer_class = LabSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return labs_with_counts(self.viewer)

    @operation(
        "Create a lab, where the installation lets agents do so",
        LabInput,
        EXAMPLE,
        answers=NewLabSerializer,
        statuses=(201,),
    )
    def post(self, fields: Fields) -> Response:
        lab, code = make_lab_by_agent(agent=self.agent, **fields)
        shown = self.shown(NewLabSerializer, lab, code=code)
        return Response(shown, status=HTTP_201_CREATED)


class TokenSerializer(OutputSerializer):
    """A token without its secret, which is stored nowhere."""

    row_type = Token
    columns = """
        prefix can_upload can_read valid=is_valid created_at expires_at revoked_at
        last_used_at
    """


class LastRunSerializer(OutputSerializer):
    """Where it measured last. ``version`` is how the checksum of the agent's file
    begins, as it states it; empty if it does not."""

    row_type = LastRun
    columns = "host system at version python"


class AgentSerializer(OutputSerializer):
    row_type = Agent
    columns = "id lab=lab.slug name created_at"

    last_seen_at = serializers.DateTimeField(allow_null=True)
    last_run = serializers.SerializerMethodField()
    tokens = TokenSerializer(many=True, source="tokens.all")

    @extend_schema_field(LastRunSerializer(allow_null=True))
    def get_last_run(self, agent: Agent) -> Any:
        last = self.context["last_runs"].get(agent.pk)
        return LastRunSerializer(last).data if last else None


class AgentsView(ListView):
    """Agents of the labs that a token may read or a person belongs to."""

    summary = "List the agents of one's labs"
    serializer_class = AgentSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return agents_of(self.viewer.lab_ids)

    def page_context(self, page: list[Any]) -> dict[str, Any]:
        return {"last_runs": last_runs(page)}
