"""gunicorn's worker, which reads whole requests before a thread starts, and its logs.

gunicorn's own threads read from connections themselves, so a few slow clients block all
of them. Here waitress reads and writes all connections in one loop and hands complete
requests to threads; gunicorn still preloads, forks and restarts.
"""

import os
import re
import resource
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Final

from django.conf import settings
from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker
from waitress import wasyncore
from waitress.server import TcpWSGIServer, create_server

from benchmarks.memory import Memory
from benchmarks.monitoring.tracing import JsonLines, Traced
from config import env

Environ = dict[str, Any]
StartResponse = Callable[..., Any]

# A connection takes a descriptor and, while it is slow, what has come of its request.
CONNECTIONS = 4000
# Without a byte for so long a connection is closed.
SILENT_S = 60
LOOK_S = 1.0
TIDY_S = 5.0
# The API answers what is too large with a sentence; what is larger still is not read.
LARGEST_UPLOADS = 4
# The secret of a feed stands in its address: feed readers sign in nowhere.
SECRET: Final = re.compile(r"\bvf_[\w-]+")


class BufferingWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """One process: a loop that reads and writes, and threads that answer."""

    def run(self) -> None:
        """Serve until gunicorn stops us or ends; then finish open requests."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        server = create_server(
            self.logged,
            sockets=[listener.sock for listener in self.sockets],
            threads=self.cfg.threads,
            connection_limit=CONNECTIONS,
            channel_timeout=SILENT_S,
            max_request_body_size=LARGEST_UPLOADS * settings.UPLOAD_LIMIT_BYTES,
            max_request_header_size=64 * 1024,
            # It also notices who hangs up while a thread works for them.
            channel_request_lookahead=1,
            asyncore_use_poll=True,
            backlog=self.cfg.backlog,
            # Which of them count is Django's to say (HTTPS in config/settings.py).
            clear_untrusted_proxy_headers=False,
            ident=None,
        )
        memory, tidied = Memory(), time.monotonic()
        while self.alive and self.ppid == os.getppid():
            self.notify()
            self._look(server)
            if time.monotonic() > tidied + TIDY_S and not _is_busy(server):
                memory.give_back()
                tidied = time.monotonic()
            if memory.is_outgrown and not server.active_channels:
                # gunicorn forks another at once, of what it loaded before.
                self.log.info("Ends: a new process holds less memory")
                break
        self._finish(server)

    def _look(self, server: TcpWSGIServer, wait_s: float = LOOK_S) -> None:
        wasyncore.loop(timeout=wait_s, use_poll=True, map=server._map, count=1)

    def _finish(self, server: TcpWSGIServer) -> None:
        """Take no more connections, and answer the requests that are in hand."""
        server.accepting = False
        end = time.monotonic() + self.cfg.graceful_timeout
        while time.monotonic() < end and _is_busy(server):
            self.notify()
            self._look(server, wait_s=0.05)
        server.task_dispatcher.shutdown(cancel_pending=True, timeout=1)

    def logged(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer a request and write its line in the access log."""
        begun = time.monotonic()
        # What gunicorn's log asks an environment, a request and a response for.
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
            took = timedelta(seconds=time.monotonic() - begun)
            self.log.access(response, SimpleNamespace(headers=[]), environ, took)


def _is_busy(server: TcpWSGIServer) -> bool:
    """Whether a request or the sending of an answer is in progress."""
    channels = server.active_channels.values()
    return any(channel.requests or channel.total_outbufs_len for channel in channels)


class WebLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's two logs, in the same form as the others."""

    def setup(self, cfg: Any) -> None:
        """Set up its own, then give what it set up our form."""
        super().setup(cfg)
        if env.log_format() != "json":
            return
        for log in (self.error_log, self.access_log):
            for handler in log.handlers:
                handler.addFilter(Traced())
                handler.setFormatter(JsonLines())

    def atoms(self, *args: Any) -> Any:
        """Return what a line of the access log is made of, without secrets."""
        atoms = super().atoms(*args)
        for name in ("r", "q", "f"):
            atoms[name] = SECRET.sub("vf_...", str(atoms.get(name, "")))
        return atoms
