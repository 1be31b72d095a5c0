import gc
import os
from typing import Any

import django
from django.urls import get_resolver

# With this class, slow clients do not occupy a thread.
worker_class = "config.gunicorn_worker.BufferingWorker"
workers = 2
threads = 4

# So that a killed process restarts in milliseconds.
preload_app = True

timeout = 60
graceful_timeout = 8
keepalive = 5
control_socket_disable = True

logger_class = "config.gunicorn_worker.AccessLog"
# The combined log format, plus duration in seconds and request ID.
access_log_format = (
    '%(h)s - - %(t)s "%(r)s" %(s)s %(b)s "%(f)s" "%(a)s" %(L)s %({x-request-id}o)s'
)


def _wait_for_database(descriptor: str) -> None:
    """Import all views, then wait until the supervisor has prepared the database."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    _ = get_resolver().url_patterns
    with open(int(descriptor), "rb") as pipe:
        pipe.read()


if "WAIT_FOR_FD" in os.environ:
    _wait_for_database(os.environ.pop("WAIT_FOR_FD"))


def on_starting(server: Any) -> None:
    """Load all views before the fork; exclude their objects from garbage collection.

    Garbage collection would copy the memory that processes share.
    """
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
