"""A few clients that send as fast as they are answered."""

import http.client
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil


@dataclass(frozen=True)
class Load:
    """What came of a load: answers a second, and the slowest of a hundred, in ms."""

    per_s: float
    p99_ms: float
    took_s: float


def send(url: str, token: str, bodies: Sequence[bytes], clients: int = 4) -> Load:
    """Send every body once, over as many connections; all must be taken."""
    waiting, times = list(reversed(bodies)), []
    problems: list[str] = []
    place = urlsplit(url)

    def work() -> None:
        connection = http.client.HTTPConnection(place.netloc, timeout=60)
        head = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        while True:
            try:
                body = waiting.pop()
            except IndexError:
                break
            begun = time.perf_counter()
            connection.request("POST", place.path, body, head)
            answer = connection.getresponse()
            text = answer.read()
            times.append(time.perf_counter() - begun)
            if answer.status not in (200, 202):
                problems.append(f"{answer.status}: {text[:300]!r}")
                break
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = time.perf_counter() - begun
    if problems:
        raise RuntimeError(problems[0])
    slowest = sorted(times)[math.ceil(0.99 * len(times)) - 1]
    return Load(len(bodies) / took_s, slowest * 1000, took_s)


class CpuTime:
    """What processes take of the processors from now on, in seconds by their part."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.before = self._now()

    def taken(self) -> dict[str, float]:
        now = self._now()
        parts: dict[str, float] = {}
        for key, (part, seconds) in now.items():
            used = seconds - self.before.get(key, (part, 0.0))[1]
            parts[part] = parts.get(part, 0.0) + used
        return parts

    def _now(self) -> dict[tuple[int, float], tuple[str, float]]:
        times = {}
        for process in psutil.Process(self.pid).children(recursive=True):
            try:
                used = process.cpu_times()
                key = process.pid, process.create_time()
                times[key] = part_of(process), used.user + used.system
            except psutil.NoSuchProcess:
                continue
        return times


def part_of(process: psutil.Process) -> str:
    """Return which part of the product a process is."""
    words = " ".join(process.cmdline())
    if "postgres" in words:
        return "postgres"
    if "gunicorn" in words:
        return "web"
    if "celery" in words:
        return "worker"
    return "sweeper" if " sweep" in words else "other"
