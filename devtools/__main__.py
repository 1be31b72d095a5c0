"""`make bench`: how fast the product is on this machine, relative to limits.

Starts a product in a temporary folder. For each kind of page it measures the slowest
study: the wall time of a page rendered after a change of the database and of a cached
page, next to an empty page of the same server. Then `devtools.ingest` measures uploads.
Ratios can be compared between machines, speeds cannot.
"""

import argparse
import http.client
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Final

import psutil
from rich.console import Console
from rich.table import Table

from devtools import ingest
from devtools.product import own_folder, running_product
from devtools.routes import ROUTES
from running.folders import VarFolder
from running.postgres import Postgres
from running.product import Product

VIEWS: Final = 21
WANTED_MS: Final = 50
EMPTY_PAGE: Final = "/login/"  # the same web server and templates, no data
ROWS: Final = "/api/v1/comparisons/?study=lmu-2010-xen"
CELL: Final = r"cells/(\d+)/"
RUN: Final = r"/runs/(\d+)/"
# What pages of the reference studies may ask for by an id.
IDS: Final = {"cell", "run"}


@dataclass(frozen=True, order=True)
class Timing:
    """Medians of a page's wall time, and the mean processor time of making it anew."""

    anew_ms: float
    again_ms: float
    cpu_ms: float
    where: str


def pages(product: Product) -> Iterator[tuple[str, ...]]:
    """Yield a row for every kind of page, beside an empty page of the same server."""
    with closing(Pages(product)) as reader:
        limit = reader.timing(EMPTY_PAGE)
        found = addresses_of(reader, studies_of(product))
        for kind, addresses in (*found, ("comparisons API", [ROWS])):
            worst = max(map(reader.timing, addresses))
            yield _row(f"{kind}, worst of {len(addresses)}", worst, limit)


def _row(what: str, page: Timing, limit: Timing) -> tuple[str, ...]:
    speed = f"{page.anew_ms:.1f} ms, CPU {page.cpu_ms:.1f} ms"
    speed += f"; again {page.again_ms:.1f} ms"
    empty = f"empty {limit.anew_ms:.1f} ms, CPU {limit.cpu_ms:.1f} ms"
    shares = f"{page.anew_ms / WANTED_MS:.2f}, again {page.again_ms / WANTED_MS:.2f}"
    ratio = f"{page.anew_ms / limit.anew_ms:.1f} x"
    return what, speed, empty, f"{ratio}; of {WANTED_MS} ms: {shares}"


def studies_of(product: Product) -> list[str]:
    """Return each study of a product as lab/slug."""
    studies = product.client().get("studies/")["results"]
    return [f"{study['lab']}/{study['slug']}" for study in studies]


def addresses_of(pages: "Pages", slugs: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each kind of page with its addresses in the studies."""
    cells = {slug: pages.first(f"/studies/{slug}/compare/", CELL) for slug in slugs}
    run = pages.first(f"/studies/{slugs[0]}/runs/", RUN)
    counted = [
        (f"{name}, {address}", address)
        for name, route in ROUTES.items()
        if route.kind in ("page", "part")
        for address in route.counted
    ]
    for kind, address in counted:
        if not {name for _, name, *_ in Formatter().parse(address) if name} <= IDS:
            continue  # of something that the reference studies do not have
        if address.startswith("/"):
            yield kind, [address.format(run=run)]
        else:
            paths = (address.format(cell=cells[slug]) for slug in slugs)
            pairs = zip(slugs, paths, strict=True)
            yield kind, [f"/studies/{slug}/{path}" for slug, path in pairs]


# Noted as a change of some study, whose titles every page shows: nothing kept is shown.
CHANGE = "INSERT INTO benchmarks_change VALUES ('benchmarks_study', 0, 1)"


class Pages:
    """Reads pages over one connection, as a browser does, and times them."""

    def __init__(self, product: Product) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", product.port)
        self.database = Postgres(VarFolder(product.var)).connect()
        self.processes = [*product.named("gunicorn"), *product.named("postgres")]

    def close(self) -> None:
        self.connection.close()
        self.database.close()

    def first(self, address: str, pattern: str) -> str:
        """Return what a pattern finds first on a page; raise LookupError without."""
        match = re.search(pattern, self.read(address, "identity"), re.DOTALL)
        if not match:
            raise LookupError(f"{address} holds nothing like {pattern}")
        return match[1]

    def timing(self, address: str) -> Timing:
        """Time a page that was read before, so that nothing is done a first time."""
        self._waits_ms(address, 4, anew=True)
        before = self._cpu_s()
        anew = self._waits_ms(address, VIEWS, anew=True)
        cpu_ms = (self._cpu_s() - before) * 1000 / VIEWS
        self._waits_ms(address, 4, anew=False)  # each web process keeps its own
        again = self._waits_ms(address, VIEWS, anew=False)
        return Timing(
            statistics.median(anew), statistics.median(again), cpu_ms, address
        )

    def _waits_ms(self, address: str, views: int, *, anew: bool) -> list[float]:
        """Return what a reader waits; ``anew``: each time after a transaction."""
        waits = []
        for _ in range(views):
            if anew:
                # Takes a number, and so changes the snapshot that pages are kept by.
                self.database.execute(CHANGE)
            begun = time.perf_counter()
            self.read(address)
            waits.append((time.perf_counter() - begun) * 1000)
        return waits

    def read(self, address: str, accept: str = "gzip") -> str:
        """Return a page's text; compressed it is only waited for."""
        self.connection.request("GET", address, headers={"Accept-Encoding": accept})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status not in (200, 302):
            raise RuntimeError(f"{address} answered {answer.status}")
        return body.decode() if accept == "identity" else ""

    def _cpu_s(self) -> float:
        spent = 0.0
        for process in self.processes:
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            spent += times.user + times.system
        return spent


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
