"""A product in a temporary folder, and other helpers of the tools in this folder."""

import argparse
import http.client
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
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
    return _post(product, "runs/", "json", orjson.dumps(run), timeout_s)


def upload_lines(
    product: Product, runs: Sequence[Mapping[str, Any]], *, timeout_s: float = 30
) -> int:
    """Upload runs in one request; return the status, or 0 if there is no response."""
    lines = b"\n".join(map(orjson.dumps, runs))
    return _post(product, "runs/bulk/", "x-ndjson", lines, timeout_s)


def _post(
    product: Product, path: str, media: str, body: bytes, timeout_s: float
) -> int:
    token = (product.var / "upload-token").read_text().strip()
    return send_request(
        product.port,
        f"/api/v1/{path}",
        method="POST",
        body=body,
        headers={
            "Authorization": f"Token {token}",
            "Content-Type": f"application/{media}",
        },
        timeout_s=timeout_s,
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
