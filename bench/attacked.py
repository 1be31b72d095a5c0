"""What the attacks share: a product of one's own, two labs in it, requests, a verdict.

`make chaos`, `make fuzz`, `make overload`, `make leaks` and `make drill` each start a
product of their own, print one line of figures and leave nothing behind.
"""

import http.client
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.reference.documents import reference_studies
from running import product
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


def manage(running: Product, *words: str) -> str:
    """Run a management command of a product; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "running.command", "manage.py", *words],
        cwd=ROOT,
        env={**product.environment(), "VAR": str(running.var)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"manage.py {words[0]}: {done.stderr[-2000:]}")
    return done.stdout


def upload_reference(running: Product, most: int) -> str:
    """Upload the first published study, so many runs of it; return its slug."""
    study = next(iter(reference_studies()))
    client = running.client()
    client.create_study(study.document)
    for tool in study.own_tools:
        client.declare_tool(tool)
    for host in study.hosts:
        client.register_host(host)
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


def verdict(*, is_good: bool, control: bool, is_found: Callable[[], bool]) -> int:
    """Return the exit code; a control has to be found, and says whether it was."""
    if not control:
        return 0 if is_good else 1
    found = is_found()
    print("the control was found" if found else "THE CONTROL WAS NOT FOUND")
    return 0 if found else 1
