"""Helpers of the tools in this folder."""

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

from benchmarks.reference.study_documents import reference_studies
from running import product_launcher
from running.embedded_servers import EmbeddedServers
from running.load_reference import create_reference_study
from running.processes import ROOT
from running.product_launcher import Product, wait_until_processed
from running.var_folder import VarFolder

RESPONSE_TIMEOUT_S = 30.0
OTHER_LAB = "other-lab"


@dataclass(frozen=True)
class HttpResponse:
    """A response, or its absence (``status`` 0). Header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def send_request(
    port: int,
    path: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = RESPONSE_TIMEOUT_S,
) -> HttpResponse:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
        try:
            connection.request(method, path, body, dict(headers or {}))
            with connection.getresponse() as response:
                fields = {name.lower(): value for name, value in response.getheaders()}
                return HttpResponse(response.status, fields, response.read())
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return HttpResponse(0)


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """Yield a folder that is deleted afterwards; PostgreSQL's account may enter it."""
    folder = Path(tempfile.mkdtemp(prefix=f"virtlab-{name}-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_product(var: Path, **environment: Any) -> Iterator[Product]:
    product = product_launcher.launch_product(
        var, **{"LOAD_REFERENCE": "off", **environment}
    )
    try:
        product.wait_until_ready()
        yield product
    finally:
        product.stop()


@contextmanager
def database(var: Path) -> Iterator["psycopg.Connection[Any]"]:
    """Connect to the database of a running product as superuser."""
    with EmbeddedServers(VarFolder(var)).postgres.connect(
        user="postgres", database="virtlab"
    ) as connection:
        yield connection


def upload(product: Product, run: Mapping[str, Any], *, timeout_s: float = 30) -> int:
    """Upload a run; return the status of the response, or 0 if there is none."""
    token = (product.var / "upload-token").read_text().strip()
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    sent: dict[str, Any] = {"method": "POST", "headers": headers}
    path, body = "/api/v1/runs/", orjson.dumps(run)
    return send_request(
        product.port, path, body=body, timeout_s=timeout_s, **sent
    ).status


def command(var: Path, *words: str) -> str:
    """Run a command on a product's database; return its output, raise RuntimeError."""
    process = subprocess.run(
        [sys.executable, "-m", "running.management_command", *words],
        cwd=ROOT,
        env={**product_launcher.product_environment(), "VAR": str(var)},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(words[:2])}: {process.stderr[-2000:]}")
    return process.stdout


def wait_until(is_done: Callable[[], object], timeout_s: float) -> bool:
    end = time.monotonic() + timeout_s
    while not is_done():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def upload_reference(product: Product, most: int) -> str:
    """Upload up to ``most`` runs of the first published study; return its slug."""
    study, client = next(iter(reference_studies())), product.client()
    create_reference_study(client, study)
    for _ in client.upload(list(islice(study.runs, most))):
        pass
    wait_until_processed(client)
    return str(study.document["slug"])


def document(study: str, host: str, value: float, **changes: Any) -> dict[str, Any]:
    """Return an upload with one native sample; keyword arguments replace fields."""
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
    """Return the value below which this share of the values lies; 0 without values."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def arguments(text: str | None, control: str, **defaults: float) -> argparse.Namespace:
    """Parse ``--control`` (``control`` is its help) and an option for each default."""
    parser = argparse.ArgumentParser(description=text)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--control", action="store_true", help=control)
    return parser.parse_args()


def exit_code_for(*, is_good: bool, control: bool, is_found: bool) -> int:
    """Return the exit code; with ``control``, planted errors must have been found."""
    if not control:
        return 0 if is_good else 1
    print("the control was found" if is_found else "THE CONTROL WAS NOT FOUND")
    return 0 if is_found else 1


@dataclass(frozen=True)
class LoadResult:
    """Responses per second, and the 99th percentile of their times in ms."""

    per_s: float
    p99_ms: float
    elapsed_s: float


def send(url: str, token: str, bodies: Sequence[bytes], clients: int = 4) -> LoadResult:
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
