"""`make soak`: half an hour of bounded load, and the memory of each process group.

After the first minutes no group may grow (PSS: shared memory is counted once).
PostgreSQL's shared buffers are printed without a limit. ``--control`` adds a process
that grows, which must be found.
"""

import itertools
import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

import psutil

from devtools import product as own
from devtools.product import (
    ask,
    document,
    own_folder,
    part_of,
    running_product,
    upload,
)
from running.product import Product, wait_until_processed

STUDY: Final = "soak"
CELLS: Final = 40
UPLOADS_PER_S, PAGES_PER_S = 4.0, 6.0
STEPS: Final = 30
SETTLED: Final = 5 / 30
"""Which share of the time the product may still grow in."""
# What a figure of one moment differs by from the next, and what all may grow by.
NOISE_MIB: Final = 24.0
NOISE_SHARE: Final = 0.05
SHARED: Final = "shared buffers"
LEAK: Final = """
import time
kept = []
while True:
    kept.append(bytearray(b"x") * 2_000_000)
    time.sleep(0.1)
"""


@dataclass(frozen=True)
class Growth:
    """The memory of a group of processes, settled and at the end, in MiB."""

    group: str
    settled: float
    at_end: float

    @property
    def is_more(self) -> bool:
        return self.at_end > self.settled * (1 + NOISE_SHARE) + NOISE_MIB


def growth(held: Sequence[Mapping[str, float]]) -> list[Growth]:
    """Return how each group grew after the first minutes, of figures at equal steps.

    A fifth of the rest is the beginning, and a fifth the end: one figure may catch a
    page that is being made.
    """
    rest = held[round(len(held) * SETTLED) :]
    few = max(1, len(rest) // 5)
    groups = sorted(set().union(*rest) - {SHARED})
    return [
        Growth(
            group,
            mean(each.get(group, 0.0) for each in rest[:few]),
            mean(each.get(group, 0.0) for each in rest[-few:]),
        )
        for group in groups
    ]


def held_mib(processes: Iterable[psutil.Process]) -> dict[str, float]:
    """Return what each group of a product's processes holds now."""
    held: dict[str, float] = defaultdict(float)
    for process in processes:
        try:
            memory, group = process.memory_full_info(), part_of(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if group == "postgres":
            # What is its own, and its share of what all its processes have in common.
            held[SHARED] += (memory.pss - memory.uss) / 2**20
            held[group] += memory.uss / 2**20
        else:
            held[group] += memory.pss / 2**20
    return dict(held)


def _load(
    running: Product, pages: Sequence[str], seed: int, end: float
) -> Counter[int]:
    """Upload and read at a steady rate until the end; return the statuses."""
    statuses: Counter[int] = Counter()

    def send() -> None:
        chance = random.Random(f"{seed} upload")
        for number in itertools.count():
            if time.monotonic() > end:
                return
            options = {"options": {"swap": str(number % CELLS)}}
            value = chance.uniform(50, 60)
            run = document(STUDY, "soaked", value, system=options)
            statuses[upload(running, run)] += 1
            time.sleep(1 / UPLOADS_PER_S)

    def read() -> None:
        chance = random.Random(f"{seed} read")
        while time.monotonic() < end:
            statuses[ask(running.port, chance.choice(pages)).status] += 1
            time.sleep(1 / PAGES_PER_S)

    threads = [threading.Thread(target=each, daemon=True) for each in (send, read)]
    for thread in threads:
        thread.start()
    return statuses


def soak(
    running: Product,
    seed: int,
    minutes: float,
    beside: Sequence[psutil.Process] = (),
) -> tuple[list[Growth], int]:
    """Load a product for so long; return how its groups grew, and those ``beside`` it,
    and how many answers were wrong."""
    client = running.client()
    slug = own.upload_reference(running, most=200)
    client.create_study({"slug": STUDY, "title": "Soak", "visibility": "public"})
    client.register_host({"slug": "soaked", "facts": {"cores": 2}})
    pages = ["/", "/labs/", "/evidence/", "/compare/", f"/api/v1/cells/?study={slug}"]
    for study in (slug, STUDY):
        address = f"/studies/first-lab/{study}/"
        pages += [address, f"{address}compare/", f"{address}runs/", f"{address}flags/"]
    begun = time.monotonic()
    end = begun + 60 * minutes
    statuses = _load(running, pages, seed, end)
    held = []
    for step in range(1, STEPS + 1):
        time.sleep(max(0.0, begun + step * 60 * minutes / STEPS - time.monotonic()))
        held.append(held_mib([*running.descendants(), *beside]))
        minute = (time.monotonic() - begun) / 60
        told = ", ".join(f"{name} {mib:.0f}" for name, mib in sorted(held[-1].items()))
        whole = sum(held[-1].values())
        print(f"minute {minute:4.1f}: {whole:5.0f} MiB: {told}", flush=True)
    wait_until_processed(client)
    wrong = sum(n for status, n in statuses.items() if status not in {200, 202})
    print(f"soak: seed {seed}, {minutes:g} min, {statuses.total()} requests, ", end="")
    print(f"{wrong} without an answer or with another than 200 and 202", flush=True)
    return growth(held), wrong


def main() -> int:
    given = own.arguments(__doc__, "a process that grows", seed=1, minutes=30.0)
    with own_folder("soak") as folder, running_product(folder / "var") as running:
        beside = []
        if given.control:
            beside.append(psutil.Popen([sys.executable, "-c", LEAK]))
        try:
            grown, wrong = soak(running, given.seed, given.minutes, beside)
        finally:
            for leak in beside:
                leak.kill()
    for each in grown:
        word = "GROWS" if each.is_more else "stays"
        print(f"{each.group} {word}: {each.settled:.0f} MiB, then {each.at_end:.0f}")
    found = [each for each in grown if each.is_more]
    return own.verdict(
        is_good=not found and not wrong, control=given.control, is_found=bool(found)
    )


if __name__ == "__main__":
    sys.exit(main())
