"""/labs/ and /agents/: labs, and the programs that upload to them."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_201_CREATED

from api.kit.fields import Slug, Text
from api.kit.queries import ListQuery
from api.kit.shapes import StrictSerializer
from api.kit.views import ApiView, Fields, ListView, operation
from benchmarks.labs.making import SLUG_LENGTH, make_lab_by_agent
from benchmarks.labs.pages import agents_of, labs_with_counts, last_runs
from benchmarks.models import Agent

EXAMPLE = ("A lab", {"slug": "rack-lab", "name": "The rack lab", "admin": "Carol"})


class LabInput(StrictSerializer):
    slug = Slug(help_text="For addresses; it stays for good.")
    name = Text(max_length=200)
    admin = Text(max_length=200, help_text="Whom the invitation is for: a name.")

    def validate_slug(self, slug: str) -> str:
        if len(slug) > SLUG_LENGTH:
            raise serializers.ValidationError(f"Send at most {SLUG_LENGTH} characters.")
        return slug


class LabSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    slug = serializers.CharField()
    name = serializers.CharField()
    studies = serializers.IntegerField(
        source="studies_count", help_text="How many of its studies you may see."
    )
    created_at = serializers.DateTimeField()


class NewLabSerializer(serializers.Serializer[Any]):
    """A lab that was made, and the code that makes its first admin; shown once."""

    id = serializers.IntegerField()
    slug = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
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
