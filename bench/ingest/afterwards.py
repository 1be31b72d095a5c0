"""What uploads leave to be done: flags, pages made anew, memory that is held."""

import statistics
import time
import urllib.request
from typing import Any

import psutil
import psycopg

from running.product import Product

VIEWS = 9


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


def page(url: str, database: str | None = None) -> tuple[float, int]:
    """Return the median time of a page, in ms, and its bytes.

    With a database each view comes after a transaction of somebody: nothing that was
    kept may be taken without looking.
    """
    times = []
    for _ in range(VIEWS):
        if database:
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute("SELECT pg_current_xact_id()")
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
