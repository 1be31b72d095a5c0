"""`make bench`: how fast the product is here, beside what the machine allows.

Starts a product of its own in a temporary folder, so that nothing is measured on data
somebody needs. Every speed stands beside a limit measured in the same run; a ratio can
be compared between machines, a speed cannot.
"""

import argparse
import statistics
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from bench import judging
from bench.across import bench_across
from bench.agents import bench_agents
from bench.fluency import bench_fluency
from bench.ingest import __main__ as ingest
from bench.judging import bench_judging
from bench.pages import EMPTY_PAGE, bench_pages
from bench.parsers import bench_parsers
from running import embedded
from running.postgres import OWNER
from running.product import Product, start, wait_until_processed

ROW_BYTES = 700  # about what one upload of a few samples weighs
BULK_RUNS = 2000
SINGLE_RUNS = 300
PAGE_VIEWS = 40
AGENTS_REST_S = 30.0
STUDY = "lmu-2010-xen"
ROWS = f"/api/v1/comparisons/?study={STUDY}"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--passes", type=int, default=3)
    options.add_argument("--json", type=Path, help="every pass of every figure")
    asked = options.parse_args()
    table = Table("what", "speed", "limit", "ratio", title="Virtlab on this machine")
    with tempfile.TemporaryDirectory(prefix="virtlab-bench-") as name:
        folder, seconds = Path(name), []
        var = folder / "starts"
        for _ in range(2):
            begun = time.perf_counter()
            with _running(var):
                seconds.append(time.perf_counter() - begun)
        first_s, second_s = seconds[0], seconds[1]
        table.add_row("first start, with all studies", f"{first_s:.1f} s", "", "")
        table.add_row("second start", f"{second_s:.1f} s", "5 s", f"{second_s / 5:.2f}")
        with _running(var) as product:
            # Its pages before anything else is uploaded.
            for rows in (bench_pages(product), _api(product), bench_fluency(product)):
                for row in rows:
                    table.add_row(*row)
            for row in _uploads(product, folder / "limit"):
                table.add_row(*row)
            for row in bench_across(product):
                table.add_row(*row)
            judging.upload(product.client())
            took_ms = judging.service_ms(var)
            what = "judging 20,000 cells, with the database"
            share = f"{took_ms / 100:.2f}"
            table.add_row(what, f"{took_ms:.1f} ms", "100 ms", share)
    # Without a product beside them: they measure this process and the agent.
    for row in [*bench_judging(), *bench_parsers(), *bench_agents(AGENTS_REST_S)]:
        table.add_row(*row)
    Console(width=120).print(table)
    # Uploads, beside a bare Django on the same PostgreSQL: a table of their own.
    ingest.measure(asked.passes, path=asked.json)


@contextmanager
def _running(var: Path) -> Iterator[Product]:
    product = start(var)
    try:
        product.wait_until_ready()
        yield product
    finally:
        product.stop()


def _api(product: Product) -> Iterator[tuple[str, ...]]:
    limit_ms, p50_ms = _p50_ms(product.url + EMPTY_PAGE), _p50_ms(product.url + ROWS)
    ratio = f"{p50_ms / limit_ms:.1f} x"
    what = "comparisons API, 100 rows, p50"
    yield what, f"{p50_ms:.1f} ms", f"empty page {limit_ms:.1f} ms", ratio


def _p50_ms(url: str) -> float:
    times = []
    for _ in range(PAGE_VIEWS):
        begun = time.perf_counter()
        with urllib.request.urlopen(url) as answer:
            answer.read()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


def _uploads(product: Product, folder: Path) -> Iterator[tuple[str, ...]]:
    """Limits come from a PostgreSQL of the same build, idle beside the product."""
    client = product.client()
    client.create_study({"slug": "bench", "title": "Bench"})
    client.register_host({"slug": "bench-host"})
    with embedded.services(folder) as services:
        url = services.postgres.url(OWNER)
        commits, rows = commits_per_s(url), copied_rows_per_s(url)
    runs = [_run(number) for number in range(BULK_RUNS)]
    begun = time.perf_counter()
    for _ in client.upload(runs):
        pass
    accepted_s = time.perf_counter() - begun
    wait_until_processed(client)
    accepted = BULK_RUNS / accepted_s
    finished = BULK_RUNS / (time.perf_counter() - begun)
    yield _speed("bulk upload, runs accepted", accepted, rows, "COPY")
    yield _speed("processing, runs finished", finished, rows, "COPY")
    runs = [_run(number) for number in range(SINGLE_RUNS)]
    begun = time.perf_counter()
    for run in runs:
        client.request("POST", "runs/", run)
    singly = SINGLE_RUNS / (time.perf_counter() - begun)
    yield _speed("one run a request, one client", singly, commits, "commits")


def commits_per_s(url: str, count: int = 300) -> float:
    """Return how many single-row transactions PostgreSQL makes durable in a second."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS bench_limit")
        connection.execute("CREATE TABLE bench_limit (body text)")
        begun = time.perf_counter()
        for _ in range(count):
            connection.execute("INSERT INTO bench_limit VALUES (%s)", ["x" * ROW_BYTES])
        elapsed_s = time.perf_counter() - begun
        connection.execute("DROP TABLE bench_limit")
    return count / elapsed_s


def copied_rows_per_s(url: str, count: int = 20_000) -> float:
    """Return how many rows of one upload's size COPY stores in a second."""
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE bench_limit (body text)")
        begun = time.perf_counter()
        with connection.cursor().copy("COPY bench_limit FROM STDIN") as copy:
            for _ in range(count):
                copy.write_row(["x" * ROW_BYTES])
        connection.commit()
        elapsed_s = time.perf_counter() - begun
        connection.execute("DROP TABLE bench_limit")
        connection.commit()
    return count / elapsed_s


def _speed(what: str, speed: float, limit: float, of: str) -> tuple[str, ...]:
    return what, f"{speed:,.0f} /s", f"{of} {limit:,.0f} /s", f"{speed / limit:.4f}"


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
