"""Values beyond what the medium can carry."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks import units
from benchmarks.analysis.baselines import INSIDE
from benchmarks.plausibility.facts import CellFact, StudyFacts
from benchmarks.plausibility.findings import Doubt, about_cells, rule
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
        cell, limit = max(members, key=lambda member: member[0].mean)
        is_line = cell.component == "network"
        yield about_cells(
            counted(
                "{name} reads {mean:g} {unit}; the {medium} of host {host} carries at "
                "most {limit:g} {unit}.",
                "{name} reads {mean:g} {unit} ({n} benchmarks); the {medium} of host "
                "{host} "
                "carries at most {limit:g} {unit}.",
                name=cell.name,
                mean=cell.mean,
                unit=cell.unit,
                medium=Sentence("line") if is_line else Sentence("disk bus"),
                host=cell.host,
                limit=limit,
                n=len(members),
            ),
            [cell for cell, _ in members],
            values=[cell.mean for cell, _ in members],
            limit=limit,
            unit=cell.unit,
        )


def _limit(cell: CellFact) -> float | None:
    """The medium's rate in the unit of the cell; None if it has none or none counts."""
    unit = units.find(cell.unit)
    if unit is None or unit.dimension != "data rate" or cell.better != "higher":
        return None
    named = cell.parameters
    both = 2 if named.get("direction", "") in {"both", "bidirectional"} else 1
    if cell.component == "disk" and cell.disk_bus_byte_per_s is not None:
        return units.convert(both * cell.disk_bus_byte_per_s, "B/s", cell.unit)
    if cell.component != "network" or cell.line_rate_bit_per_s is None:
        return None
    peer = named.get("to") or named.get("peer") or ""
    is_inside = (
        cell.scenario in INSIDE
        or bool(named.get("from") and named["from"] == named.get("to"))
        or bool(named.get("from_host") and named["from_host"] == named.get("to_host"))
        or LOOPBACK.fullmatch(peer)
    )
    rate = both * cell.line_rate_bit_per_s
    return None if is_inside else units.convert(rate, "bit/s", cell.unit)
