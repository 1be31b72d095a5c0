"""Prometheus metrics over HTTP, for clients with the metrics token."""

import hmac
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.conf import settings
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from benchmarks.monitoring import counters

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4


def is_authorized(authorization: str) -> bool:
    """Return whether an Authorization header has the metrics token, if one is
    configured."""
    token = settings.METRICS_TOKEN
    expected = f"Bearer {token}".encode()
    return bool(token) and hmac.compare_digest(expected, authorization.encode())


def render_metrics(*extra_collectors: Collector) -> bytes:
    registry = CollectorRegistry()
    if counters.counter_folder():
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        collectors: list[Collector] = [*extra_collectors]
    else:
        collectors = [REGISTRY, *extra_collectors]  # type: ignore[list-item]  # it has collect()
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry)


def serve(port: int) -> None:
    """Serve the counters of this process and its children in a thread.

    For containers that do not run the web server.
    """
    server = make_server("", port, _answer, handler_class=_Silent)
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()


def _answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    if not is_authorized(environ.get("HTTP_AUTHORIZATION", "")):
        start("404 Not Found", [("Content-Type", "text/plain")])
        return [b""]
    start("200 OK", [("Content-Type", CONTENT_TYPE)])
    return [render_metrics()]


class _Silent(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Log no requests."""
