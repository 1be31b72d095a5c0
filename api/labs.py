"""/labs/: the labs one may know of; a new one, where the installation lets."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.status import HTTP_201_CREATED

from api.kit.fields import Slug, Text
from api.kit.shapes import StrictSerializer
from api.kit.views import Fields, ListView, operation
from benchmarks.labs.making import SLUG_LENGTH, make_lab_by_agent
from benchmarks.labs.pages import labs_with_counts

EXAMPLE = OpenApiExample(
    "A lab",
    value={"slug": "rack-lab", "name": "The rack lab", "admin": "Carol"},
    request_only=True,
)


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
