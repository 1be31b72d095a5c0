"""A WSGI application that keeps the requested memory, and returns its process id."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from config import gunicorn_worker

gunicorn_worker.MEMORY_CHECK_S = 0.1
blocks: list[bytes] = []


def application(
    environ: dict[str, Any], start_response: Callable[..., Any]
) -> Iterable[bytes]:
    """Allocate as many MB as the path says; return the process id."""
    blocks.append(b"x" * (int(environ["PATH_INFO"].strip("/")) * 1_000_000))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
