"""`make bench`: measure the speed of the product on this machine, relative to limits.

Start a product in a temporary folder, and measure each kind of page in the study in
which it is slowest: the time of a page after a change of the database, of a cached
page, and of an empty page. Then measure uploads (`devtools.ingest_benchmark`).
"""

import argparse
import re
import statistics
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from devtools import ingest_benchmark
from devtools.routes import ROUTES
from devtools.temporary_product import database, running_product, temporary_folder
from running.product_launcher import Product

VIEWS: Final = 21
TARGET_MS: Final = 50
EMPTY_PAGE: Final = "/login/"  # no data
ROWS: Final = "/api/v1/comparisons/?study=lmu-2010-xen"
# Counts a change of a study's title, which every page shows.
CHANGE = "INSERT INTO benchmarks_changecount VALUES ('benchmarks_study', 0, 1)"


def pages(product: Product) -> Iterator[tuple[str, ...]]:
    with database(product.var) as connection:
        empty_ms, _ = timed(product, EMPTY_PAGE, connection)
        for kind, urls in (*page_urls(product), ("comparisons API", [ROWS])):
            new_ms, cached_ms = max(timed(product, url, connection) for url in urls)
            yield (
                f"{kind}, worst of {len(urls)}",
                f"{new_ms:.1f} ms; cached {cached_ms:.1f} ms",
                f"empty {empty_ms:.1f} ms, target {TARGET_MS} ms",
                f"{new_ms / empty_ms:.1f} x; of target {new_ms / TARGET_MS:.2f}",
            )


def page_urls(product: Product) -> Iterator[tuple[str, list[str]]]:
    studies = product.client().get("studies/")["results"]
    homes = [f"/studies/{study['lab']}/{study['slug']}/" for study in studies]
    cells = [first(product, f"{home}compare/", r"cells/(\d+)/") for home in homes]
    run = first(product, f"{homes[0]}runs/", r"/runs/(\d+)/")
    for name, route in ROUTES.items():
        for url in route.query_count_urls if route.kind in ("page", "part") else ():
            words = {word for _, word, *_ in Formatter().parse(url) if word}
            if not words <= {"cell", "run"}:
                continue  # not in the reference studies
            urls = [
                ("" if url.startswith("/") else home) + url.format(cell=cell, run=run)
                for home, cell in zip(homes, cells, strict=True)
            ]
            yield f"{name}, {url}", list(dict.fromkeys(urls))


def first(product: Product, url: str, pattern: str) -> str:
    match = re.search(pattern, read(product, url), re.DOTALL)
    if not match:
        raise LookupError(f"{url} does not contain {pattern}")
    return match[1]


def read(product: Product, path: str) -> str:
    with urllib.request.urlopen(product.url + path, timeout=60) as response:
        return str(response.read().decode())


def timed(product: Product, path: str, connection: Any) -> tuple[float, float]:
    """Return the median times of a page after a change and from the cache, in ms."""
    medians = []
    for is_changed in (True, False):
        times_ms = []
        for _ in range(VIEWS):
            if is_changed:
                connection.execute(CHANGE)
            started = time.perf_counter()
            read(product, path)
            times_ms.append((time.perf_counter() - started) * 1000)
        # The first views fill each web process's caches.
        medians.append(statistics.median(times_ms[4:]))
    return medians[0], medians[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file for all passes of all figures")
    options = parser.parse_args()
    table = Table("what", "speed", "limit", "ratio", title="Virtlab on this machine")
    with temporary_folder("bench") as folder:
        for name in ("first start, with all studies", "second start"):
            started = time.perf_counter()
            with running_product(folder / "var", LOAD_REFERENCE="small") as product:
                seconds = time.perf_counter() - started
                table.add_row(name, f"{seconds:.1f} s", "5 s", f"{seconds / 5:.2f}")
                if name == "second start":
                    for row in pages(product):
                        table.add_row(*row)
    Console(width=120).print(table)
    ingest_benchmark.measure(options.passes, path=options.json)


if __name__ == "__main__":
    main()
