"""Measure the speed of uploads, relative to what is possible on the machine.

    python -m devtools.ingest_benchmark [--passes N] [--only PART ...] [--json FILE]

The limit ("bound") is a bare Django application (`devtools.minimal_upload_app`). See
`docs/performance.md`.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from devtools.load_generation import CpuTime, LoadResult, post_all
from running.embedded_servers import EmbeddedServers
from running.postgres import OWNER, SUPERUSER
from running.processes import ROOT
from running.product_launcher import Product, free_port, launch_product
from running.var_folder import VarFolder

# Enough single uploads that the worker's wait of half a second does not matter.
CASES = 50
SINGLES = 2000
BULK_RUNS = 200
WARM_UP = 40
STUDIES = 4
WIDE_STUDY_CELLS, WIDE_SAMPLES = 20_000, 100_000
DATABASE = "virtlab_bare"
COMPLETE_RUNS = f"""
    SELECT count(*) FROM benchmarks_run AS run
    JOIN benchmarks_study AS study ON study.id = run.study_id
    WHERE study.slug = ANY(%s) AND run.status = 'parsed'
      AND {CASES} = (
          SELECT count(*) FROM benchmarks_sample AS sample
          WHERE sample.lab_id = run.lab_id AND sample.run_id = run.id)
      AND {CASES} = (
          SELECT count(*) FROM benchmarks_runmean AS mean
          WHERE mean.lab_id = run.lab_id AND mean.run_id = run.id)
"""
VIEWS = 9
# A change that invalidates cached pages, like an upload.
CHANGE = """
    UPDATE benchmarks_run SET note = note || '.' WHERE id = (
        SELECT max(run.id) FROM benchmarks_run AS run
        JOIN benchmarks_study AS study ON study.id = run.study_id
        WHERE %(study)s IN ('', study.slug)
        GROUP BY study.id ORDER BY count(*) LIMIT 1
    )
"""
TIMEOUT_S = 600.0
# Web processes check their memory every five seconds.
RETURN_TIMEOUT_S = 15.0
PARTS = ("web", "worker", "sweeper", "postgres")


@dataclass(frozen=True)
class Measurement:
    """A figure of one pass, and the limit to which it is compared."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    limit_name: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.limit if self.limit else None


class IngestBench:
    """A product and bare Django with the same PostgreSQL."""

    def __init__(self, product: Product, bare: str, bare_pid: int) -> None:
        self.product, self.bare, self.bare_pid = product, bare, bare_pid
        self.token = (product.var / "upload-token").read_text().strip()
        self.client = product.client()
        self.api = f"{product.url}/api/v1/"
        self.database = EmbeddedServers(VarFolder(product.var)).postgres.url(OWNER)
        self.client.register_host({"slug": "bench-host"})
        self.study_count = 0

    def create_study(self, **fields: str) -> str:
        self.study_count += 1
        slug = f"ingest-{self.study_count}"
        self.client.create_study({"slug": slug, "title": slug, **fields})
        return slug

    def wait_for_uploads(self) -> float:
        return self._wait("SELECT count(*) FROM benchmarks_job WHERE kind = 'upload'")

    def wait_for_checks(self) -> float:
        return self._wait("SELECT count(*) FROM benchmarks_job WHERE kind = 'check'")

    def _wait(self, query: str) -> float:
        started = time.perf_counter()
        with psycopg.connect(self.database, autocommit=True) as connection:
            while time.perf_counter() < started + TIMEOUT_S:
                row = connection.execute(query).fetchone()
                if row == (0,):
                    return time.perf_counter() - started
                time.sleep(0.02)
        raise RuntimeError(f"not done after {TIMEOUT_S:.0f} s: {query}")

    def count(self, query: str, *parameters: Any) -> float:
        with psycopg.connect(self.database) as connection:
            row = connection.execute(query, parameters).fetchone()
        return float(row[0]) if row else 0.0

    def upload_bulk(self, runs: list[dict[str, Any]]) -> float:
        """Upload runs in one request; return the seconds until the response."""
        lines = b"\n".join(orjson.dumps(run) for run in runs)
        request = urllib.request.Request(
            f"{self.api}runs/bulk/",
            gzip.compress(lines, 1),
            {
                "Authorization": f"Token {self.token}",
                "Content-Type": "application/x-ndjson",
                "Content-Encoding": "gzip",
            },
        )
        started = time.perf_counter()
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            response.read()
        return time.perf_counter() - started


