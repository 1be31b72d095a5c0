"""Query parameters, declared once: they check a request and document it; pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from api.kit.fields import WORDS, Messages, Pattern, Text
from api.kit.shapes import StrictSerializer, checked
from benchmarks import tools
from benchmarks.errors import UnknownNameError, closest, shorten
from benchmarks.own_tools.lookup import is_own
from benchmarks.platforms import canonical_hypervisor

PAGE_SIZE = 100
MAX_PAGE_SIZE = 1000

# 18 digits always fit into the 64 bits of a database's number.
WHOLE = re.compile(r"\d{1,18}", re.ASCII)
CURSOR = re.compile(r"(after|before)-(\d{1,18})", re.ASCII)


@dataclass(frozen=True)
class Cursor:
    """Where a page begins (or, going backwards, ends)."""

    before: bool
    place: int


class WholeParameter(serializers.IntegerField):
    """A whole number in plain digits; ``" 12 "`` and ``1_000`` are not."""

    default_error_messages: ClassVar[Messages] = WORDS

    def to_internal_value(self, data: Any) -> int:
        if not WHOLE.fullmatch(data):
            raise serializers.ValidationError("Send a whole number in digits.")
        return int(data)


@extend_schema_field({"type": "string", "pattern": f"^{CURSOR.pattern}$"})
class CursorParameter(serializers.CharField):
    """A place in a list, as ``next`` and ``previous`` give it."""

    def to_internal_value(self, data: Any) -> Cursor:  # type: ignore[override]  # text becomes a place
        match = CURSOR.fullmatch(data)
        if match is None:
            raise serializers.ValidationError(
                'This is no cursor of ours. Follow "next" and "previous" as they are.'
            )
        return Cursor(match[1] == "before", int(match[2]))


class ToolParameter(Text):
    """A tool by its slug or title; one that a lab declared as ``lab:slug``."""

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        # Whether it exists is not told: who may not see its results finds none.
        if is_own(name):
            return str(name)
        try:
            return tools.get(name).slug
        except UnknownNameError as error:
            raise serializers.ValidationError(str(error)) from None


class HypervisorParameter(Text):
    """A hypervisor in any of its spellings."""

    def to_internal_value(self, data: Any) -> str:
        return canonical_hypervisor(super().to_internal_value(data))


class HypervisorsParameter(Text):
    """Several hypervisors in any of their spellings, with commas between them."""

    def to_internal_value(self, data: Any) -> list[str]:  # type: ignore[override]  # text becomes names
        text = super().to_internal_value(data)
        # Of what becomes of it the field would count the names.
        if self.max_length is not None and len(text) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return [canonical_hypervisor(it) for it in text.split(",") if it.strip()]


class Query(StrictSerializer):
    """No parameters at all; a subclass declares those of its view."""

    def _unknown(self, name: str) -> str:
        if not self.fields:
            return "This address takes no query parameters."
        if close := closest(name, self.fields):
            return f"There is no such parameter. Did you mean {' or '.join(close)}?"
        return f"There is no such parameter. Known are: {', '.join(self.fields)}."


class ListQuery(Query):
    """What every list takes."""

    cursor = CursorParameter(
        required=False, help_text='Taken from "next" or "previous".'
    )
    page_size = WholeParameter(
        required=False,
        min_value=1,
        max_value=MAX_PAGE_SIZE,
        help_text=f"Rows a page, {PAGE_SIZE} unless told.",
    )


def study_parameter(*, required: bool = False) -> Pattern:
    """The study of a list; another lab's can be named with its lab."""
    return Pattern(
        r"[-a-zA-Z0-9_]+(/[-a-zA-Z0-9_]+)?",
        "my-study or lab/my-study",
        required=required,
        # A lab's 50 characters, a slash, a study's 100.
        max_length=151,
        help_text='A study\'s slug, or "lab/slug" where several labs use it.',
    )


def read_query(shape: type[Query], parameters: QueryDict) -> dict[str, Any]:
    """Return a request's parameters, each given once."""
    twice = [name for name, values in parameters.lists() if len(values) > 1]
    if twice:
        raise serializers.ValidationError(
            {shorten(name): ["Send this once."] for name in twice}
        )
    return checked(shape, parameters.dict())


class IdCursor(BasePagination):
    """``next`` and ``previous`` are addresses, or null where the list ends."""

    def paginate_queryset(
        self, queryset: QuerySet[Any], request: Request, view: Any = None
    ) -> list[Any]:
        """Return one page in ascending order of the view's ``cursor_field``."""
        self.request, self.field = request, getattr(view, "cursor_field", "id")
        size = view.query.get("page_size", PAGE_SIZE)
        cursor: Cursor | None = view.query.get("cursor")
        backwards = cursor is not None and cursor.before
        if cursor is not None:
            side = "lt" if backwards else "gt"
            queryset = queryset.filter(**{f"{self.field}__{side}": cursor.place})
        order = f"-{self.field}" if backwards else self.field
        # One row more than a page tells whether the list goes on.
        rows = list(queryset.order_by(order)[: size + 1])
        page, more = rows[:size], len(rows) > size
        if backwards:
            page.reverse()
        # Where one came from there is a page, in either direction.
        self.has_next = more or backwards
        self.has_previous = cursor is not None and (more or not backwards)
        self.page = page
        return page

    def get_paginated_response(self, data: Sequence[Any]) -> Response:
        return Response(
            {
                "next": self._address("after", -1) if self.has_next else None,
                "previous": self._address("before", 0) if self.has_previous else None,
                "results": data,
            }
        )

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": "string", "format": "uri", "nullable": True}
        properties = {"next": address, "previous": address, "results": schema}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return []  # the view's query declares them

    def _address(self, side: str, index: int) -> str | None:
        if not self.page:
            return None
        place = getattr(self.page[index], self.field)
        url = self.request.build_absolute_uri()
        return replace_query_param(url, "cursor", f"{side}-{place}")
