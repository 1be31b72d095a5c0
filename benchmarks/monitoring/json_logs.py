"""Log records as lines of JSON."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from benchmarks.monitoring.request_ids import NO_ID

# Other attributes were passed as `extra=`.
_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {
    *("message", "asctime", "taskName", "request_id"),
    # Set by Django, cannot be shown as text.
    *("request", "status_code", "server_time"),
}


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