def single_uploads(bench: IngestBench) -> Iterator[Measurement]:
    """Measure single runs of 50 samples from 4 clients; the limit is bare Django."""
    for studies, label in ((1, "one study"), (STUDIES, "studies share benchmarks")):
        slugs = [bench.create_study() for _ in range(studies)]

        def bodies(count: int, slugs: list[str] = slugs) -> list[bytes]:
            return [
                orjson.dumps(
                    run_document(
                        slugs[number % len(slugs)],
                        number,
                        hypervisor="KVM" if number % 3 else "native",
                    )
                )
                for number in range(count)
            ]

        post_all(f"{bench.bare}bound/", bench.token, bodies(WARM_UP))
        post_all(f"{bench.api}runs/", bench.token, bodies(WARM_UP))
        bench.wait_for_uploads()
        bound, bound_ms = limit_uploads(bench, bodies(SINGLES))
        sent, cpu = bodies(SINGLES), CpuTime(bench.product.process.pid)
        started = time.perf_counter()
        product = post_all(f"{bench.api}runs/", bench.token, sent)
        bench.wait_for_uploads()
        processed_per_s = SINGLES / (time.perf_counter() - started)
        cpu_s = cpu.used()
        again, again_ms = limit_uploads(bench, bodies(SINGLES))
        limit = (bound.per_s + again.per_s) / 2
        yield Measurement(
            f"single uploads accepted, {label}", product.per_s, "/s", limit, "bound"
        )
        p99 = (bound.p99_ms + again.p99_ms) / 2
        yield Measurement(f"their p99, {label}", product.p99_ms, "ms", p99, "bound")
        yield Measurement(
            f"accepted and processed, {label}", processed_per_s, "/s", limit, "bound"
        )
        stored = bench.count(COMPLETE_RUNS, slugs)
        total = float(SINGLES + WARM_UP)
        yield Measurement(f"runs stored, {label}", stored, "", total, "sent")
        for part in PARTS:
            part_ms = cpu_s.get(part, 0.0) / SINGLES * 1000
            yield Measurement(f"CPU of {part} an upload, {label}", part_ms, "ms")
        total_ms = sum(cpu_s.get(part, 0.0) for part in PARTS) / SINGLES * 1000
        bound_ms = (bound_ms + again_ms) / 2
        name = f"CPU of all an upload, processed, {label}"
        yield Measurement(name, total_ms, "ms", bound_ms, "bound")


def limit_uploads(bench: IngestBench, bodies: list[bytes]) -> tuple[LoadResult, float]:
    """Upload to bare Django; return the load and the CPU time per upload in ms."""
    bare, product = CpuTime(bench.bare_pid), CpuTime(bench.product.process.pid)
    load = post_all(f"{bench.bare}bound/", bench.token, bodies)
    cpu_s = bare.used().get("web", 0.0) + product.used().get("postgres", 0.0)
    return load, cpu_s / len(bodies) * 1000


def bulk_uploads(bench: IngestBench) -> Iterator[Measurement]:
    """Measure a request with 200 runs; the limit is PostgreSQL's COPY."""
    slug = bench.create_study()
    bench.wait_for_checks()
    cpu = CpuTime(bench.product.process.pid)
    runs = [
        run_document(slug, n, hypervisor="KVM" if n % 2 else "native")
        for n in range(BULK_RUNS)
    ]
    samples = BULK_RUNS * CASES
    limit = copied_rows_per_s(bench.database)
    started = time.perf_counter()
    accepted_s = bench.upload_bulk(runs)
    bench.wait_for_uploads()
    processed_s = time.perf_counter() - started
    cpu_s = cpu.used()
    limit = (limit + copied_rows_per_s(bench.database)) / 2
    for part in PARTS:
        yield Measurement(f"CPU of {part}, bulk", cpu_s.get(part, 0.0) * 1000, "ms")
    yield Measurement(
        "bulk accepted, samples", samples / accepted_s, "/s", limit, "COPY"
    )
    yield Measurement(
        "bulk processed, samples", samples / processed_s, "/s", limit, "COPY"
    )


