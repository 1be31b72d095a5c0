"""Values beyond what the medium can carry."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks import units
from benchmarks.analysis.paths import INSIDE
from benchmarks.plausibility.facts import CellFact, StudyFacts
from benchmarks.plausibility.registry import Doubt, about_cells, rule
from benchmarks.sentences import Sentence, counted

LOOPBACK: Final = re.compile(r"localhost|127\.[\d.]+|::1|loopback|lo")


@rule("beyond-the-medium", "Faster than the cable or the disk bus", "impossible")
def beyond_the_medium(study: StudyFacts) -> Iterator[Doubt]:
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
