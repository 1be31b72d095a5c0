"""`python -m bench.data_out`: what handing out 10,000,000 samples takes.

Starts a product of its own, makes runs in its database by SQL, downloads the samples in
every form, and prints how long it took, how large the web processes grew, and how long
others waited meanwhile for an answer.
"""

import argparse
import hashlib
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table

from running.embedded import Services
from running.folders import VarFolder
from running.postgres import DATABASE, OWNER, PORT
from running.product import Product, start

RUN_SAMPLES = 1_000
STUDY = "lmu-2010-xen"
# Copies of one run of the study, each with so many samples of one case.
RUNS = """
    INSERT INTO benchmarks_run (lab_id, study_id, system_id, agent_id, key, digest,
        part, tool, tool_version, scenario, slot, load, clock, received_at, document,
        "table", note, facts, status, reason, warnings, sample_count, derived_count,
        started_at)
    SELECT lab_id, study_id, system_id, agent_id, gen_random_uuid(), 'bench', 1, tool,
        tool_version, scenario, slot, load, clock, now(), document, "table", '', '{}',
        'parsed', '', '[]', %(samples)s, 0, now()
    FROM generate_series(1, %(runs)s),
        (SELECT run.* FROM benchmarks_run AS run
         JOIN benchmarks_study AS study ON study.id = run.study_id
         WHERE study.slug = %(study)s ORDER BY run.id LIMIT 1) AS one
"""
SAMPLES = """
    INSERT INTO benchmarks_sample (lab_id, run_id, sequence, case_id, repetition, value)
    SELECT run.lab_id, run.id, sequence, (SELECT min(id) FROM benchmarks_case), 1,
        100 + random()
    FROM benchmarks_run AS run, generate_series(1, %(samples)s) AS sequence
    WHERE run.digest = 'bench' AND run.id > %(after)s AND run.id <= %(after)s + 1000
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=10_000_000)
    samples = parser.parse_args().samples
    table = Table("form", "bytes", "seconds", "RSS before", "RSS most", "others waited")
    with tempfile.TemporaryDirectory(prefix="virtlab-data-") as name:
        product = start(Path(name) / "var")
        try:
            product.wait_until_ready()
            _fill(product.var, samples)
            for form in ("csv", "ndjson", "parquet"):
                table.add_row(form, *_measured(product, form))
        finally:
            product.stop()
    Console(width=120).print(table)


def _fill(var: Path, samples: int) -> None:
    """Make the runs and their samples, a thousand runs at once."""
    asked = {"runs": samples // RUN_SAMPLES, "samples": RUN_SAMPLES, "study": STUDY}
    postgres = Services(VarFolder(var)).postgres
    with psycopg.connect(
        host=str(postgres.socket_folder),
        port=PORT,
        user=OWNER,
        password=postgres.password(OWNER),
        dbname=DATABASE,
    ) as connection:
        connection.execute(RUNS, asked)
        found = "SELECT min(id), max(id) FROM benchmarks_run WHERE digest = 'bench'"
        row = connection.execute(found).fetchone()
        assert row
        for after in range(row[0] - 1, row[1], 1_000):
            connection.execute(SAMPLES, asked | {"after": after})
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")


def _measured(product: Product, form: str) -> tuple[str, ...]:
    web = product.named("gunicorn")
    watched: list[tuple[int, float]] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.2):
            begun = time.perf_counter()
            urllib.request.urlopen(f"{product.url}/api/v1/cells/?page_size=1").read()
            waited = time.perf_counter() - begun
            watched.append((max(it.memory_info().rss for it in web), waited))

    before = max(it.memory_info().rss for it in web)
    watcher = threading.Thread(target=watch)
    watcher.start()
    begun, size, digest = time.perf_counter(), 0, hashlib.sha256()
    address = f"{product.url}/api/v1/data/samples/{form}/"
    with urllib.request.urlopen(address) as answer:
        while piece := answer.read(1 << 20):
            size += len(piece)
            digest.update(piece)
        assert digest.hexdigest() == answer.headers["X-SHA256"]
    took = time.perf_counter() - begun
    is_over.set()
    watcher.join()
    most, waited = (max(column) for column in zip(*watched, strict=True))
    return (
        f"{size:,}",
        f"{took:.1f}",
        f"{before / 1e6:.0f} MB",
        f"{most / 1e6:.0f} MB",
        f"{waited * 1000:.0f} ms",
    )


if __name__ == "__main__":
    main()
