from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.status import HTTP_204_NO_CONTENT

from api.kit.composite_fields import StrictSerializer
from api.kit.descriptions import COMMON_DESCRIPTIONS
from api.kit.fields import Text
from api.kit.views import ListView, ReadView, ValidatedData, operation
from benchmarks.collaboration.saved_views import (
    MAX_PATH_LENGTH,
    find_view,
    save_view,
    update_view,
    visible_views,
)
from benchmarks.models import SavedView

EXAMPLE = (
    "Results of integer work",
    {"name": "Integer work", "path": "/compare/?work=cpu-integer"},
)
EXAMPLE_CHANGE = ("Rename a view", {"name": "Integer arithmetic"})


class SavedViewInput(StrictSerializer):
    """A view to share with the lab."""

    name = Text(
        max_length=100,
        help_text="The name of the view; an existing view of this name is replaced.",
    )
    path = Text(
        max_length=MAX_PATH_LENGTH,
        help_text="The path and query of a page, such as /compare/?work=cpu-integer.",
    )


class SavedViewChange(StrictSerializer):
    """A new name or path of a view."""

    name = Text(max_length=100, required=False, help_text="The new name of the view.")
    path = Text(
        max_length=MAX_PATH_LENGTH,
        required=False,
        help_text="The new path and query of the page.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Send name or path, or both.")
        return attrs


class SavedViewSerializer(serializers.Serializer[Any]):
    """A saved URL of a page."""

    id = serializers.IntegerField(help_text=COMMON_DESCRIPTIONS["id"])
    url = serializers.SerializerMethodField(help_text=COMMON_DESCRIPTIONS["url"])
    name = serializers.CharField(help_text="The name of the view.")
    path = serializers.CharField(help_text="The path and query of the page.")
    page_url = serializers.SerializerMethodField(help_text="The full URL of the page.")
    lab = serializers.CharField(
        source="lab.slug",
        allow_null=True,
        default=None,
        help_text="The slug of the lab that shares the view; null for a personal view.",
    )
    saved_by = serializers.CharField(
        help_text="The name of the person or agent that saved it."
    )
    saved_at = serializers.DateTimeField(help_text="When it was last saved.")

    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, view: SavedView) -> str:
        request = self.context.get("request")
        return reverse("api:saved-view", kwargs={"pk": view.pk}, request=request)

    @extend_schema_field(OpenApiTypes.URI)
    def get_page_url(self, view: SavedView) -> str:
        return str(self.context["request"].build_absolute_uri(view.path))


class SavedViewsView(ListView):
    """Lists the views of the client's labs and, for people, their personal views."""

    summary = "List saved views"
    serializer_class = SavedViewSerializer

    def get_queryset(self) -> QuerySet[Any]:
        person = self.request.user if self.request.user.is_authenticated else None
        return visible_views(self.viewer, person)

    @operation("Save a view for the lab", SavedViewInput, EXAMPLE, statuses=(201,))
    def post(self, fields: ValidatedData) -> Response:
        """Save a view for the token's lab; it replaces a view of the same name."""
        view = save_view(person=None, agent=self.agent.name, lab=self.lab, **fields)
        return self.created_response(SavedViewSerializer, view, created=True)


class SavedViewView(ReadView):
    """Returns a saved view of the client's labs, or a personal view of the client."""

    http_method_names = ["get", "patch", "delete", "head"]
    summary = "Read a saved view"
    serializer_class = SavedViewSerializer

    def get_object(self) -> Any:
        person = self.request.user if self.request.user.is_authenticated else None
        return find_view(self.viewer, self.kwargs["pk"], person)

    @operation("Change a view of the lab", SavedViewChange, EXAMPLE_CHANGE)
    def patch(self, fields: ValidatedData, pk: int) -> Response:
        """Change the name or the path of a view of the token's lab."""
        view = update_view(
            view=find_view(self.lab_viewer, pk),
            agent=self.agent.name,
            name=fields.get("name"),
            path=fields.get("path"),
        )
        return Response(self.serialize(SavedViewSerializer, view))

    @extend_schema(summary="Delete a view of the lab", responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a view of the token's lab."""
        find_view(self.lab_viewer, pk).delete()
        return Response(status=HTTP_204_NO_CONTENT)
