"""How our kernels are run: what they are told of the machine and of the time server."""

from typing import List
from urllib.parse import urlsplit

from agents.detection.cpus import memory_fields
from agents.files import text_of
from agents.kernels.building import program_of
from agents.timing.protocol import PORT

# What is left to the system, so that nothing is swapped.
_SHARE_OF_FREE_MEMORY = 0.8


def linpack_argv(
    sizes: str, budget_s: int, bits: int = 0, time_server: str = ""
) -> List[str]:
    """Return LINPACK's words; compiles it if need be."""
    argv = [program_of("linpack", bits), "--budget-s", str(budget_s)]
    if sizes:
        argv += ["--sizes", sizes]
    return argv + _common(time_server)


def memory_argv(seconds: float, bits: int = 0, time_server: str = "") -> List[str]:
    """Return the memory benchmark's words; each of its rows takes so many seconds."""
    argv = [program_of("memory", bits), "--seconds", "%g" % seconds]
    return argv + _common(time_server)


def studies_address(time_server: str) -> str:
    """Return HOST:PORT where the studies' protocol is spoken; nothing for HTTP, UDP."""
    told = time_server if "://" in time_server else "tcp://" + time_server
    parts = urlsplit(told)
    if parts.scheme != "tcp" or not parts.hostname:
        return ""
    host = "[%s]" % parts.hostname if ":" in parts.hostname else parts.hostname
    return "%s:%d" % (host, parts.port or PORT)


def free_bytes() -> int:
    """Return how much memory a kernel may take; 0 if the system does not tell."""
    known = memory_fields(text_of("/proc/meminfo") or "")
    free = known.get("MemAvailable") or known.get("MemFree") or 0
    return int(free * _SHARE_OF_FREE_MEMORY)


def _common(time_server: str) -> List[str]:
    words = []
    if free_bytes():
        words += ["--most-bytes", str(free_bytes())]
    if time_server and studies_address(time_server):
        words += ["--time-server", studies_address(time_server)]
    return words
