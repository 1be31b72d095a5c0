"""`make bench`: how fast the product is here, beside what the machine allows.

Starts a product of its own in a temporary folder, so that nothing is measured on data
somebody needs. Every speed stands beside a limit measured in the same run; a ratio can
be compared between machines, a speed cannot.
"""

import statistics
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agents.client import Client
from bench import limits, verdicts
from bench.agents import bench_agents
from bench.fluency import bench_fluency
from bench.judging import bench_judging
from bench.pages import bench_pages
from bench.parsers import bench_parsers
from running import embedded
from running.product import Product, start

BULK_RUNS = 2000
SINGLE_RUNS = 300
PAGE_VIEWS = 40
AGENTS_REST_S = 30.0
STUDY = "lmu-2010-xen"
ROWS = f"/api/v1/comparisons/?study={STUDY}"
EMPTY_PAGE = "/login/"  # the same web server and templates, no data


def main() -> None:
    table = Table("what", "speed", "limit", "ratio", title="Virtlab on this machine")
    with tempfile.TemporaryDirectory(prefix="virtlab-bench-") as folder:
        var = Path(folder) / "starts"
        seconds = []
        for _ in range(2):
            begun = time.perf_counter()
            with _running(var):
                seconds.append(time.perf_counter() - begun)
        first_s, second_s = seconds[0], seconds[1]
        table.add_row("first start, with all studies", f"{first_s:.1f} s", "", "")
        table.add_row("second start", f"{second_s:.1f} s", "5 s", f"{second_s / 5:.2f}")
        with _running(Path(folder) / "starts") as product:
            for row in _rows(product, Path(folder)):
                table.add_row(*row)
    for row in [*bench_judging(), *bench_parsers(), *bench_agents(AGENTS_REST_S)]:
        table.add_row(*row)
    Console(width=120).print(table)


def _rows(product: Product, folder: Path) -> Iterator[tuple[str, ...]]:
    """Measure a running product: its pages before anything else is uploaded."""
    yield from bench_pages(product)
    yield _api(product)
    yield from bench_fluency(product)
    yield from _uploads(product, folder / "limit")
    yield _verdicts(product, folder / "starts")


@contextmanager
def _running(var: Path) -> Iterator[Product]:
    product = start(var)
    try:
        product.wait_until_ready()
        yield product
    finally:
        product.stop()


def _api(product: Product) -> tuple[str, ...]:
    limit_ms, p50_ms = _p50_ms(product.url + EMPTY_PAGE), _p50_ms(product.url + ROWS)
    ratio = f"{p50_ms / limit_ms:.1f} x"
    what = "comparisons API, 100 rows, p50"
    return what, f"{p50_ms:.1f} ms", f"empty page {limit_ms:.1f} ms", ratio


def _p50_ms(url: str) -> float:
    return statistics.median(_read_ms(url) for _ in range(PAGE_VIEWS))


def _read_ms(url: str) -> float:
    begun = time.perf_counter()
    with urllib.request.urlopen(url) as answer:
        answer.read()
    return (time.perf_counter() - begun) * 1000


def _verdicts(product: Product, var: Path) -> tuple[str, ...]:
    verdicts.upload(product.client())
    took_ms = verdicts.service_ms(var)
    what = "judging 20,000 cells, with the database"
    return what, f"{took_ms:.1f} ms", "100 ms", f"{took_ms / 100:.2f}"


def _uploads(product: Product, folder: Path) -> Iterator[tuple[str, ...]]:
    """Limits come from a PostgreSQL of the same build, idle beside the product."""
    client = product.client()
    client.create_study({"slug": "bench", "title": "Bench"})
    client.register_host({"slug": "bench-host"})
    with embedded.services(folder) as services:
        url = services.environment()["DATABASE_URL"]
        commits, rows = limits.commits_per_s(url), limits.copied_rows_per_s(url)
    runs = [_run(number) for number in range(BULK_RUNS)]
    begun = time.perf_counter()
    for _ in client.upload(runs):
        pass
    accepted_s = time.perf_counter() - begun
    while client.get("health/")["outbox"]["waiting"]:
        time.sleep(0.05)
    accepted, finished = (
        BULK_RUNS / accepted_s,
        BULK_RUNS / (time.perf_counter() - begun),
    )
    yield _speed("bulk upload, runs accepted", accepted, rows, "COPY")
    yield _speed("processing, runs finished", finished, rows, "COPY")
    singly = _singly(client)
    yield _speed("one run a request, one client", singly, commits, "commits")


def _speed(what: str, speed: float, limit: float, of: str) -> tuple[str, ...]:
    return what, f"{speed:,.0f} /s", f"{of} {limit:,.0f} /s", f"{speed / limit:.4f}"


def _singly(client: Client) -> float:
    runs = [_run(number) for number in range(SINGLE_RUNS)]
    begun = time.perf_counter()
    for run in runs:
        client.request("POST", "runs/", run)
    return SINGLE_RUNS / (time.perf_counter() - begun)


def _run(number: int) -> dict[str, Any]:
    """Return a run like those of an agent: four samples on one of 20 systems."""
    return {
        "key": str(uuid.uuid4()),
        "study": "bench",
        "system": {
            "host": "bench-host",
            "hypervisor": "KVM" if number % 2 else "native",
            "guest_os": "Debian 12",
            "guest_bits": 64,
            "options": {"variant": str(number % 20 // 2)} if number % 2 else {},
        },
        "tool": "ramspeed",
        "samples": [
            {
                "metric": "bandwidth",
                "parameters": {"operation": operation, "level": level},
                "value": 1000.0 + number,
                "unit": "MB/s",
            }
            for operation in ("read", "write")
            for level in ("L1", "RAM")
        ],
    }


if __name__ == "__main__":
    main()
