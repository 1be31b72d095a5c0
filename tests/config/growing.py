"""A program for the web server that keeps what it is asked to, and says who it is."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from config import buffering

buffering.TIDY_S = 0.1
kept: list[bytes] = []


def application(
    environ: dict[str, Any], start_response: Callable[..., Any]
) -> Iterable[bytes]:
    """Keep as many MB as the address says; answer the process's id."""
    kept.append(b"x" * (int(environ["PATH_INFO"].strip("/")) * 1_000_000))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
