"""In whose name a process works: the id of a request, of a task, of a sweeper's look.

Every line of every log carries it. An upload keeps that of its request, so that what a
worker says of its run leads back to whoever sent it.
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

HEADER: Final = "X-Request-ID"
LONGEST: Final = 64
TRUSTED = re.compile(rf"[A-Za-z0-9._-]{{8,{LONGEST}}}")
NOBODY: Final = "-"
_current: ContextVar[str] = ContextVar("request_id", default=NOBODY)
# What every record of the standard library has; the rest was given by `extra=`.
_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {
    *("message", "asctime", "taskName", "request_id"),
    # Django's own, which no line of text could show.
    *("request", "status_code", "server_time"),
}


def new_id(prefix: str = "") -> str:
    return f"{prefix}{uuid4().hex}"


def given_id(text: str) -> str:
    """Return an id that somebody sent, or a new one where it is none."""
    return text if TRUSTED.fullmatch(text) else new_id()


def current_id() -> str:
    """Return in whose name we work; "-" where in nobody's."""
    return _current.get()


@contextmanager
def traced(request_id: str) -> Iterator[str]:
    """Work in somebody's name until the block ends."""
    before = _current.set(request_id)
    try:
        yield request_id
    finally:
        _current.reset(before)


class Traced(logging.Filter):
    """Gives every record the id in whose name it was written."""

    def filter(self, record: logging.LogRecord) -> bool:
        # Django says what a request was answered with after its middleware has ended.
        request = getattr(record, "request", None)
        record.request_id = getattr(request, "request_id", None) or current_id()
        return True


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, request, message, and `extra`."""

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
            "request": getattr(record, "request_id", NOBODY),
            "process": record.process,
            "message": record.getMessage(),
        }
        line |= {k: v for k, v in vars(record).items() if k not in _ORDINARY}
        if record.name.endswith(".access") and isinstance(record.args, Mapping):
            atoms = dict(record.args)
            line |= {name: atoms.get(key) for key, name in self.ACCESS.items()}
            line["request"] = atoms.get("{x-request-id}o", NOBODY)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
