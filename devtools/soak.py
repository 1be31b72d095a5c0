"""`make soak`: measure the memory of process groups in half an hour of limited load.

After the first minutes no group may grow. Shared memory is counted once (PSS).
PostgreSQL's shared buffers are printed, but not limited. See docs/reliability.md.
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

from devtools import temporary_product
from devtools.load_generation import process_group_of
from devtools.temporary_product import (
    document,
    running_product,
    send_request,
    temporary_folder,
    upload,
)
from running.product_launcher import Product, wait_until_processed

STUDY: Final = "soak"
CELLS: Final = 40
UPLOADS_PER_S, PAGES_PER_S = 4.0, 6.0
STEPS: Final = 30
SETTLED_SHARE: Final = 5 / 30
"""The first share of the time, in which the product may grow."""
# Later growth that is tolerated: in MiB, and relative to the group.
NOISE_MIB: Final = 24.0
NOISE_SHARE: Final = 0.05
SHARED: Final = "shared buffers"
LEAK: Final = """
import time
blocks = []
while True:
    blocks.append(bytearray(b"x") * 2_000_000)
    time.sleep(0.1)
"""


@dataclass(frozen=True)
class MemoryGrowth:
    """Memory of a process group in MiB, after the first minutes and at the end."""

    group: str
    settled: float
    at_end: float

    @property
    def has_grown(self) -> bool:
        return self.at_end > self.settled * (1 + NOISE_SHARE) + NOISE_MIB


def memory_growth(readings: Sequence[Mapping[str, float]]) -> list[MemoryGrowth]:
    """Return each group's growth after the first minutes, from equidistant readings.

    The first and the last fifth of the readings are averaged, because a single reading
    may be made while a page is computed.
    """
    settled = readings[round(len(readings) * SETTLED_SHARE) :]
    count = max(1, len(settled) // 5)
    groups = sorted(set().union(*settled) - {SHARED})
    return [
        MemoryGrowth(
            group,
            mean(reading.get(group, 0.0) for reading in settled[:count]),
            mean(reading.get(group, 0.0) for reading in settled[-count:]),
        )
        for group in groups
    ]


def memory_by_group(processes: Iterable[psutil.Process]) -> dict[str, float]:
    """Return the memory of each process group in MiB."""
    groups: dict[str, float] = defaultdict(float)
    for process in processes:
        try:
            memory, group = process.memory_full_info(), process_group_of(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if group == "postgres":
            # Private memory, and apart from it a share of common memory.
            groups[SHARED] += (memory.pss - memory.uss) / 2**20
            groups[group] += memory.uss / 2**20
        else:
            groups[group] += memory.pss / 2**20
    return dict(groups)


def _load(
    product: Product, pages: Sequence[str], seed: int, end: float
) -> Counter[int]:
    """Start to upload and read steadily until ``end``.

    Return the counts of response statuses, which grow until then.
    """
    statuses: Counter[int] = Counter()

    def send() -> None:
        rng = random.Random(f"{seed} upload")
        for number in itertools.count():
            if time.monotonic() > end:
                return
            options = {"options": {"swap": str(number % CELLS)}}
            value = rng.uniform(50, 60)
            run = document(STUDY, "soaked", value, system=options)
            statuses[upload(product, run)] += 1
            time.sleep(1 / UPLOADS_PER_S)

    def read() -> None:
        rng = random.Random(f"{seed} read")
        while time.monotonic() < end:
            statuses[send_request(product.port, rng.choice(pages)).status] += 1
            time.sleep(1 / PAGES_PER_S)

    threads = [threading.Thread(target=task, daemon=True) for task in (send, read)]
    for thread in threads:
        thread.start()
    return statuses


def soak(
    product: Product,
    seed: int,
    minutes: float,
    extra: Sequence[psutil.Process] = (),
) -> tuple[list[MemoryGrowth], int]:
    """Put load on a product; return the growth of memory and the number of errors."""
    client = product.client()
    slug = temporary_product.upload_reference(product, most=200)
    client.create_study({"slug": STUDY, "title": "Soak", "visibility": "public"})
    client.register_host({"slug": "soaked", "facts": {"cores": 2}})
    pages = ["/", "/labs/", "/evidence/", "/compare/", f"/api/v1/cells/?study={slug}"]
    for study in (slug, STUDY):
        home = f"/studies/first-lab/{study}/"
        pages += [home, f"{home}compare/", f"{home}runs/", f"{home}flags/"]
    started = time.monotonic()
    end = started + 60 * minutes
    statuses = _load(product, pages, seed, end)
    readings = []
    for step in range(1, STEPS + 1):
        time.sleep(max(0.0, started + step * 60 * minutes / STEPS - time.monotonic()))
        readings.append(memory_by_group([*product.descendants(), *extra]))
        minute = (time.monotonic() - started) / 60
        groups = sorted(readings[-1].items())
        text = ", ".join(f"{name} {mib:.0f}" for name, mib in groups)
        total = sum(readings[-1].values())
        print(f"minute {minute:4.1f}: {total:5.0f} MiB: {text}", flush=True)
    wait_until_processed(client)
    wrong = sum(n for status, n in statuses.items() if status not in {200, 202})
    print(f"soak: seed {seed}, {minutes:g} min, {statuses.total()} requests, ", end="")
    print(
        f"{wrong} without a response or with a status other than 200 and 202",
        flush=True,
    )
    return memory_growth(readings), wrong


def main() -> int:
    options = temporary_product.arguments(
        __doc__, "add a process that grows", seed=1, minutes=30.0
    )
    with temporary_folder("soak") as folder, running_product(folder / "var") as product:
        extra = []
        if options.control:
            extra.append(psutil.Popen([sys.executable, "-c", LEAK]))
        try:
            groups, wrong = soak(product, options.seed, options.minutes, extra)
        finally:
            for leak in extra:
                leak.kill()
    for group in groups:
        word = "GROWS" if group.has_grown else "stable"
        print(f"{group.group} {word}: {group.settled:.0f} MiB, then {group.at_end:.0f}")
    grown = [group for group in groups if group.has_grown]
    return temporary_product.exit_code_for(
        is_good=not grown and not wrong, control=options.control, is_found=bool(grown)
    )


if __name__ == "__main__":
    sys.exit(main())
