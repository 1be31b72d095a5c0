"""/saved-views/: addresses of comparisons, studies and evidence, with names."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.status import HTTP_204_NO_CONTENT

from api.kit.fields import Text
from api.kit.shapes import StrictSerializer
from api.kit.views import Fields, ListView, ReadView, operation
from benchmarks.models import SavedView
from benchmarks.together.saved_views import (
    MOST_LETTERS,
    change_view,
    find_view,
    save_view,
    visible_views,
)

EXAMPLE = (
    "What integer work costs",
    {"name": "Integer work", "address": "/compare/?work=cpu-integer"},
)
RENAMED = ("Another name", {"name": "Work of whole numbers"})


class SavedViewInput(StrictSerializer):
    name = Text(max_length=100, help_text="The same name again: another address.")
    address = Text(max_length=MOST_LETTERS, help_text="From its first slash on.")


class SavedViewChange(StrictSerializer):
    """Another name or address."""

    name = Text(max_length=100, required=False)
    address = Text(max_length=MOST_LETTERS, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Send name or address.")
        return attrs


class SavedViewSerializer(serializers.Serializer[Any]):
    """A view; ``page`` is where it is seen, ``lab`` is null for a person's own."""

    id = serializers.IntegerField()
    url = serializers.SerializerMethodField()
    name = serializers.CharField()
    address = serializers.CharField()
    page = serializers.SerializerMethodField()
    lab = serializers.CharField(source="lab.slug", allow_null=True, default=None)
    who = serializers.CharField()
    saved_at = serializers.DateTimeField()

    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, view: SavedView) -> str:
        request = self.context.get("request")
        return reverse("api:saved-view", kwargs={"pk": view.pk}, request=request)

    @extend_schema_field(OpenApiTypes.URI)
    def get_page(self, view: SavedView) -> str:
        return str(self.context["request"].build_absolute_uri(view.address))


class SavedViewsView(ListView):
    """Views shared with the lab, and one's own; ``POST`` shares one with the lab."""

    summary = "List saved views"
    serializer_class = SavedViewSerializer

    def get_queryset(self) -> QuerySet[Any]:
        person = self.request.user if self.request.user.is_authenticated else None
        return visible_views(self.viewer, person)

    @operation(
        "Save a view for the token's lab", SavedViewInput, EXAMPLE, statuses=(201,)
    )
    def post(self, given: Fields) -> Response:
        view = save_view(person=None, agent=self.agent.name, lab=self.lab, **given)
        return self.created_or_known(SavedViewSerializer, view, created=True)


class SavedViewView(ReadView):
    """One view: read by whoever sees it; changed and deleted for the token's lab."""

    http_method_names = ["get", "patch", "delete", "head"]
    summary = "Read a saved view"
    serializer_class = SavedViewSerializer

    def get_object(self) -> Any:
        person = self.request.user if self.request.user.is_authenticated else None
        return find_view(self.viewer, self.kwargs["pk"], person)

    @operation("Change a view of the token's lab", SavedViewChange, RENAMED)
    def patch(self, given: Fields, pk: int) -> Response:
        view = change_view(
            view=find_view(self.lab_viewer, pk),
            agent=self.agent.name,
            name=given.get("name"),
            address=given.get("address"),
        )
        return Response(self.shown(SavedViewSerializer, view))

    @extend_schema(summary="Delete a view of the token's lab", responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        find_view(self.lab_viewer, pk).delete()
        return Response(status=HTTP_204_NO_CONTENT)
