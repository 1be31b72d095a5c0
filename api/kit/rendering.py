"""Answers are JSON written by orjson: floats in full, and never a NaN."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


class ORJSONRenderer(BaseRenderer):
    """Write an answer as UTF-8 JSON.

    orjson prints the shortest text that reads back as the same float, and has no way
    to print NaN or Infinity, so what we send is always JSON.
    """

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else orjson.dumps(data, default=_plain)


def _plain(value: Any) -> Any:
    """What REST framework hands over besides JSON's own types."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
