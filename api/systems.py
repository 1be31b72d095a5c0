"""/hosts/ and /systems/: machines, and the platforms measured on them."""

from typing import Any, ClassVar

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.functional import cached_property
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import WORDS, Choice, Messages, Printed, Slug, Text, WholeNumber
from api.kit.parsing import PrintedJSONParser, kind
from api.kit.queries import ListQuery, study_parameter
from api.kit.shapes import JSONObject, SmallMap, StrictSerializer, checked
from api.kit.views import AddressedRow, ApiView, Fields, ListView, ReadView, operation
from benchmarks.errors import NotFoundError
from benchmarks.labs.quotas import admit_preview
from benchmarks.labs.throttle import network_of
from benchmarks.models import Host, Run, System
from benchmarks.parsing.machines import read_machine
from benchmarks.studies.systems import register_host, register_system, update_host

EXAMPLE_HOST = (
    "A machine",
    {
        "slug": "lmu-athlon64-x2-4800",
        "title": "Athlon 64 X2 4800+",
        "facts": {"cores": 2, "cpu": "AMD Athlon 64 X2 4800+, 2.4 GHz"},
    },
)

EXAMPLE_CHANGE = (
    "All facts, as they are now",
    {"facts": {"cores": 2, "memory_bytes": 2147483648}},
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

    row_type = Host
    columns = "lab=lab.slug slug title facts created_at"


class HostsView(ListView):
    """Machines of one's lab, and those that a visible study measured."""

    summary = "List hosts"
    serializer_class = HostSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return Host.objects.visible_to(self.viewer).select_related("lab")

    @operation(
        "Register a host, or find the same one",
        HostInput,
        EXAMPLE_HOST,
        statuses=(201, 200),
    )
    def post(self, fields: Fields) -> Response:
        host, created = register_host(lab=self.lab, **fields)
        return self.created_or_known(HostSerializer, host, created)


class HostView(ReadView):
    """One machine."""

    kind = "host"
    summary = "Read a host"
    serializer_class = HostSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return Host.objects.visible_to(self.viewer).select_related("lab")

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


MAX_VCPUS = 100_000
MAX_BYTES = 2**63 - 1

SYSTEM = {
    "host": "lmu-athlon64-x2-4800",
    "hypervisor": "Xen",
    "hypervisor_version": "3.3",
    "virtualization": "full",
    "guest_os": "Ubuntu Server 9.04",
    "guest_bits": 32,
    "options": {"hw_virt": "on"},
}
EXAMPLE = ("A Xen guest", SYSTEM)


class SystemInput(StrictSerializer):
    """A system under test. What is not sent is not stated."""

    host = Slug(help_text="The slug of a host of the lab.")
    hypervisor = Text(max_length=100, help_text='"native" is the machine itself.')
    hypervisor_version = Text(required=False, allow_blank=True, max_length=100)
    virtualization = Text(
        required=False,
        allow_blank=True,
        max_length=50,
        help_text="full, paravirtual, dom0, container, ...",
    )
    guest_os = Text(required=False, allow_blank=True, max_length=200)
    guest_bits = Choice(choices=[32, 64], required=False, allow_null=True)
    vcpus = WholeNumber(
        required=False, allow_null=True, min_value=1, max_value=MAX_VCPUS
    )
    memory_bytes = WholeNumber(
        required=False, allow_null=True, min_value=1, max_value=MAX_BYTES
    )
    options = SmallMap(
        required=False,
        help_text="Settings such as hw_virt, guest_tools, storage, swap, scheduler.",
    )


class SystemField(serializers.Field[Any, Any, Any, Any]):
    """The id of a registered system, or a system described on the spot."""

    default_error_messages: ClassVar[Messages] = WORDS

    def to_internal_value(self, data: Any) -> Any:
        # Not isinstance: true is an int to Python.
        if type(data) is int:
            return data
        if not isinstance(data, dict):
            raise serializers.ValidationError(
                f"Send a system's id or the system as an object, not {kind(data)}."
            )
        return self.description.run_validation(data)

    @cached_property
    def description(self) -> SystemInput:
        return SystemInput()


class SystemSerializer(AddressedRow):
    address = "api:system"

    row_type = System
    columns = """
        lab=lab.slug label host=host.slug host_id hypervisor hypervisor_version
        virtualization guest_os guest_bits vcpus memory_bytes options is_emulated
        is_above_hypervisor platform_note created_at
    """

    is_emulated = serializers.BooleanField(
        help_text="A program emulates its processor: so it was stated or detected."
    )
    is_above_hypervisor = serializers.BooleanField(
        help_text="Its Windows ran above its own hypervisor (VBS or the Hyper-V role), "
        "as its agent detected."
    )
    platform_note = serializers.CharField(
        help_text="What is unclear about its hypervisor; empty if it is a known one."
    )


class SystemQuery(ListQuery):
    study = study_parameter()
    host = Slug(required=False, source="host__slug", help_text="A host's slug.")


class SystemsView(ListView):
    """Systems of one's lab, and those that a visible study measured."""

    query_class = SystemQuery
    summary = "List systems"
    no_filters = ("study",)
    serializer_class = SystemSerializer

    def get_queryset(self) -> QuerySet[Any]:
        systems = System.objects.visible_to(self.viewer).select_related("lab", "host")
        if study := self.asked_study:
            # Not a join, which would give a system as often as it has runs.
            runs = Run.objects.filter(study=study, system=OuterRef("pk"))
            systems = systems.filter(Exists(runs))
        return systems

    @operation(
        "Register a system, or find the same one",
        SystemInput,
        EXAMPLE,
        statuses=(201, 200),
    )
    def post(self, description: Fields) -> Response:
        system, created = register_system(lab=self.lab, description=description)
        return self.created_or_known(SystemSerializer, system, created)


class SystemView(ReadView):
    """One system under test."""

    kind = "system"
    summary = "Read a system"
    serializer_class = SystemSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return System.objects.visible_to(self.viewer).select_related("lab", "host")
