"""Values beyond what the medium can carry."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks import units
from benchmarks.analysis.plausibility.facts import CellFact, Study
from benchmarks.analysis.plausibility.registry import Doubt, about_cells, rule
from benchmarks.sentences import Sentence, counted

INSIDE: Final = frozenset({"inter-vm", "same-host"})
"""Their data never leaves the host: memory is the medium, not the wire."""
LOOPBACK: Final = re.compile(r"localhost|127\.[\d.]+|::1|loopback|lo")


@rule("beyond-the-medium", "Faster than the cable or the disk bus", "error")
def beyond_the_medium(study: Study) -> Iterator[Doubt]:
    """A network throughput above the line rate of the host's card, or a disk
    throughput above the rate of its bus. Paths between guests of one host and on the
    loopback do not pass the card and are left out; both directions together may reach
    twice the rate. A tenth of a percent is allowed for rounding.

    Why: the wire sets the limit, whatever the software does. What is faster never went
    over it: it came out of a cache, was counted in another unit, or timed by a clock
    that ran slow. An Ethernet frame of 1500 B leaves at most 94.9 % to TCP.

    What to do: check unit and clock; for disks make the test file larger than all
    caches, or correct the host's facts.
    """
    beyond: dict[object, list[tuple[CellFact, float]]] = defaultdict(list)
    for cell in study.cells:
        limit = _limit(cell)
        if limit is not None and cell.mean > 1.001 * limit:
            beyond[(*cell.column, *cell.kind)].append((cell, limit))
    for members in beyond.values():
        cell, limit = max(members, key=lambda each: each[0].mean)
        is_line = cell.component == "network"
        yield about_cells(
            counted(
                "{name} reads {mean:g} {unit}; the {medium} of host {host} carries at "
                "most {limit:g} {unit}.",
                "{name} reads {mean:g} {unit} ({n} cases); the {medium} of host {host} "
                "carries at most {limit:g} {unit}.",
                name=cell.name,
                mean=cell.mean,
                unit=cell.unit,
                medium=Sentence("line") if is_line else Sentence("disk bus"),
                host=cell.host,
                limit=limit,
                n=len(members),
            ),
            [each for each, _ in members],
            values=[each.mean for each, _ in members],
            limit=limit,
            unit=cell.unit,
        )


def _limit(cell: CellFact) -> float | None:
    """The medium's rate in the unit of the cell; None if it has none or none counts."""
    unit = units.find(cell.unit)
    if unit is None or unit.dimension != "data rate" or cell.better != "higher":
        return None
    if cell.component == "network":
        rate = cell.line_rate_bit_per_s
        return None if rate is None or _is_inside(cell) else _in(cell, rate, "bit/s")
    if cell.component == "disk" and cell.disk_bus_byte_per_s is not None:
        return _in(cell, cell.disk_bus_byte_per_s, "B/s")
    return None


def _in(cell: CellFact, rate: float, unit: str) -> float:
    both = cell.parameters.get("direction", "") in {"both", "bidirectional"}
    return units.convert(rate * (2 if both else 1), unit, cell.unit)


def _is_inside(cell: CellFact) -> bool:
    named = cell.parameters
    ends = [(named.get("from"), named.get("to"))]
    ends.append((named.get("from_host"), named.get("to_host")))
    if any(one and one == other for one, other in ends):
        return True
    peer = named.get("to") or named.get("peer") or ""
    return cell.scenario in INSIDE or bool(LOOPBACK.fullmatch(peer))


SPEEDS: Final = re.compile(
    r"(\d+(?:\.\d+)?) ?(gbe|gbit|gb/s|gigabit|mbit|mb/s)|"
    r"(gigabit|fast) ?ethernet|\bgbe\b",
    re.IGNORECASE,
)
BUSES: Final[tuple[tuple[str, float], ...]] = (
    (r"iscsi.*gigabit|gigabit.*iscsi", 125e6),
    (r"sata ?(iii|6)", 600e6),
    (r"sata ?(ii\b|3)", 300e6),
    (r"\bsata\b", 600e6),
    (r"\bp?ata\b|\bide\b|ultra ?dma", 133e6),
    (r"\bsas\b", 2400e6),
)
"""What a bus carries in bytes per second after its coding; a bus whose generation is
not stated has the fastest one's rate, for a limit must not be too low."""


def cores(facts: Mapping[str, object]) -> int | None:
    """The number of physical cores a host's facts state; None if they do not."""
    stated = facts.get("cores")
    is_count = isinstance(stated, int) and not isinstance(stated, bool) and stated > 0
    return int(stated) if is_count else None  # type: ignore[call-overload]


def line_rate_bit_per_s(facts: Mapping[str, object]) -> float | None:
    """The card's rate from a host's facts: a number under a key that says so, or the
    fastest that the texts under ``network`` or ``nic`` name."""
    stated = facts.get("line_rate_bit_per_s")
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return float(stated)
    texts = [
        str(v) for k, v in facts.items() if "net" in k.lower() or "nic" in k.lower()
    ]
    return max(
        (_speed(found) for t in texts for found in SPEEDS.finditer(t)), default=None
    )


def _speed(found: re.Match[str]) -> float:
    if found[1]:
        return float(found[1]) * (1e6 if found[2].lower().startswith("mb") else 1e9)
    return 1e8 if (found[3] or "").lower() == "fast" else 1e9


def disk_bus_byte_per_s(facts: Mapping[str, object]) -> float | None:
    """The disk's bus from a host's facts: a number, or what ``disk`` names."""
    stated = facts.get("disk_bus_byte_per_s")
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return float(stated)
    text = " ".join(str(v) for k, v in facts.items() if "disk" in k.lower()).lower()
    rates = [rate for pattern, rate in BUSES if re.search(pattern, text)]
    return rates[0] if rates else None
