"""In which order a comparison shows things. PURE."""

import re
from collections.abc import Sequence

COMPONENTS = ("CPU", "memory", "disk", "network", "power", "application")
SCENARIOS = (
    "single",
    "parallel",
    "under CPU load",
    "disk and network combined",
    "inter-vm",
    "same-host",
    "inter-host",
    "combined",
)
OPTIONS = ("hw_virt", "guest_tools", "storage", "swap", "scheduler", "tuned")


def rank(order: Sequence[str], name: str) -> tuple[int, str]:
    """Sort key: the known names in their order, then the others by name."""
    return (order.index(name) if name in order else len(order), name)


def natural(text: str) -> list[tuple[bool, int, str]]:
    """Sort key of a text in which 4000 comes after 500."""
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return [
        (False, int(part), "")
        if part[0] in "0123456789"
        else (True, 0, part.casefold())
        for part in parts
    ]
