"""Request ids in log records: the id of the HTTP request, task or sweeper cycle.

A job stores the id of the upload's request, which connects the request with log records
of the worker.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

import orjson

REQUEST_ID_HEADER: Final = "X-Request-ID"
MAX_ID_LENGTH: Final = 64
ID_PATTERN = re.compile(rf"[A-Za-z0-9._-]{{8,{MAX_ID_LENGTH}}}")
NO_ID: Final = "-"
_current: ContextVar[str] = ContextVar("request_id", default=NO_ID)
# Other attributes were passed as `extra=`.
_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {
    *("message", "asctime", "taskName", "request_id"),
    # Set by Django, cannot be shown as text.
    *("request", "status_code", "server_time"),
}


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


class JsonFormatter(logging.Formatter):
    ACCESS: Final = {
        **{"h": "address", "m": "method", "U": "path", "q": "query", "s": "status"},
        **{"B": "bytes", "L": "seconds", "a": "agent", "f": "referer"},
    }

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "request": getattr(record, "request_id", NO_ID),
            "process": record.process,
            "message": record.getMessage(),
        }
        line |= {k: v for k, v in vars(record).items() if k not in _ORDINARY}
        if record.name.endswith(".access") and isinstance(record.args, Mapping):
            atoms = dict(record.args)
            line |= {name: atoms.get(key) for key, name in self.ACCESS.items()}
            line["request"] = atoms.get("{x-request-id}o", NO_ID)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
