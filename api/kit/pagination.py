"""Lists come in pages, cut by id: stable while rows are added, and never slower."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from api.kit.queries import PAGE_SIZE, Cursor


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
