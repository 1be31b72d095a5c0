"""/hosts/: the physical machines and their facts."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Printed, Slug, Text
from api.kit.parsing import PrintedJSONParser
from api.kit.shapes import JSONObject, StrictSerializer, checked
from api.kit.views import AddressedRow, ApiView, Fields, ListView, operation
from benchmarks.errors import NotFoundError
from benchmarks.labs.quotas import admit_preview
from benchmarks.labs.throttle import network_of
from benchmarks.models import Host
from benchmarks.parsing.machines import read_machine
from benchmarks.studies.saving import register_host, update_host

EXAMPLE = OpenApiExample(
    "A machine",
    value={
        "slug": "lmu-athlon64-x2-4800",
        "title": "Athlon 64 X2 4800+",
        "facts": {"cores": 2, "cpu": "AMD Athlon 64 X2 4800+, 2.4 GHz"},
    },
    request_only=True,
)

EXAMPLE_CHANGE = OpenApiExample(
    "All facts, as they are now",
    value={"facts": {"cores": 2, "memory_bytes": 2147483648}},
    request_only=True,
)
EXAMPLE_OUTPUT = OpenApiExample(
    "What uname -a printed",
    value={"output": "Linux alpha 6.1.0-18-amd64 #1 SMP x86_64 GNU/Linux"},
    request_only=True,
)


class HostInput(StrictSerializer):
    slug = Slug()
    title = Text(required=False, allow_blank=True, max_length=300)
    facts = JSONObject(
        required=False, help_text="What is known about the machine: CPU, memory, disk."
    )


class HostChanges(StrictSerializer):
    title = Text(required=False, allow_blank=True, max_length=300)
    facts = JSONObject(
        required=False, help_text="All facts, as they are now: they replace the others."
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


class HostsView(ListView):
    """Machines of one's lab, and those that a visible study measured."""

    summary = "List hosts"
    serializer_class = HostSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return Host.objects.visible_to(self.viewer).select_related("lab")

    @operation(
        "Register a host, or find the same one", HostInput, EXAMPLE, statuses=(201, 200)
    )
    def post(self, fields: Fields) -> Response:
        host, created = register_host(lab=self.lab, **fields)
        return self.created_or_known(HostSerializer, host, created)


class HostView(ApiView):
    """One machine."""

    summary = "Read a host"
    serializer_class = HostSerializer

    def get(self, request: Request, pk: int) -> Response:
        hosts = Host.objects.visible_to(self.viewer).select_related("lab")
        host = hosts.filter(pk=pk).first()
        if host is None:
            raise NotFoundError("host", pk)
        return Response(self.shown(HostSerializer, host))

    @operation(
        "State what was not stated of a host, or wrongly", HostChanges, EXAMPLE_CHANGE
    )
    def patch(self, changes: Fields, pk: int) -> Response:
        host = Host.objects.filter(lab=self.lab, pk=pk).select_related("lab").first()
        if host is None:
            raise NotFoundError("host", pk)
        return Response(self.shown(HostSerializer, update_host(host=host, **changes)))


class MachineInput(StrictSerializer):
    output = Printed(
        help_text="What lscpu, dmidecode, uname -a, systeminfo or esxcli printed; also"
        " several of them, one after the other."
    )


class MachineSerializer(serializers.Serializer[Any]):
    """The facts that were read; ``doubts`` say why they may not be the machine's."""

    facts = serializers.DictField()
    programs = serializers.ListField(child=serializers.CharField())
    doubts = serializers.ListField(child=serializers.CharField())


class MachineView(ApiView):
    """Reads what a machine says of itself, for whoever asks; nothing is kept."""

    parser_classes = [PrintedJSONParser]
    authentication_classes = []
    permission_classes = []

    @extend_schema(
        summary="Read the facts of a machine out of its programs' output",
        request=MachineInput,
        responses=MachineSerializer,
        examples=[EXAMPLE_OUTPUT],
    )
    def post(self, request: Request) -> Response:
        admit_preview(network_of(request.META.get("REMOTE_ADDR", "")))
        output = checked(MachineInput, request.data)["output"]
        return Response(self.shown(MachineSerializer, read_machine(output)))
