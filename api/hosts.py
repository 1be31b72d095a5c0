"""/hosts/: the physical machines and their facts."""

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Slug, Text
from api.kit.queries import ListQuery
from api.kit.shapes import JSONObject, StrictSerializer, checked
from api.kit.views import AddressedRow, ApiView
from benchmarks.errors import NotFoundError
from benchmarks.models import Host
from benchmarks.studies.saving import register_host

EXAMPLE = OpenApiExample(
    "A machine",
    value={
        "slug": "lmu-athlon64-x2-4800",
        "title": "Athlon 64 X2 4800+",
        "facts": {"cores": 2, "cpu": "AMD Athlon 64 X2 4800+, 2.4 GHz"},
    },
    request_only=True,
)


class HostInput(StrictSerializer):
    slug = Slug()
    title = Text(required=False, allow_blank=True, max_length=300)
    facts = JSONObject(
        required=False, help_text="What is known about the machine: CPU, memory, disk."
    )


class HostSerializer(AddressedRow):
    address = "api:host"

    id = serializers.IntegerField()
    url = serializers.SerializerMethodField()
    lab = serializers.CharField(source="lab.slug")
    slug = serializers.CharField()
    title = serializers.CharField()
    facts = serializers.DictField()
    created_at = serializers.DateTimeField()


class HostsView(ApiView):
    """Machines of one's lab, and those that a visible study measured."""

    query_class = ListQuery

    @extend_schema(
        summary="List hosts",
        operation_id="hosts_list",
        responses=HostSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        hosts = Host.objects.visible_to(self.viewer).select_related("lab")
        return self.page_of(hosts, HostSerializer)

    @extend_schema(
        summary="Register a host, or find the same one",
        request=HostInput,
        responses={201: HostSerializer, 200: HostSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        fields = checked(HostInput, request.data)
        host, created = register_host(lab=self.lab, **fields)
        return self.created_or_known(HostSerializer, host, created)


class HostView(ApiView):
    """One machine."""

    @extend_schema(summary="Read a host", responses=HostSerializer)
    def get(self, request: Request, pk: int) -> Response:
        hosts = Host.objects.visible_to(self.viewer).select_related("lab")
        host = hosts.filter(pk=pk).first()
        if host is None:
            raise NotFoundError("host", pk)
        return Response(self.shown(HostSerializer, host))
