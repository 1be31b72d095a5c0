"""Numbers in the facts of a host or a run. PURE."""

import re
from collections.abc import Mapping
from typing import Final

LINK_SPEED: Final = re.compile(
    r"(\d+(?:\.\d+)?) ?(gbe|gbit|gb/s|gigabit|mbit|mb/s)|"
    r"(gigabit|fast) ?ethernet|\bgbe\b",
    re.IGNORECASE,
)
# The first match counts, so generations precede the plain name. iSCSI comes first,
# because its network is the limit.
DISK_BUS_RATES: Final[tuple[tuple[str, float], ...]] = (
    (r"iscsi.*gigabit|gigabit.*iscsi", 125e6),
    (r"sata ?(iii|6)", 600e6),
    (r"sata ?(ii\b|3)", 300e6),
    (r"\bsata\b", 600e6),
    (r"\bp?ata\b|\bide\b|ultra ?dma", 133e6),
    (r"\bsas\b", 2400e6),
)
"""Rates in bytes per second after line coding.

A bus of unknown generation has the fastest rate: a limit must not be too low.
"""


def steal_share(facts: Mapping[str, object]) -> float | None:
    """Return the share of a run's CPU time that the host gave to others."""
    execution = facts.get("execution")
    share = execution.get("steal share") if isinstance(execution, Mapping) else None
    if isinstance(share, bool) or not isinstance(share, int | float):
        return None
    return float(share) if 0 <= share <= 1 else None


def core_count(facts: Mapping[str, object]) -> int | None:
    stated = facts.get("cores")
    if isinstance(stated, bool) or not isinstance(stated, int):
        return None
    return stated if stated > 0 else None


def line_rate_bit_per_s(facts: Mapping[str, object]) -> float | None:
    """Return the stated network rate in bit/s, else the fastest in facts, or None."""
    stated = facts.get("line_rate_bit_per_s")
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return float(stated)
    texts = [
        str(v) for k, v in facts.items() if "net" in k.lower() or "nic" in k.lower()
    ]
    rates: list[float] = []
    for speed in (match for text in texts for match in LINK_SPEED.finditer(text)):
        if speed[1]:
            is_mega = speed[2].lower().startswith("mb")
            rates.append(float(speed[1]) * (1e6 if is_mega else 1e9))
        else:
            rates.append(1e8 if (speed[3] or "").lower() == "fast" else 1e9)
    return max(rates, default=None)


def disk_bus_byte_per_s(facts: Mapping[str, object]) -> float | None:
    """Prefer the stated rate to that of a named bus; None without either."""
    stated = facts.get("disk_bus_byte_per_s")
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return float(stated)
    text = " ".join(str(v) for k, v in facts.items() if "disk" in k.lower()).lower()
    rates = [rate for pattern, rate in DISK_BUS_RATES if re.search(pattern, text)]
    return rates[0] if rates else None
