from typing import Any, ClassVar

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.functional import cached_property
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.composite_fields import ScalarMap, StrictSerializer
from api.kit.fields import (
    ERROR_MESSAGES,
    Choice,
    ErrorMessages,
    Slug,
    Text,
    WholeNumber,
)
from api.kit.query_parameters import ListQuery, study_parameter
from api.kit.strict_json import json_type_name
from api.kit.views import (
    ListView,
    ReadView,
    ResourceSerializer,
    ValidatedData,
    operation,
)
from benchmarks.models import Run, System
from benchmarks.studies.systems import register_system

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
    """A system under test: a machine with a hypervisor, or a machine without one.

    A property that is left out counts as not stated.
    """

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
        # isinstance would also accept True and False.
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
        "label": "The name of the system for people, derived from its properties.",
        "host_id": "The id of the host; see `/hosts/`.",
        "options": (
            "Other settings by name, such as hw_virt, guest_tools, storage, swap or "
            "scheduler."
        ),
    }

    is_emulated = serializers.BooleanField(
        help_text=(
            "Whether the processor is emulated by a program, according to the "
            "description or to facts of the agent."
        )
    )
    is_nested = serializers.BooleanField(
        help_text=(
            "Whether Windows in the system ran above its own hypervisor (VBS or the "
            "Hyper-V role), as detected by the agent."
        )
    )
    platform_warning = serializers.CharField(
        help_text="What is unclear about the hypervisor; empty if nothing is."
    )


class SystemQuery(ListQuery):
    study = study_parameter()
    host = Slug(required=False, source="host__slug", help_text="The slug of a host.")


class SystemsView(ListView):
    """Lists the systems of the client's labs and of visible studies."""

    query_class = SystemQuery
    summary = "List systems"
    non_filter_parameters = ("study",)
    serializer_class = SystemSerializer

    def get_queryset(self) -> QuerySet[Any]:
        systems = System.objects.visible_to(self.viewer).select_related("lab", "host")
        if study := self.requested_study:
            # A join would return a system once for each of its runs.
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
        """Register a system of the token's lab.

        If the lab has an identical system, it is returned with status 200.
        """
        system, created = register_system(lab=self.lab, description=description)
        return self.created_response(SystemSerializer, system, created)


class SystemView(ReadView):
    """Returns a system under test."""

    kind = "system"
    summary = "Read a system"
    serializer_class = SystemSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return System.objects.visible_to(self.viewer).select_related("lab", "host")
