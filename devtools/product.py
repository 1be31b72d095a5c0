"""Starting a product in a temporary folder, sending requests and load, exit codes.

`make chaos`, `fuzz`, `overload`, `soak`, `leaks`, `drill` and `bench` each start their
own product, print their figures and leave nothing behind.
"""

import argparse
import http.client
import math
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import psutil
import psycopg

from benchmarks.reference.documents import reference_studies
from running import product
from running.embedded import Services
from running.folders import VarFolder
from running.load_reference import declare
from running.processes import ROOT
from running.product import Product, wait_until_processed

ANSWERED_S = 30.0
OTHER_LAB = "other-lab"


@dataclass(frozen=True)
class Answer:
    """A status (0 where no answer came), headers by lower-case name, and the body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def ask(
    port: int,
    path: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = ANSWERED_S,
) -> Answer:
    """Send a request of its own connection, and wait for its answer."""
    try:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
        try:
            line.request(method, path, body, dict(headers or {}))
            with line.getresponse() as answer:
                found = {name.lower(): value for name, value in answer.getheaders()}
                return Answer(answer.status, found, answer.read())
        finally:
            line.close()
    except (OSError, http.client.HTTPException):
        return Answer(0)


@contextmanager
def own_folder(name: str) -> Iterator[Path]:
    """Make a temporary folder that PostgreSQL's own account may enter."""
    folder = Path(tempfile.mkdtemp(prefix=f"virtlab-{name}-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_product(var: Path, **environment: Any) -> Iterator[Product]:
    """Run a product without the published studies."""
    running = product.start(var, **{"REFERENCE": "off", **environment})
    try:
        running.wait_until_ready()
        yield running
    finally:
        running.stop()


@contextmanager
def database(var: Path) -> Iterator["psycopg.Connection[Any]"]:
    """Connect to a running product's database as the superuser."""
    with Services(VarFolder(var)).postgres.connect(
        user="postgres", database="virtlab"
    ) as connection:
        yield connection


def upload(running: Product, run: Mapping[str, Any], *, timeout_s: float = 30) -> int:
    """Upload one run; return the status, 0 without an answer."""
    token = (running.var / "upload-token").read_text().strip()
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    sent: dict[str, Any] = {"method": "POST", "headers": headers}
    path, body = "/api/v1/runs/", orjson.dumps(run)
    return ask(running.port, path, body=body, timeout_s=timeout_s, **sent).status


def command(var: Path, *words: str) -> str:
    """Run a command on the servers of a folder; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "running.command", *words],
        cwd=ROOT,
        env={**product.environment(), "VAR": str(var)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words[:2])}: {done.stderr[-2000:]}")
    return done.stdout


def wait_until(is_done: Callable[[], object], timeout_s: float) -> bool:
    end = time.monotonic() + timeout_s
    while not is_done():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def upload_reference(running: Product, most: int) -> str:
    """Upload ``most`` runs of the first published study; return its slug."""
    study, client = next(iter(reference_studies())), running.client()
    declare(client, study)
    for _ in client.upload(list(islice(study.runs, most))):
        pass
    wait_until_processed(client)
    return str(study.document["slug"])


def document(study: str, host: str, value: float, **changes: Any) -> dict[str, Any]:
    """Return an upload of one native sample, changed by what is given."""
    return {
        "key": str(uuid.uuid4()),
        "study": study,
        "tool": "iometer",
        "system": {
            "host": host,
            "hypervisor": "native",
            "guest_os": "Debian 12",
            "guest_bits": 64,
            **changes.pop("system", {}),
        },
        "samples": [
            {
                "metric": "network throughput",
                "parameters": {"operation": "write"},
                "value": value,
                "unit": "MB/s",
            }
        ],
        **changes,
    }


def percentile(values: list[float], share: float) -> float:
    """Return the smallest value that so large a share of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def arguments(text: str | None, control: str, **defaults: float) -> argparse.Namespace:
    """Parse ``--control`` and an option for each default."""
    parser = argparse.ArgumentParser(description=text)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--control", action="store_true", help=control)
    return parser.parse_args()


def verdict(*, is_good: bool, control: bool, is_found: bool) -> int:
    """Return the exit code; print whether a control, which must be found, was found."""
    if not control:
        return 0 if is_good else 1
    print("the control was found" if is_found else "THE CONTROL WAS NOT FOUND")
    return 0 if is_found else 1


@dataclass(frozen=True)
class Load:
    """The result of a load: answers a second, and the 99th percentile in ms."""

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
    """The CPU time of processes from now on, in seconds by part of the product."""

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
    words = " ".join(process.cmdline())
    if "postgres" in words:
        return "postgres"
    if "gunicorn" in words:
        return "web"
    if "celery" in words:
        return "worker"
    return "sweeper" if " sweep" in words else "other"
