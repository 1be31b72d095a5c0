"""/saved-views/: addresses of comparisons, studies and evidence, with names."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.status import HTTP_201_CREATED, HTTP_204_NO_CONTENT

from api.kit.fields import Text
from api.kit.queries import ListQuery
from api.kit.shapes import StrictSerializer, checked
from api.kit.views import ApiView
from benchmarks.models import SavedView
from benchmarks.together.saved_views import (
    MOST_LETTERS,
    change_view,
    find_view,
    save_view,
    visible_views,
)

EXAMPLE = OpenApiExample(
    "What integer work costs",
    value={"name": "Integer work", "address": "/compare/?work=cpu-integer"},
    request_only=True,
)
RENAMED = OpenApiExample(
    "Another name", value={"name": "Work of whole numbers"}, request_only=True
)


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


class SavedViewsView(ApiView):
    """Views shared with the lab, and one's own; ``POST`` shares one with the lab."""

    query_class = ListQuery

    @extend_schema(
        summary="List saved views",
        operation_id="saved_views_list",
        responses=SavedViewSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        person = request.user if request.user.is_authenticated else None
        views = visible_views(self.viewer, person)
        return self.page_of(views, SavedViewSerializer)

    @extend_schema(
        summary="Save a view for the token's lab",
        operation_id="saved_views_create",
        request=SavedViewInput,
        responses={201: SavedViewSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        given = checked(SavedViewInput, request.data)
        view = save_view(person=None, agent=self.agent.name, lab=self.lab, **given)
        shown = self.shown(SavedViewSerializer, view)
        headers = {"Location": shown["url"]}
        return Response(shown, status=HTTP_201_CREATED, headers=headers)


class SavedViewView(ApiView):
    """One view: read by whoever sees it; changed and deleted for the token's lab."""

    http_method_names = ["get", "patch", "delete", "head"]

    @extend_schema(summary="Read a saved view", responses=SavedViewSerializer)
    def get(self, request: Request, pk: int) -> Response:
        person = request.user if request.user.is_authenticated else None
        view = find_view(self.viewer, pk, person)
        return Response(self.shown(SavedViewSerializer, view))

    @extend_schema(
        summary="Change a view of the token's lab",
        request=SavedViewChange,
        responses=SavedViewSerializer,
        examples=[RENAMED],
    )
    def patch(self, request: Request, pk: int) -> Response:
        given = checked(SavedViewChange, request.data)
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
