"""`python -m devtools.ingest`: uploads accepted and processed, relative to limits.

    python -m devtools.ingest [--passes N] [--only PART ...] [--json FILE]

One product is measured; its PostgreSQL also serves a bare Django (`devtools.bare`),
which is the bound. Both are measured in turns, so that other load on the machine
affects both. The figures are those of `docs/performance.md`.
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

from devtools.product import CpuTime, Load, send
from running.embedded import Services
from running.folders import VarFolder
from running.postgres import OWNER, SUPERUSER
from running.processes import ROOT
from running.product import Product, free_port, start

# Some seconds of them: what a worker waits for more (half a second) is no throughput.
CASES = 50
SINGLES = 2000
BULK_RUNS = 200
WARM_UP = 40
STUDIES = 4
WIDE_CELLS, WIDE_SAMPLES = 20_000, 100_000
DATABASE = "virtlab_bare"
# Those of some studies that have as many samples, and means of them, as were sent.
WHOLE_RUNS = f"""
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
# A changed row, as an upload changes many: nothing kept of it may be shown.
CHANGE = """
    UPDATE benchmarks_run SET note = note || '.' WHERE id = (
        SELECT max(run.id) FROM benchmarks_run AS run
        JOIN benchmarks_study AS study ON study.id = run.study_id
        WHERE %(study)s IN ('', study.slug)
        GROUP BY study.id ORDER BY count(*) LIMIT 1
    )
"""
PATIENCE_S = 600.0
# Web processes look every five seconds at what they hold.
RETURNED_S = 15.0
PARTS = ("web", "worker", "sweeper", "postgres")


