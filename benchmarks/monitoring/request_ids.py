"""Request ids in log records: the id of the HTTP request, task or sweeper cycle.

A job stores the id of the upload's request, which connects the request with log records
of the worker.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final
from uuid import uuid4

REQUEST_ID_HEADER: Final = "X-Request-ID"
MAX_ID_LENGTH: Final = 64
ID_PATTERN = re.compile(rf"[A-Za-z0-9._-]{{8,{MAX_ID_LENGTH}}}")
NO_ID: Final = "-"
_current: ContextVar[str] = ContextVar("request_id", default=NO_ID)


def new_id(prefix: str = "") -> str:
    return f"{prefix}{uuid4().hex}"


def accept_id(text: str) -> str:
    return text if ID_PATTERN.fullmatch(text) else new_id()


def current_id() -> str:
    return _current.get()


@contextmanager
def use_request_id(request_id: str) -> Iterator[str]:
    before = _current.set(request_id)
    try:
        yield request_id
    finally:
        _current.reset(before)


class RequestIdFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        # Django logs error responses after the middleware.
        request = getattr(record, "request", None)
        record.request_id = getattr(request, "request_id", None) or current_id()
        return True
