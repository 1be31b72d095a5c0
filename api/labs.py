from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.status import HTTP_201_CREATED

from api.kit.composite_fields import StrictSerializer
from api.kit.fields import Slug, Text
from api.kit.output_serializer import OutputSerializer
from api.kit.views import ListView, ValidatedData, operation
from benchmarks.labs.creation import SLUG_LENGTH, create_lab_by_agent
from benchmarks.labs.lab_queries import labs_with_counts
from benchmarks.models import Lab

EXAMPLE = ("A lab", {"slug": "rack-lab", "name": "The rack lab", "admin_name": "Carol"})


class LabInput(StrictSerializer):
    """A new lab."""

    slug = Slug(help_text="The slug of the lab; it cannot be changed.")
    name = Text(max_length=200, help_text="The name of the lab.")
    admin_name = Text(
        max_length=200,
        help_text="The name of the person who is invited as the first admin.",
    )

    def validate_slug(self, slug: str) -> str:
        if len(slug) > SLUG_LENGTH:
            raise serializers.ValidationError(f"Send at most {SLUG_LENGTH} characters.")
        return slug


class LabSerializer(OutputSerializer):
    """A group that measures."""

    row_type = Lab
    columns = "id slug name study_count created_at"
    descriptions = {
        "slug": "The slug of the lab.",
        "name": "The name of the lab.",
    }

    study_count = serializers.IntegerField(
        source="studies_count",
        help_text="The number of studies of the lab that the client can see.",
    )


class NewLabSerializer(OutputSerializer):
    """A new lab with the invitation of its first admin."""

    row_type = Lab
    columns = "id slug name created_at"
    descriptions = {
        "slug": "The slug of the lab.",
        "name": "The name of the lab.",
    }

    invitation = serializers.SerializerMethodField(
        help_text=(
            "The code that the first admin enters at `/invitation/`; it is shown "
            "only in this response."
        )
    )

    def get_invitation(self, row: Any) -> str:
        return str(self.context["code"])


class LabsView(ListView):
    """Lists the labs of the client and the labs with a visible study."""

    summary = "List labs"
    serializer_class = LabSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return labs_with_counts(self.viewer)

    @operation(
        "Create a lab",
        LabInput,
        EXAMPLE,
        response_serializers=NewLabSerializer,
        statuses=(201,),
    )
    def post(self, fields: ValidatedData) -> Response:
        """Create a lab and an invitation for its first admin.

        This is forbidden unless the installation lets everybody create labs.
        """
        lab, code = create_lab_by_agent(
            agent=self.agent, admin=fields.pop("admin_name"), **fields
        )
        content = self.serialize(NewLabSerializer, lab, code=code)
        return Response(content, status=HTTP_201_CREATED)
