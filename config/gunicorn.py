"""How the web server runs, under `make run` and in the image alike."""

import gc
from typing import Any

from django.urls import get_resolver

# Slow clients keep no thread.
worker_class = "config.buffering.BufferingWorker"
workers = 2
threads = 4

# Loaded once, then forked: a killed web process is back within milliseconds.
preload_app = True

timeout = 60
graceful_timeout = 8
keepalive = 5
control_socket_disable = True

logger_class = "config.buffering.WebLog"
# The combined form, then how long it took in seconds, and the request's id.
access_log_format = (
    '%(h)s - - %(t)s "%(r)s" %(s)s %(b)s "%(f)s" "%(a)s" %(L)s %({x-request-id}o)s'
)


def on_starting(server: Any) -> None:
    """Load every view before the fork, and exempt it from garbage collection."""
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
