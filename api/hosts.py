from typing import Any

from django.db.models import QuerySet
from rest_framework.response import Response

from api.kit.composite_fields import JSONObject, StrictSerializer
from api.kit.fields import Slug, Text
from api.kit.views import (
    ListView,
    ReadView,
    ResourceSerializer,
    ValidatedData,
    operation,
)
from benchmarks.errors import NotFoundError
from benchmarks.models import Host
from benchmarks.studies.systems import register_host, update_host

EXAMPLE_HOST = (
    "A machine",
    {
        "slug": "lmu-athlon64-x2-4800",
        "title": "Athlon 64 X2 4800+",
        "facts": {"cores": 2, "cpu": "AMD Athlon 64 X2 4800+, 2.4 GHz"},
    },
)

EXAMPLE_CHANGE = (
    "Replace the facts",
    {"facts": {"cores": 2, "memory_bytes": 2147483648}},
)


class HostInput(StrictSerializer):
    """A physical machine."""

    slug = Slug(help_text="The slug of the host; it cannot be changed.")
    title = Text(
        required=False,
        allow_blank=True,
        max_length=300,
        help_text="The name of the host for people.",
    )
    facts = JSONObject(
        required=False,
        help_text="The facts of the machine, such as CPU, memory and disks.",
    )


class HostChanges(StrictSerializer):
    """The fields of a host to change; omitted fields stay as they are."""

    title = Text(
        required=False,
        allow_blank=True,
        max_length=300,
        help_text="The new name of the host for people.",
    )
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
        "slug": "The slug of the host.",
        "title": "The name of the host for people; empty if it has none.",
        "facts": "The facts of the machine, such as CPU, memory and disks.",
    }


class HostsView(ListView):
    """Lists the hosts of the client's labs and of visible studies."""

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
        """Register a host of the token's lab.

        If the lab has an identical host, it is returned with status 200.
        """
        host, created = register_host(lab=self.lab, **fields)
        return self.created_response(HostSerializer, host, created)


class HostView(ReadView):
    """Returns a host."""

    kind = "host"
    summary = "Read a host"
    serializer_class = HostSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return Host.objects.visible_to(self.viewer).select_related("lab")

    @operation("Change the title or facts of a host", HostChanges, EXAMPLE_CHANGE)
    def patch(self, changes: ValidatedData, pk: int) -> Response:
        """Change the title of a host of the token's lab, or replace its facts."""
        host = Host.objects.filter(lab=self.lab, pk=pk).select_related("lab").first()
        if host is None:
            raise NotFoundError("host", pk)
        return Response(
            self.serialize(HostSerializer, update_host(host=host, **changes))
        )
