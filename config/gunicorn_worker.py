"""A gunicorn worker in which threads get only complete requests, and its logs.

gunicorn's own threads read from connections, so a few slow clients block them all. Here
waitress reads and writes all connections in one loop.
"""

import os
import re
import resource
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Final

from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker
from waitress import wasyncore
from waitress.server import TcpWSGIServer

from benchmarks.memory_trimming import MemoryTrimmer
from benchmarks.monitoring.json_logs import JsonFormatter
from benchmarks.monitoring.request_ids import RequestIdFilter
from config import env
from config.http_server import BoundedServer

Environ = dict[str, Any]
StartResponse = Callable[..., Any]

IDLE_TIMEOUT_S = 60
POLL_S = 1.0
MEMORY_CHECK_S = 5.0
# URLs of feeds contain a secret.
FEED_SECRET: Final = re.compile(r"\bvf_[\w-]+")


class BufferingWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    def run(self) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        [listener] = self.sockets
        server = BoundedServer(
            self.log_request,
            listener.sock,
            threads=self.cfg.threads,
            channel_timeout=IDLE_TIMEOUT_S,
            max_request_header_size=64 * 1024,
            # Detects clients that disconnect while a thread works for them.
            channel_request_lookahead=1,
            asyncore_use_poll=True,
            backlog=self.cfg.backlog,
            # Django decides which headers to trust.
            clear_untrusted_proxy_headers=False,
            ident=None,
        )
        memory, trimmed_at = MemoryTrimmer(), time.monotonic()
        while self.alive and self.ppid == os.getppid():
            self.notify()
            self._poll(server)
            is_due = time.monotonic() > trimmed_at + MEMORY_CHECK_S
            if is_due and not _is_busy(server):
                memory.trim()
                trimmed_at = time.monotonic()
            if memory.has_grown_too_much and not server.active_channels:
                # gunicorn forks a new process at once.
                self.log.info("Stopping: a new process will need less memory")
                break
        self._finish(server)

    def _poll(self, server: TcpWSGIServer, wait_s: float = POLL_S) -> None:
        wasyncore.loop(timeout=wait_s, use_poll=True, map=server._map, count=1)

    def _finish(self, server: TcpWSGIServer) -> None:
        server.accepting = False
        end = time.monotonic() + self.cfg.graceful_timeout
        while time.monotonic() < end and _is_busy(server):
            self.notify()
            self._poll(server, wait_s=0.05)
        server.task_dispatcher.shutdown(cancel_pending=True, timeout=1)

    def log_request(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        started = time.monotonic()
        # gunicorn's logger reads the following.
        environ["RAW_URI"] = environ["REQUEST_URI"]
        response = SimpleNamespace(status="", headers=[], sent=None)

        def start(
            status: str, headers: list[tuple[str, str]], *more: Any
        ) -> Callable[[bytes], None]:
            response.status, response.headers = status, headers
            length = dict(headers).get("Content-Length")
            response.sent = int(length) if length else None
            write: Callable[[bytes], None] = start_response(status, headers, *more)
            return write

        try:
            body: Iterable[bytes] = self.wsgi(environ, start)
            return body
        finally:
            duration = timedelta(seconds=time.monotonic() - started)
            self.log.access(response, SimpleNamespace(headers=[]), environ, duration)


def _is_busy(server: TcpWSGIServer) -> bool:
    channels = server.active_channels.values()
    return any(channel.requests or channel.total_outbufs_len for channel in channels)


class AccessLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's two logs in the format of the other logs."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        if env.log_format() != "json":
            return
        for log in (self.error_log, self.access_log):
            for handler in log.handlers:
                handler.addFilter(RequestIdFilter())
                handler.setFormatter(JsonFormatter())

    def atoms(self, *args: Any) -> Any:
        """Return the parts of a log line, without the secrets of feed URLs."""
        atoms = super().atoms(*args)
        for name in ("r", "q", "f"):
            atoms[name] = FEED_SECRET.sub("vf_...", str(atoms.get(name, "")))
        return atoms
