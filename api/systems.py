"""/hosts/ and /systems/: machines, and the systems measured on them."""

from typing import Any, ClassVar

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.functional import cached_property
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.composite_fields import (
    JSONObject,
    ScalarMap,
    StrictSerializer,
    validate_document,
)
from api.kit.fields import (
    ERROR_MESSAGES,
    Choice,
    ErrorMessages,
    RawOutput,
    Slug,
    Text,
    WholeNumber,
)
from api.kit.query_parameters import ListQuery, study_parameter
from api.kit.strict_json import RawOutputJSONParser, json_type_name
from api.kit.views import (
    ApiView,
    ListView,
    ReadView,
    ResourceSerializer,
    ValidatedData,
    operation,
)
from benchmarks.errors import NotFoundError
from benchmarks.labs.quotas import admit_preview
from benchmarks.labs.sign_in_throttle import network_of
from benchmarks.models import Host, Run, System
from benchmarks.parsing.machine_facts import read_machine
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
    """A physical machine."""

    slug = Slug()
    title = Text(required=False, allow_blank=True, max_length=300)
    facts = JSONObject(
        required=False,
        help_text="The facts of the machine, such as CPU, memory and disks.",
    )


class HostChanges(StrictSerializer):
    """Changes of a host."""

    title = Text(required=False, allow_blank=True, max_length=300)
    facts = JSONObject(
        required=False,
        help_text="All facts of the machine; they replace the stored ones.",
    )


class HostSerializer(ResourceSerializer):
    """A physical machine."""

    url_name = "api:host"

    row_type = Host
    columns = "lab=lab.slug slug title facts created_at"
    descriptions = {
        "facts": "The facts of the machine.",
    }


class HostsView(ListView):
    """Hosts of the lab and of visible studies."""

    summary = "List hosts"
    serializer_class = HostSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return Host.objects.visible_to(self.viewer).select_related("lab")

    @operation(
        "Register a host",
        HostInput,
        EXAMPLE_HOST,
        statuses=(201, 200),
    )
    def post(self, fields: ValidatedData) -> Response:
        host, created = register_host(lab=self.lab, **fields)
        return self.created_response(HostSerializer, host, created)


class HostView(ReadView):
    """One host."""

    kind = "host"
    summary = "Read a host"
    serializer_class = HostSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return Host.objects.visible_to(self.viewer).select_related("lab")

    @operation("Change the title or facts of a host", HostChanges, EXAMPLE_CHANGE)
    def patch(self, changes: ValidatedData, pk: int) -> Response:
        host = Host.objects.filter(lab=self.lab, pk=pk).select_related("lab").first()
        if host is None:
            raise NotFoundError("host", pk)
        return Response(
            self.serialize(HostSerializer, update_host(host=host, **changes))
        )


class MachineOutputInput(StrictSerializer):
    """The output of programs that describe a machine."""

    output = RawOutput(
        help_text=(
            "The output of lscpu, dmidecode, uname -a, systeminfo or esxcli; "
            "several outputs may follow each other."
        )
    )


class MachineFactsSerializer(serializers.Serializer[Any]):
    """The facts of a machine, read from the output of its programs."""

    facts = serializers.DictField(help_text="The facts that were read.")
    programs = serializers.ListField(
        child=serializers.CharField(),
        help_text="The programs whose output was recognized.",
    )
    warnings = serializers.ListField(
        child=serializers.CharField(),
        help_text=(
            "Reasons why the facts may not describe the machine, for example "
            "because they were printed in a guest."
        ),
    )


class ParseMachineView(ApiView):
    """Facts of a machine, read from the output of its programs. Nothing is stored."""

    parser_classes = [RawOutputJSONParser]
    authentication_classes = []
    permission_classes = []

    @extend_schema(
        summary="Extract the facts of a machine from the output of its programs",
        request=MachineOutputInput,
        responses=MachineFactsSerializer,
        examples=[EXAMPLE_OUTPUT],
    )
    def post(self, request: Request) -> Response:
        admit_preview(network_of(request.META.get("REMOTE_ADDR", "")))
        output = validate_document(MachineOutputInput, request.data)["output"]
        return Response(self.serialize(MachineFactsSerializer, read_machine(output)))


MAX_VCPUS = 100_000
MAX_BYTES = 2**63 - 1

