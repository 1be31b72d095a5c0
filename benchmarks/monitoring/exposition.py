"""The text that Prometheus reads, and who may read it."""

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


def may_read(authorization: str) -> bool:
    """Return whether a request carries the token; nobody does where none is set."""
    token = settings.METRICS_TOKEN
    wanted = f"Bearer {token}".encode()
    return bool(token) and hmac.compare_digest(wanted, authorization.encode())


def text(*more: Collector) -> bytes:
    """Return the counters of all processes, and what is asked at the moment."""
    registry = CollectorRegistry()
    if counters.folder():
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        collectors: list[Collector] = [*more]
    else:
        collectors = [REGISTRY, *more]  # type: ignore[list-item]  # it has collect()
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry)


def serve(port: int) -> None:
    """Serve the counters of this process and its children over HTTP.

    For workers and sweepers in containers of their own.
    """
    server = make_server("", port, _answer, handler_class=_Silent)
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()


def _answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    if not may_read(environ.get("HTTP_AUTHORIZATION", "")):
        start("404 Not Found", [("Content-Type", "text/plain")])
        return [b""]
    start("200 OK", [("Content-Type", CONTENT_TYPE)])
    return [text()]


class _Silent(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Write no line a scrape."""
