"""A study as wide and long as the compare page must stay fluent with."""

import time
import uuid
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from agents.client import Client

STUDY: Final = "bench-wide"
HOST: Final = "bench-wide-host"
RUNS: Final = 3
GUESTS: Final = tuple(product(("Debian 12", "Windows 2022"), (32, 64)))
PLATFORMS: Final[tuple[dict[str, Any], ...]] = (
    {"hypervisor": "native"},
    *(
        {"hypervisor": name, "virtualization": kind, "options": {"hw_virt": state}}
        for name, kinds in (("Xen", ("PV", "HVM")), ("KVM", ("full", "virtio")))
        for kind in kinds
        for state in ("on", "off")
    ),
    {"hypervisor": "ESXi", "virtualization": "full"},
)
OPERATIONS: Final = ("read", "write", "copy", "triad")
SIZES: Final = tuple(f"{size} KiB" for size in range(4, 204, 4))


def upload(client: Client) -> None:
    """Fill the study: 40 systems, each in 200 cases, native partners among them."""
    client.create_study(
        {
            "slug": STUDY,
            "title": "40 systems, 200 cases",
            "visibility": "public",
        }
    )
    client.register_host({"slug": HOST})
    for _ in client.upload(_runs()):
        pass
    while client.get("health/")["outbox"]["waiting"]:
        time.sleep(0.1)


def _runs() -> Iterator[dict[str, Any]]:
    for run, (at, (platform, (system, bits))) in product(
        range(RUNS), enumerate(product(PLATFORMS, GUESTS))
    ):
        yield {
            "key": str(uuid.uuid4()),
            "study": STUDY,
            "system": {
                "host": HOST,
                "guest_os": system,
                "guest_bits": bits,
                **platform,
            },
            "tool": "ramspeed",
            "samples": list(_samples(at, run)),
        }


def _samples(at: int, run: int) -> Iterator[dict[str, Any]]:
    for case, (operation, size) in enumerate(product(OPERATIONS, SIZES)):
        yield {
            "metric": "bandwidth",
            "parameters": {"operation": operation, "block_size": size},
            "value": 3000.0 + case - 20 * at + (7 * run + 3 * case + at) % 11 / 2,
            "unit": "MB/s",
        }
