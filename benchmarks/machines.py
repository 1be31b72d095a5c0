"""What a machine's facts say about its limits. PURE.

Agents send numbers under the names below; published studies send sentences, of which
only what cannot be misread is understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

LINE_RATE: Final = "network_bit_per_s"
DISK_BUS: Final = "disk_bus_byte_per_s"

# Names of media as people write them, fastest first, and what they carry.
_RATES_BIT_PER_S: Final = (
    (re.compile(r"\b100\s*G(?:igabit|bE|bit|E)", re.IGNORECASE), 100e9),
    (re.compile(r"\b40\s*G(?:igabit|bE|bit|E)", re.IGNORECASE), 40e9),
    (re.compile(r"\b25\s*G(?:igabit|bE|bit|E)", re.IGNORECASE), 25e9),
    (re.compile(r"\b10\s*G(?:igabit|bE|bit|E)", re.IGNORECASE), 10e9),
    (re.compile(r"\b2\.5\s*G(?:igabit|bE|bit|E)", re.IGNORECASE), 2.5e9),
    (re.compile(r"\bGigabit|\b1\s*G(?:bE|bit|E)", re.IGNORECASE), 1e9),
    (re.compile(r"\bFast Ethernet|\b100\s*Mbit", re.IGNORECASE), 100e6),
)
# Payload of the bus after 8b/10b or 128b/130b coding; SATA: serial ATA specification.
_BUSES_BYTE_PER_S: Final = (
    (re.compile(r"\bSATA\s*(?:III|3|6\s*Gb)", re.IGNORECASE), 600e6),
    (re.compile(r"\bSATA\s*(?:II|2|3\s*Gb)", re.IGNORECASE), 300e6),
)


def line_rate_bit_per_s(facts: Mapping[str, Any]) -> float | None:
    """Return what the machine's network carries, or None if it is not known."""
    return _limit(facts, LINE_RATE, "network", _RATES_BIT_PER_S)


def disk_bus_byte_per_s(facts: Mapping[str, Any]) -> float | None:
    """Return what the bus of the machine's disk carries, or None if not known."""
    return _limit(facts, DISK_BUS, "disk", _BUSES_BYTE_PER_S)


def cores(facts: Mapping[str, Any]) -> int | None:
    """Return the number of physical cores, or None if it is not known."""
    stated = facts.get("cores")
    is_count = isinstance(stated, int) and not isinstance(stated, bool) and stated > 0
    return stated if is_count else None


def _limit(
    facts: Mapping[str, Any],
    exact: str,
    described: str,
    media: tuple[tuple[re.Pattern[str], float], ...],
) -> float | None:
    number = facts.get(exact)
    if isinstance(number, int | float) and not isinstance(number, bool) and number > 0:
        return float(number)
    text = facts.get(described)
    if not isinstance(text, str):
        return None
    return next((rate for name, rate in media if name.search(text)), None)
