"""Uploads at full speed, and the CPU time of a product's processes."""

import http.client
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


@dataclass(frozen=True)
class LoadResult:
    per_s: float
    p99_ms: float
    elapsed_s: float


def post_all(
    url: str, token: str, bodies: Sequence[bytes], clients: int = 4
) -> LoadResult:
    """POST each body once, from parallel clients; raise RuntimeError on a refusal."""
    waiting, times = list(reversed(bodies)), []
    problems: list[str] = []
    parts = urlsplit(url)

    def work() -> None:
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        head = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        while True:
            try:
                body = waiting.pop()
            except IndexError:
                break
            started = time.perf_counter()
            connection.request("POST", parts.path, body, head)
            response = connection.getresponse()
            text = response.read()
            times.append(time.perf_counter() - started)
            if response.status not in (200, 202):
                problems.append(f"{response.status}: {text[:300]!r}")
                break
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed_s = time.perf_counter() - started
    if problems:
        raise RuntimeError(problems[0])
    slowest = sorted(times)[math.ceil(0.99 * len(times)) - 1]
    return LoadResult(len(bodies) / elapsed_s, slowest * 1000, elapsed_s)


class CpuTime:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.before = self._now()

    def used(self) -> dict[str, float]:
        """Return the CPU seconds of each process group."""
        now = self._now()
        parts: dict[str, float] = {}
        for key, (part, seconds) in now.items():
            new = seconds - self.before.get(key, (part, 0.0))[1]
            parts[part] = parts.get(part, 0.0) + new
        return parts

    def _now(self) -> dict[tuple[int, float], tuple[str, float]]:
        times = {}
        for process in psutil.Process(self.pid).children(recursive=True):
            try:
                cpu = process.cpu_times()
                key = process.pid, process.create_time()
                times[key] = process_group_of(process), cpu.user + cpu.system
            except psutil.NoSuchProcess:
                continue
        return times


def process_group_of(process: psutil.Process) -> str:
    words = " ".join(process.cmdline())
    if "postgres" in words:
        return "postgres"
    if "gunicorn" in words:
        return "web"
    if "celery" in words:
        return "worker"
    return "sweeper" if " sweep" in words else "other"
