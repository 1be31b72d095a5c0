"""`make bench`: how fast the product is on this machine, relative to limits.

Starts a product in a temporary folder and measures each kind of page in its slowest
study: the wall time of a page rendered after a change of the database, and of a cached
page, next to an empty page of the same server. Then `devtools.ingest` measures uploads.
Ratios can be compared between machines, speeds cannot.
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

from devtools import ingest
from devtools.product import database, own_folder, running_product
from devtools.routes import ROUTES
from running.product import Product

VIEWS: Final = 21
WANTED_MS: Final = 50
EMPTY_PAGE: Final = "/login/"  # the same web server and templates, no data
ROWS: Final = "/api/v1/comparisons/?study=lmu-2010-xen"
# A recorded change of a study, whose title every page shows: no cached page is valid.
CHANGE = "INSERT INTO benchmarks_change VALUES ('benchmarks_study', 0, 1)"


def pages(product: Product) -> Iterator[tuple[str, ...]]:
    """Yield a row for every kind of page, next to an empty page of the same server."""
    with database(product.var) as connection:
        empty_ms, _ = timed(product, EMPTY_PAGE, connection)
        for kind, addresses in (*addresses_of(product), ("comparisons API", [ROWS])):
            new_ms, cached_ms = max(timed(product, it, connection) for it in addresses)
            yield (
                f"{kind}, worst of {len(addresses)}",
                f"{new_ms:.1f} ms; again {cached_ms:.1f} ms",
                f"empty {empty_ms:.1f} ms, wanted {WANTED_MS} ms",
                f"{new_ms / empty_ms:.1f} x; of wanted {new_ms / WANTED_MS:.2f}",
            )


def addresses_of(product: Product) -> Iterator[tuple[str, list[str]]]:
    """Yield each kind of page with its addresses in the reference studies."""
    studies = product.client().get("studies/")["results"]
    homes = [f"/studies/{study['lab']}/{study['slug']}/" for study in studies]
    cells = [first(product, f"{home}compare/", r"cells/(\d+)/") for home in homes]
    run = first(product, f"{homes[0]}runs/", r"/runs/(\d+)/")
    for name, route in ROUTES.items():
        for address in route.counted if route.kind in ("page", "part") else ():
            words = {word for _, word, *_ in Formatter().parse(address) if word}
            if not words <= {"cell", "run"}:
                continue  # the reference studies have no such object
            places = [
                ("" if address.startswith("/") else home)
                + address.format(cell=cell, run=run)
                for home, cell in zip(homes, cells, strict=True)
            ]
            yield f"{name}, {address}", list(dict.fromkeys(places))


def first(product: Product, address: str, pattern: str) -> str:
    match = re.search(pattern, read(product, address), re.DOTALL)
    if not match:
        raise LookupError(f"{address} has nothing like {pattern}")
    return match[1]


def read(product: Product, address: str) -> str:
    with urllib.request.urlopen(product.url + address, timeout=60) as answer:
        return str(answer.read().decode())


def timed(product: Product, address: str, connection: Any) -> tuple[float, float]:
    """Return the median times of a page rendered anew and of a cached page, in ms."""
    medians = []
    for is_new in (True, False):
        waits = []
        for _ in range(VIEWS):
            if is_new:
                connection.execute(CHANGE)
            begun = time.perf_counter()
            read(product, address)
            waits.append((time.perf_counter() - begun) * 1000)
        # The first views fill caches of each web process.
        medians.append(statistics.median(waits[4:]))
    return medians[0], medians[1]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--passes", type=int, default=3)
    options.add_argument("--json", type=Path, help="every pass of every figure")
    asked = options.parse_args()
    table = Table("what", "speed", "limit", "ratio", title="Virtlab on this machine")
    with own_folder("bench") as folder:
        for what in ("first start, with all studies", "second start"):
            begun = time.perf_counter()
            with running_product(folder / "var", REFERENCE="on") as product:
                seconds = time.perf_counter() - begun
                table.add_row(what, f"{seconds:.1f} s", "5 s", f"{seconds / 5:.2f}")
                if what == "second start":
                    for row in pages(product):
                        table.add_row(*row)
    Console(width=120).print(table)
    ingest.measure(asked.passes, path=asked.json)


if __name__ == "__main__":
    main()
