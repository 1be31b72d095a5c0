"""How long every page of the reference campaigns takes, the worst of each kind.

Wall time is what a reader waits for; beside it stands what the request cost the web and
database processes, which other work on the machine hardly changes.
"""

import http.client
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import psutil

from tests.product.conftest import Product

VIEWS: Final = 21
WANTED_MS: Final = 50
EMPTY_PAGE: Final = "/login/"  # the same web server and templates, no data
KINDS: Final = {
    "campaign": "",
    "compare": "compare/",
    "compare, all scenarios": "compare/?scenario=all",
    "cell": "cells/{cell}/",
    "card of a cell": "compare/cell/?cell={cell}",
    "influence": "influence/",
    "co-runs": "co-runs/",
    "sweep": "sweep/",
    "network": "network/",
    "energy": "energy/",
    "history": "history/",
    "flags": "flags/",
    "runs": "runs/",
    "report": "report/",
}
CELL: Final = r"cells/(\d+)/"
RUN: Final = r"/runs/(\d+)/"
LONE: Final = {"overview": "/", "run": "/runs/{run}/"}


@dataclass(frozen=True, order=True)
class Timing:
    """The median of a page's wall time, and the mean of its processor time."""

    p50_ms: float
    cpu_ms: float
    where: str


def bench_pages(product: Product) -> Iterator[tuple[str, ...]]:
    """Yield a row for every kind of page, beside an empty page of the same server."""
    with closing(Pages(product)) as pages:
        limit = pages.timing(EMPTY_PAGE)
        for kind, addresses in addresses_of(pages, campaigns_of(product)):
            worst = max(map(pages.timing, addresses))
            yield _row(f"{kind}, worst of {len(addresses)}", worst, limit)


def _row(what: str, it: Timing, limit: Timing) -> tuple[str, ...]:
    speed = f"{it.p50_ms:.1f} ms, CPU {it.cpu_ms:.1f} ms"
    said = f"empty {limit.p50_ms:.1f} ms, CPU {limit.cpu_ms:.1f} ms"
    share = f"{it.p50_ms / WANTED_MS:.2f} of {WANTED_MS} ms"
    return what, speed, said, f"{it.p50_ms / limit.p50_ms:.1f} x, {share}"


def campaigns_of(product: Product) -> list[str]:
    """Return each campaign of a product as lab/slug."""
    found = product.client().get("campaigns/")["results"]
    return [f"{each['lab']}/{each['slug']}" for each in found]


def addresses_of(pages: "Pages", slugs: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each kind of page with its addresses in the campaigns."""
    cells = {slug: pages.first(f"/campaigns/{slug}/compare/", CELL) for slug in slugs}
    run = pages.first(f"/campaigns/{slugs[0]}/runs/", RUN)
    for kind, address in LONE.items():
        yield kind, [address.format(run=run)]
    for kind, address in KINDS.items():
        yield (
            kind,
            [f"/campaigns/{it}/{address.format(cell=cells[it])}" for it in slugs],
        )


class Pages:
    """Reads pages over one connection, as a browser does, and times them."""

    def __init__(self, product: Product) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", product.port)
        self.processes = [*product.named("gunicorn"), *product.named("postgres")]

    def close(self) -> None:
        self.connection.close()

    def first(self, address: str, pattern: str) -> str:
        """Return what a pattern finds first on a page; raise LookupError without."""
        found = re.search(pattern, self.read(address, "identity"), re.DOTALL)
        if not found:
            raise LookupError(f"{address} holds nothing like {pattern}")
        return found[1]

    def timing(self, address: str) -> Timing:
        """Time a page that was read before, so that nothing is done a first time."""
        for _ in range(4):
            self.read(address)
        before, taken = self._cpu_s(), []
        for _ in range(VIEWS):
            begun = time.perf_counter()
            self.read(address)
            taken.append((time.perf_counter() - begun) * 1000)
        cpu_ms = (self._cpu_s() - before) * 1000 / VIEWS
        return Timing(statistics.median(taken), cpu_ms, address)

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
