"""How every process writes its log: for people, or LOG_FORMAT=json for machines."""

from typing import Any, Final

from benchmarks.monitoring.tracing import JsonLines, Traced
from config import env

FORMATS: Final = ("line", "json")
# The id in whose name it was written stands before the message.
LINE: Final = "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"


def chosen_format() -> str:
    """Return LOG_FORMAT; refuse what it cannot be."""
    return env.one_of("LOG_FORMAT", FORMATS)


def configuration() -> dict[str, Any]:
    """Return what Django's LOGGING is."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"traced": {"()": Traced}},
        "formatters": {"line": {"format": LINE}, "json": {"()": JsonLines}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": chosen_format(),
                "filters": ["traced"],
            }
        },
        "root": {"handlers": ["stderr"], "level": "INFO"},
        # It says of every second request that it waited for a moment.
        "loggers": {"waitress.queue": {"level": "ERROR"}},
    }
