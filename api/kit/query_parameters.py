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

from api.kit.composite_fields import StrictSerializer, validate_document
from api.kit.fields import ERROR_MESSAGES, Choice, ErrorMessages, Pattern, Text
from benchmarks import tools
from benchmarks.custom_tools.lookup import is_custom
from benchmarks.errors import UnknownNameError, closest_names, shorten
from benchmarks.hypervisor_names import canonical_hypervisor
from benchmarks.models.run import SCENARIOS

PAGE_SIZE = 100
MAX_PAGE_SIZE = 1000

# Numbers of 18 digits fit into a bigint.
WHOLE_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
CURSOR = re.compile(r"(after|before)-(\d{1,18})", re.ASCII)


@dataclass(frozen=True)
class Cursor:
    """The row after which a page starts or, if ``before``, before which it ends."""

    before: bool
    row_id: int


class IntegerParameter(serializers.IntegerField):
    """A whole number in digits; ``" 12 "`` and ``1_000`` are rejected."""

    default_error_messages: ClassVar[ErrorMessages] = ERROR_MESSAGES

    def to_internal_value(self, data: Any) -> int:
        if not WHOLE_NUMBER.fullmatch(data):
            raise serializers.ValidationError("Send a whole number, as digits only.")
        return int(data)


@extend_schema_field({"type": "string", "pattern": f"^{CURSOR.pattern}$"})
class CursorParameter(serializers.CharField):
    def to_internal_value(self, data: Any) -> Cursor:  # type: ignore[override]  # not text
        match = CURSOR.fullmatch(data)
        if match is None:
            raise serializers.ValidationError(
                'Invalid cursor. Use the URLs in "next" and "previous" unchanged.'
            )
        return Cursor(match[1] == "before", int(match[2]))


class ToolParameter(Text):
    """The slug or title of a tool, or ``lab:slug`` of a custom tool."""

    def __init__(self, **kwargs: Any) -> None:
        help_text = (
            "The slug or title of a tool; a custom tool has the form `lab:slug`."
        )
        super().__init__(required=False, help_text=help_text, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        # Not looked up, so that clients do not learn whether a custom tool exists.
        if is_custom(name):
            return str(name)
        try:
            return tools.get(name).slug
        except UnknownNameError as error:
            raise serializers.ValidationError(str(error)) from None


class HypervisorParameter(Text):
    """A hypervisor in any spelling."""

    def to_internal_value(self, data: Any) -> str:
        return canonical_hypervisor(super().to_internal_value(data))


class HypervisorsParameter(Text):
    """Hypervisors in any spelling, separated by commas."""

    def to_internal_value(self, data: Any) -> list[str]:  # type: ignore[override]  # not text
        text = super().to_internal_value(data)
        # Checked here, because the validator would check the number of names.
        if self.max_length is not None and len(text) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return [canonical_hypervisor(name) for name in text.split(",") if name.strip()]


class Query(StrictSerializer):
    """The query parameters of a view; this class itself allows none."""

    def _unknown_key_message(self, name: str) -> str:
        if not self.fields:
            return "This endpoint has no query parameters."
        if close := closest_names(name, self.fields):
            return f"Unknown parameter. Did you mean {' or '.join(close)}?"
        return f"Unknown parameter. Known parameters: {', '.join(self.fields)}."


class ListQuery(Query):
    cursor = CursorParameter(
        required=False,
        help_text="The position of the page, taken from `next` or `previous`.",
    )
    page_size = IntegerParameter(
        required=False,
        min_value=1,
        max_value=MAX_PAGE_SIZE,
        help_text=f"The number of rows per page; the default is {PAGE_SIZE}.",
    )


def study_parameter(*, required: bool = False) -> Pattern:
    """Return a field for a study: its slug, or ``lab/slug``."""
    return Pattern(
        r"[-a-zA-Z0-9_]+(/[-a-zA-Z0-9_]+)?",
        "my-study or lab/my-study",
        required=required,
        # 50 characters for the lab, a slash, and 100 for the study.
        max_length=151,
        help_text="The slug of a study, or `lab/slug` if several labs use the slug.",
    )


def metric_parameter(**options: Any) -> Text:
    return Text(
        required=False, max_length=100, help_text="The name of a metric.", **options
    )


def scenario_parameter() -> Choice:
    return Choice(
        choices=SCENARIOS, required=False, help_text="What ran at the same time."
    )


def parse_query(serializer_class: type[Query], parameters: QueryDict) -> dict[str, Any]:
    """Return the validated query parameters, each of which may occur only once."""
    repeated = [name for name, values in parameters.lists() if len(values) > 1]
    if repeated:
        raise serializers.ValidationError(
            {shorten(name): ["Send this parameter only once."] for name in repeated}
        )
    return validate_document(serializer_class, parameters.dict())


class IdCursorPagination(BasePagination):
    def paginate_queryset(
        self, queryset: QuerySet[Any], request: Request, view: Any = None
    ) -> list[Any]:
        self.request, self.field = request, getattr(view, "cursor_field", "id")
        size = view.query.get("page_size", PAGE_SIZE)
        cursor: Cursor | None = view.query.get("cursor")
        backwards = cursor is not None and cursor.before
        if cursor is not None:
            lookup = "lt" if backwards else "gt"
            queryset = queryset.filter(**{f"{self.field}__{lookup}": cursor.row_id})
        order = f"-{self.field}" if backwards else self.field
        rows = list(queryset.order_by(order)[: size + 1])
        page, has_more = rows[:size], len(rows) > size
        if backwards:
            page.reverse()
        # There is always a page in the direction from which the cursor came.
        self.has_next = has_more or backwards
        self.has_previous = cursor is not None and (has_more or not backwards)
        self.page = page
        return page

    def get_paginated_response(self, data: Sequence[Any]) -> Response:
        return Response(
            {
                "next": self._page_url("after", -1) if self.has_next else None,
                "previous": self._page_url("before", 0) if self.has_previous else None,
                "results": data,
            }
        )

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        url = {"type": "string", "format": "uri", "nullable": True}
        following = "The URL of the next page; null on the last page."
        preceding = "The URL of the previous page; null on the first page."
        properties = {
            "next": {**url, "description": following},
            "previous": {**url, "description": preceding},
            "results": {**schema, "description": "The rows of this page."},
        }
        return {
            "description": "A page of a list.",
            "type": "object",
            "properties": properties,
            "required": list(properties),
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return []  # `ListQuery` declares them

    def _page_url(self, direction: str, index: int) -> str | None:
        if not self.page:
            return None
        row_id = getattr(self.page[index], self.field)
        url = self.request.build_absolute_uri()
        return replace_query_param(url, "cursor", f"{direction}-{row_id}")