def wide_study(bench: IngestBench) -> Iterator[Measurement]:
    """Measure a study of 20 systems, 1,000 benchmarks and 5 runs: 100,000 samples."""
    slug = bench.create_study(visibility="public")
    bench.wait_for_checks()
    cpu = CpuTime(bench.product.process.pid)
    systems, cases = 20, 1000
    runs = [
        run_document(
            slug,
            number,
            cases=cases // 4,
            first_case=quarter * cases // 4,
            hypervisor="KVM" if system % 2 else "native",
            guest=f"Debian {system // 2}",
        )
        for number in range(WIDE_SAMPLES // WIDE_STUDY_CELLS)
        for system in range(systems)
        for quarter in range(4)
    ]
    started = time.perf_counter()
    for first in range(0, len(runs), 100):
        bench.upload_bulk(runs[first : first + 100])
    accepted_s = time.perf_counter() - started
    bench.wait_for_uploads()
    processed_s = time.perf_counter() - started
    bench.wait_for_checks()
    yield Measurement("20,000 results: accepted", accepted_s, "s")
    yield Measurement("20,000 results: processed", processed_s, "s", 12, "target")
    flags_s = time.perf_counter() - started
    yield Measurement("20,000 results: flags", flags_s, "s", 20, "target")
    for part, seconds in cpu.used().items():
        if part in PARTS:
            yield Measurement(f"20,000 results: CPU of {part}", seconds, "s")
    lab = bench.client.get("studies/")["results"][0]["lab"]
    home = f"{bench.product.url}/studies/{lab}/{slug}/"
    page_ms, size = page(f"{home}compare/", bench.database)
    name = "20,000 results: compare page after an upload elsewhere"
    yield Measurement(name, page_ms, "ms", 300, "target")
    yield Measurement("20,000 results: compare page", size / 1e6, "MB", 3.9, "before")
    page_ms, _ = page(f"{home}compare/", bench.database, slug)
    yield Measurement("20,000 results: compare page recomputed", page_ms, "ms")
    yield Measurement("memory right afterwards (PSS)", pss_mib(bench.product), "MiB")
    time.sleep(RETURN_TIMEOUT_S)
    memory_mib = pss_mib(bench.product)
    name = "memory afterwards, returned (PSS)"
    yield Measurement(name, memory_mib, "MiB", 900, "target")


def run_document(
    study: str,
    number: int = 0,
    *,
    cases: int = CASES,
    first_case: int = 0,
    hypervisor: str = "KVM",
    guest: str = "Debian 12",
) -> dict[str, Any]:
    variation = (number * 7919 + 13) % 100 / 1000
    return {
        "key": str(uuid.uuid4()),
        "study": study,
        "system": {
            "host": "bench-host",
            "hypervisor": hypervisor,
            "guest_os": guest,
            "guest_bits": 64,
        },
        "tool": "ramspeed",
        "samples": [
            {
                "metric": "bandwidth",
                "parameters": {"operation": "read", "block": f"{case + 1} KiB"},
                "value": round(1000 + case + variation, 3),
                "unit": "MB/s",
                "repetition": 1,
            }
            for case in range(first_case, first_case + cases)
        ],
    }


def pss_mib(product: Product) -> float:
    """Return the memory of a product in MiB; shared memory is counted once."""
    total = 0
    for process in product.descendants():
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total / 2**20


def page(url: str, database: str | None = None, study: str = "") -> tuple[float, int]:
    """Return the median time to load a page in ms, and its size in bytes.

    With ``database``, a run of ``study`` (by default the smallest) changes before each
    view.
    """
    times = []
    for _ in range(VIEWS):
        if database:
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(CHANGE, {"study": study})
        started = time.perf_counter()
        with urllib.request.urlopen(url, timeout=600) as response:
            body = response.read()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times), len(body)