@dataclass(frozen=True)
class Figure:
    """A figure of one pass, with the limit that was measured beside it."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    of: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.limit if self.limit else None


class Bench:
    """A product and the bare Django, side by side on one PostgreSQL."""

    def __init__(self, product: Product, bare: str, bare_pid: int) -> None:
        self.product, self.bare, self.bare_pid = product, bare, bare_pid
        self.token = (product.var / "upload-token").read_text().strip()
        self.client = product.client()
        self.api = f"{product.url}/api/v1/"
        self.database = Services(VarFolder(product.var)).postgres.url(OWNER)
        self.client.register_host({"slug": "bench-host"})
        self.made = 0

    def study(self, **more: str) -> str:
        self.made += 1
        slug = f"ingest-{self.made}"
        self.client.create_study({"slug": slug, "title": slug, **more})
        return slug

    def finish(self) -> float:
        """Wait until no upload waits; return the seconds."""
        return self._wait("SELECT count(*) FROM benchmarks_job WHERE kind = 'upload'")

    def checked(self) -> float:
        """Wait until no check waits; return the seconds."""
        return self._wait("SELECT count(*) FROM benchmarks_job WHERE kind = 'check'")

    def _wait(self, query: str) -> float:
        begun = time.perf_counter()
        with psycopg.connect(self.database, autocommit=True) as connection:
            while time.perf_counter() < begun + PATIENCE_S:
                row = connection.execute(query).fetchone()
                if row == (0,):
                    return time.perf_counter() - begun
                time.sleep(0.02)
        raise RuntimeError(f"not done after {PATIENCE_S:.0f} s: {query}")

    def count(self, query: str, *parameters: Any) -> float:
        with psycopg.connect(self.database) as connection:
            row = connection.execute(query, parameters).fetchone()
        return float(row[0]) if row else 0.0

    def bulk(self, runs: list[dict[str, Any]]) -> float:
        """Send one bulk upload; return the seconds until its answer."""
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
        begun = time.perf_counter()
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            answer.read()
        return time.perf_counter() - begun


def singles(bench: Bench) -> Iterator[Figure]:
    """Runs of 50 samples, one a request, 4 clients: the bound in between."""
    for studies, word in ((1, "one study"), (STUDIES, "studies share benchmarks")):
        slugs = [bench.study() for _ in range(studies)]

        def bodies(count: int, slugs: list[str] = slugs) -> list[bytes]:
            return [
                orjson.dumps(
                    upload_of(
                        slugs[number % len(slugs)],
                        number,
                        hypervisor="KVM" if number % 3 else "native",
                    )
                )
                for number in range(count)
            ]

        send(f"{bench.bare}bound/", bench.token, bodies(WARM_UP))
        send(f"{bench.api}runs/", bench.token, bodies(WARM_UP))
        bench.finish()
        bound, bound_ms = bounded(bench, bodies(SINGLES))
        sent, cpu = bodies(SINGLES), CpuTime(bench.product.process.pid)
        begun = time.perf_counter()
        ours = send(f"{bench.api}runs/", bench.token, sent)
        bench.finish()
        done = SINGLES / (time.perf_counter() - begun)
        taken = cpu.taken()
        again, again_ms = bounded(bench, bodies(SINGLES))
        limit = (bound.per_s + again.per_s) / 2
        yield Figure(
            f"single uploads accepted, {word}", ours.per_s, "/s", limit, "bound"
        )
        p99 = (bound.p99_ms + again.p99_ms) / 2
        yield Figure(f"their p99, {word}", ours.p99_ms, "ms", p99, "bound")
        yield Figure(f"accepted and processed, {word}", done, "/s", limit, "bound")
        stored = bench.count(WHOLE_RUNS, slugs)
        sent_in_all = float(SINGLES + WARM_UP)
        yield Figure(f"runs kept whole, {word}", stored, "", sent_in_all, "sent")
        for part in PARTS:
            each = taken.get(part, 0.0) / SINGLES * 1000
            yield Figure(f"CPU of {part} an upload, {word}", each, "ms")
        all_ms = sum(taken.get(part, 0.0) for part in PARTS) / SINGLES * 1000
        least_ms = (bound_ms + again_ms) / 2
        what = f"CPU of all an upload, processed, {word}"
        yield Figure(what, all_ms, "ms", least_ms, "bound")


def bounded(bench: Bench, bodies: list[bytes]) -> tuple[Load, float]:
    """Send to the bound; return what came of it, and its CPU time an upload, in ms."""
    web, all_else = CpuTime(bench.bare_pid), CpuTime(bench.product.process.pid)
    load = send(f"{bench.bare}bound/", bench.token, bodies)
    taken_s = web.taken().get("web", 0.0) + all_else.taken().get("postgres", 0.0)
    return load, taken_s / len(bodies) * 1000


def bulks(bench: Bench) -> Iterator[Figure]:
    """200 runs of 50 samples at once, beside COPY of as many narrow rows."""
    slug = bench.study()
    bench.checked()
    cpu = CpuTime(bench.product.process.pid)
    runs = [
        upload_of(slug, n, hypervisor="KVM" if n % 2 else "native")
        for n in range(BULK_RUNS)
    ]
    samples = BULK_RUNS * CASES
    limit = copied_rows_per_s(bench.database)
    begun = time.perf_counter()
    accepted_s = bench.bulk(runs)
    bench.finish()
    processed_s = time.perf_counter() - begun
    taken = cpu.taken()
    limit = (limit + copied_rows_per_s(bench.database)) / 2
    for part in PARTS:
        yield Figure(f"CPU of {part}, bulk", taken.get(part, 0.0) * 1000, "ms")
    yield Figure("bulk accepted, samples", samples / accepted_s, "/s", limit, "COPY")
    yield Figure("bulk processed, samples", samples / processed_s, "/s", limit, "COPY")


def wide(bench: Bench) -> Iterator[Figure]:
    """A study of 20,000 cells and 100,000 samples: 20 systems, 1,000 cases, 5 runs."""
    slug = bench.study(visibility="public")
    bench.checked()
    cpu = CpuTime(bench.product.process.pid)
    systems, cases = 20, 1000
    runs = [
        upload_of(
            slug,
            number,
            cases=cases // 4,
            first_case=quarter * cases // 4,
            hypervisor="KVM" if system % 2 else "native",
            guest=f"Debian {system // 2}",
        )
        for number in range(WIDE_SAMPLES // WIDE_CELLS)
        for system in range(systems)
        for quarter in range(4)
    ]
    begun = time.perf_counter()
    for first in range(0, len(runs), 100):
        bench.bulk(runs[first : first + 100])
    accepted_s = time.perf_counter() - begun
    bench.finish()
    processed_s = time.perf_counter() - begun
    bench.checked()
    yield Figure("20,000 cells: accepted", accepted_s, "s")
    yield Figure("20,000 cells: processed", processed_s, "s", 12, "wanted")
    flags_s = time.perf_counter() - begun
    yield Figure("20,000 cells: flags", flags_s, "s", 20, "wanted")
    for part, seconds in cpu.taken().items():
        if part in PARTS:
            yield Figure(f"20,000 cells: CPU of {part}", seconds, "s")
    lab = bench.client.get("studies/")["results"][0]["lab"]
    home = f"{bench.product.url}/studies/{lab}/{slug}/"
    took_ms, size = page(f"{home}compare/", bench.database)
    what = "20,000 cells: compare page after an upload elsewhere"
    yield Figure(what, took_ms, "ms", 300, "wanted")
    yield Figure("20,000 cells: compare page", size / 1e6, "MB", 3.9, "before")
    took_ms, _ = page(f"{home}compare/", bench.database, slug)
    yield Figure("20,000 cells: compare page judged anew", took_ms, "ms")
    yield Figure("memory right after it (PSS)", pss_mib(bench.product), "MiB")
    time.sleep(RETURNED_S)
    held = pss_mib(bench.product)
    yield Figure("memory after it, returned (PSS)", held, "MiB", 900, "wanted")


def upload_of(
    study: str,
    number: int = 0,
    *,
    cases: int = CASES,
    first_case: int = 0,
    hypervisor: str = "KVM",
    guest: str = "Debian 12",
) -> dict[str, Any]:
    """Return a run with one sample per case."""
    wobble = (number * 7919 + 13) % 100 / 1000
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
                "value": round(1000 + case + wobble, 3),
                "unit": "MB/s",
                "repetition": 1,
            }
            for case in range(first_case, first_case + cases)
        ],
    }


def pss_mib(product: Product) -> float:
    """Return what all processes of a product hold, shared memory counted once."""
    held = 0
    for process in product.descendants():
        try:
            held += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return held / 2**20


def page(url: str, database: str | None = None, study: str = "") -> tuple[float, int]:
    """Return the median time of a page, in ms, and its bytes.

    With a database each view comes after a change of a run: of this study, or of the
    one that has fewest.
    """
    times = []
    for _ in range(VIEWS):
        if database:
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(CHANGE, {"study": study})
        begun = time.perf_counter()
        with urllib.request.urlopen(url, timeout=600) as answer:
            body = answer.read()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times), len(body)


def copied_rows_per_s(url: str, count: int = 50_000) -> float:
    """Return how many rows as narrow as a sample COPY stores in a second."""
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS bench_limit")
        connection.execute(
            "CREATE TABLE bench_limit (lab_id bigint, run_id bigint, sequence integer, "
            "case_id bigint, repetition integer, value float8, "
            "PRIMARY KEY (lab_id, run_id, sequence))"
        )
        begun = time.perf_counter()
        with connection.cursor().copy("COPY bench_limit FROM STDIN") as copy:
            for number in range(count):
                copy.write_row((1, number // 50, number % 50, number % 50, 1, 1000.5))
        connection.commit()
        elapsed_s = time.perf_counter() - begun
        connection.execute("DROP TABLE bench_limit")
        connection.commit()
    return count / elapsed_s


MEASURED: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "singles": singles,
    "bulk": bulks,
    "wide": wide,
}


@contextmanager
def running(var: Path) -> Iterator[Bench]:
    """Start a product, and a bare Django on its PostgreSQL."""
    product = start(var)
    bare = None
    try:
        product.wait_until_ready()
        # Who may make a database of its own.
        url = Services(VarFolder(product.var)).postgres.url(SUPERUSER)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        own = urlsplit(url)._replace(path=f"/{DATABASE}").geturl()
        environment = {**os.environ, "BARE_DATABASE_URL": own}
        environment.pop("DJANGO_SETTINGS_MODULE", None)
        secret = (var / "upload-token").read_text().strip()
        prepare = f"from devtools import bare; bare.prepare({secret!r})"
        subprocess.run(
            [sys.executable, "-c", prepare], env=environment, cwd=ROOT, check=True
        )
        port = free_port()
        gunicorn = ("-m", "gunicorn", "--config", "config/gunicorn.py")
        bare = subprocess.Popen(
            [
                *(sys.executable, *gunicorn, "--bind", f"127.0.0.1:{port}"),
                "devtools.bare:application",
            ],
            env=environment,
            cwd=ROOT,
            stderr=subprocess.DEVNULL,
        )
        address = f"http://127.0.0.1:{port}/"
        _wait_for(address)
        yield Bench(product, address, bare.pid)
    finally:
        if bare:
            bare.terminate()
            bare.wait(30)
        product.stop()


def _wait_for(address: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(address, timeout=5)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{address} does not answer")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--passes", type=int, default=3)
    asked.add_argument("--only", nargs="*", choices=list(MEASURED), default=[])
    asked.add_argument("--json", type=Path)
    options = asked.parse_args()
    measure(options.passes, options.only, options.json)


def measure(passes: int, only: Sequence[str] = (), path: Path | None = None) -> None:
    """Measure, print the table, and write every pass to a file."""
    found: dict[str, list[Figure]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="virtlab-ingest-") as folder,
        running(Path(folder) / "var") as bench,
    ):
        for _ in range(passes):
            for name in only or MEASURED:
                for figure in MEASURED[name](bench):
                    found.setdefault(figure.what, []).append(figure)
    Console(width=140).print(table(found))
    if path:
        passed = {
            what: [{**vars(figure), "ratio": figure.ratio} for figure in figures]
            for what, figures in found.items()
        }
        path.write_text(json.dumps(passed, indent=1) + "\n")


def table(passes: dict[str, list[Figure]]) -> Table:
    """Each figure's least, middle and greatest, and the middle of its ratios."""
    shown = Table("what", "min", "median", "max", "limit", "ratio", title="Uploads")
    for what, figures in passes.items():
        values = [figure.value for figure in figures]
        middle = statistics.median(values)
        ends = (min(values), middle, max(values))
        limits = [figure.limit for figure in figures if figure.limit]
        ratios = [figure.ratio for figure in figures if figure.ratio]
        unit, of = figures[0].unit, figures[0].of
        limit = f"{of} {statistics.median(limits):,.1f} {unit}" if limits else ""
        ratio = f"{statistics.median(ratios):.3f}" if ratios else ""
        shown.add_row(what, *(f"{each:,.1f} {unit}" for each in ends), limit, ratio)
    return shown


if __name__ == "__main__":
    main()