EXAMPLE_SYSTEM = {
    "host": "lmu-athlon64-x2-4800",
    "hypervisor": "Xen",
    "hypervisor_version": "3.3",
    "virtualization": "full",
    "guest_os": "Ubuntu Server 9.04",
    "guest_bits": 32,
    "options": {"hw_virt": "on"},
}
EXAMPLE = ("A Xen guest", EXAMPLE_SYSTEM)


class SystemInput(StrictSerializer):
    """A system under test. Omitted properties are not stated."""

    host = Slug(help_text="The slug of a host of the lab.")
    hypervisor = Text(max_length=100, help_text='"native" is the machine itself.')
    hypervisor_version = Text(
        required=False,
        allow_blank=True,
        max_length=100,
        help_text="The version of the hypervisor; empty if not stated.",
    )
    virtualization = Text(
        required=False,
        allow_blank=True,
        max_length=50,
        help_text=(
            "The type of virtualization, such as full, paravirtual, dom0 or container."
        ),
    )
    guest_os = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="The operating system on which the tool ran; empty if not stated.",
    )
    guest_bits = Choice(
        choices=[32, 64],
        required=False,
        allow_null=True,
        help_text=(
            "The width of the guest operating system in bits (32 or 64); null if "
            "not stated."
        ),
    )
    vcpus = WholeNumber(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_VCPUS,
        help_text="The number of virtual CPUs; null if not stated.",
    )
    memory_bytes = WholeNumber(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_BYTES,
        help_text=(
            "The memory of the guest or of the machine in bytes; null if not stated."
        ),
    )
    options = ScalarMap(
        required=False,
        help_text=(
            "Other settings by name, such as hw_virt, guest_tools, storage, swap or "
            "scheduler."
        ),
    )


class SystemField(serializers.Field[Any, Any, Any, Any]):
    """The id of a registered system, or the description of a system."""

    default_error_messages: ClassVar[ErrorMessages] = ERROR_MESSAGES

    def to_internal_value(self, data: Any) -> Any:
        # Not isinstance: in Python, True is an int.
        if type(data) is int:
            return data
        if not isinstance(data, dict):
            raise serializers.ValidationError(
                "Send a system's id or the system as an object, not "
                f"{json_type_name(data)}."
            )
        return self.description.run_validation(data)

    @cached_property
    def description(self) -> SystemInput:
        return SystemInput()


class SystemSerializer(ResourceSerializer):
    """A system under test."""

    url_name = "api:system"

    row_type = System
    columns = """
        lab=lab.slug label host=host.slug host_id hypervisor hypervisor_version
        virtualization guest_os guest_bits vcpus memory_bytes options is_emulated
        is_nested platform_warning created_at
    """
    descriptions = {
        "label": "The name of the system for people.",
        "options": (
            "Other settings, such as hw_virt, guest_tools, storage, swap or scheduler."
        ),
    }

    is_emulated = serializers.BooleanField(
        help_text="Whether a program emulates the processor, as stated or detected."
    )
    is_nested = serializers.BooleanField(
        help_text=(
            "Whether its Windows ran above its own hypervisor (VBS or the Hyper-V "
            "role), as detected by the agent."
        )
    )
    platform_warning = serializers.CharField(
        help_text="What is unclear about the hypervisor; empty if it is a known one."
    )


class SystemQuery(ListQuery):
    study = study_parameter()
    host = Slug(required=False, source="host__slug", help_text="The slug of a host.")


class SystemsView(ListView):
    """Systems of the lab and of visible studies."""

    query_class = SystemQuery
    summary = "List systems"
    non_filter_parameters = ("study",)
    serializer_class = SystemSerializer

    def get_queryset(self) -> QuerySet[Any]:
        systems = System.objects.visible_to(self.viewer).select_related("lab", "host")
        if study := self.requested_study:
            # A join would repeat a system for each of its runs.
            runs = Run.objects.filter(study=study, system=OuterRef("pk"))
            systems = systems.filter(Exists(runs))
        return systems

    @operation(
        "Register a system",
        SystemInput,
        EXAMPLE,
        statuses=(201, 200),
    )
    def post(self, description: ValidatedData) -> Response:
        system, created = register_system(lab=self.lab, description=description)
        return self.created_response(SystemSerializer, system, created)


class SystemView(ReadView):
    """One system under test."""

    kind = "system"
    summary = "Read a system"
    serializer_class = SystemSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return System.objects.visible_to(self.viewer).select_related("lab", "host")
