"""What uploads leave to be done: flags, pages made anew, memory that is held."""

import statistics
import time
import urllib.request
from typing import Any

import psutil
import psycopg

from running.product import Product

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


def pss_mib(product: Product) -> float:
    """Return what all processes of a product hold, shared memory counted once."""
    held = 0
    for process in product.descendants():
        try:
            held += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return held / 2**20


def cells_of(database: str) -> int:
    """Return how many cells a product has."""
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT count(*) FROM benchmarks_cell").fetchone()
    return int(row[0]) if row else 0


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
        body = read(url)
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times), len(body)


def read(url: str) -> bytes:
    """Return a page's body as it travels without compression."""
    with urllib.request.urlopen(url, timeout=600) as answer:
        body: bytes = answer.read()
    return body


def lab_of(client: Any) -> str:
    """Return the lab that a product's own token uploads to."""
    return str(client.get("studies/")["results"][0]["lab"])