def copied_rows_per_s(url: str, count: int = 50_000) -> float:
    """Return COPY's rows per second, for rows like those of samples."""
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS bench_limit")
        connection.execute(
            "CREATE TABLE bench_limit (lab_id bigint, run_id bigint, sequence integer, "
            "case_id bigint, repetition integer, value float8, "
            "PRIMARY KEY (lab_id, run_id, sequence))"
        )
        started = time.perf_counter()
        with connection.cursor().copy("COPY bench_limit FROM STDIN") as copy:
            for number in range(count):
                copy.write_row((1, number // 50, number % 50, number % 50, 1, 1000.5))
        connection.commit()
        elapsed_s = time.perf_counter() - started
        connection.execute("DROP TABLE bench_limit")
        connection.commit()
    return count / elapsed_s


BENCHMARKS: dict[str, Callable[[IngestBench], Iterator[Measurement]]] = {
    "singles": single_uploads,
    "bulk": bulk_uploads,
    "wide": wide_study,
}


@contextmanager
def running_benchmark(var: Path) -> Iterator[IngestBench]:
    product = launch_product(var, LOAD_REFERENCE="small")
    bare = None
    try:
        product.wait_until_ready()
        # Only the superuser may create a database.
        url = EmbeddedServers(VarFolder(product.var)).postgres.url(SUPERUSER)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        bare_url = urlsplit(url)._replace(path=f"/{DATABASE}").geturl()
        environment = {**os.environ, "BARE_DATABASE_URL": bare_url}
        environment.pop("DJANGO_SETTINGS_MODULE", None)
        secret = (var / "upload-token").read_text().strip()
        prepare = (
            "from devtools import minimal_upload_app; "
            f"minimal_upload_app.create_tables({secret!r})"
        )
        subprocess.run(
            [sys.executable, "-c", prepare], env=environment, cwd=ROOT, check=True
        )
        port = free_port()
        gunicorn = ("-m", "gunicorn", "--config", "config/gunicorn.py")
        bare = subprocess.Popen(
            [
                *(sys.executable, *gunicorn, "--bind", f"127.0.0.1:{port}"),
                "devtools.minimal_upload_app:application",
            ],
            env=environment,
            cwd=ROOT,
            stderr=subprocess.DEVNULL,
        )
        bare_site = f"http://127.0.0.1:{port}/"
        _wait_for(bare_site)
        yield IngestBench(product, bare_site, bare.pid)
    finally:
        if bare:
            bare.terminate()
            bare.wait(30)
        product.stop()


def _wait_for(url: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(url, timeout=5)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{url} is not responding")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(BENCHMARKS), default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    measure(options.passes, options.only, options.json)


def measure(passes: int, only: Sequence[str] = (), path: Path | None = None) -> None:
    """Measure ``passes`` times and print a table; write all passes to ``path``."""
    passes_by_name: dict[str, list[Measurement]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="virtlab-ingest-") as folder,
        running_benchmark(Path(folder) / "var") as bench,
    ):
        for _ in range(passes):
            for name in only or BENCHMARKS:
                for figure in BENCHMARKS[name](bench):
                    passes_by_name.setdefault(figure.name, []).append(figure)
    Console(width=140).print(table(passes_by_name))
    if path:
        rows = {
            name: [{**vars(figure), "ratio": figure.ratio} for figure in figures]
            for name, figures in passes_by_name.items()
        }
        path.write_text(json.dumps(rows, indent=1) + "\n")


def table(passes: dict[str, list[Measurement]]) -> Table:
    result = Table("figure", "min", "median", "max", "limit", "ratio", title="Uploads")
    for name, figures in passes.items():
        values = [figure.value for figure in figures]
        summary = (min(values), statistics.median(values), max(values))
        limits = [figure.limit for figure in figures if figure.limit]
        ratios = [figure.ratio for figure in figures if figure.ratio]
        unit, source = figures[0].unit, figures[0].limit_name
        limit = f"{source} {statistics.median(limits):,.1f} {unit}" if limits else ""
        ratio = f"{statistics.median(ratios):.3f}" if ratios else ""
        result.add_row(name, *(f"{n:,.1f} {unit}" for n in summary), limit, ratio)
    return result


if __name__ == "__main__":
    main()
