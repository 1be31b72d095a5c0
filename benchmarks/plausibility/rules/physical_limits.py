"""Rule that compares throughputs with the rate of the network link or disk bus."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks import units
from benchmarks.analysis.baselines import ON_HOST_SCENARIOS
from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import CellFact, StudyFacts
from benchmarks.sentences import Sentence, pluralized

LOOPBACK: Final = re.compile(r"localhost|127\.[\d.]+|::1|loopback|lo")


@rule("beyond-the-medium", "Faster than the network link or disk bus", "impossible")
def beyond_the_medium(study: StudyFacts) -> Iterator[Finding]:
    """Flags a network throughput above the line rate of the host's network card, or a
    disk throughput above the rate of its disk bus. Both rates are facts of the host.
    Paths between guests of one host and loopback paths are excluded because they do not
    use the card. Benchmarks that use both directions at once may reach twice the rate.
    A tenth of a percent is allowed for rounding.

    Why: no software can exceed the rate of the medium. A higher value came from a
    cache, was counted in another unit, or was timed by a slow clock. The limit is the
    full line rate. TCP in frames of 1500 B reaches at most 94.9% of it, so the rule
    does not find a TCP result that is only 5% too high.

    Remedy: check unit and clock. For disks, make the test file larger than all caches.
    Correct the host's facts if they are wrong.
    """
    beyond: dict[object, list[tuple[CellFact, float]]] = defaultdict(list)
    for cell in study.cells:
        limit = _limit(cell)
        if limit is not None and cell.mean > 1.001 * limit:
            beyond[(*cell.column_key, *cell.sibling_key)].append((cell, limit))
    for members in beyond.values():
        cell, limit = max(members, key=lambda member: member[0].mean)
        is_line = cell.component == "network"
        yield cell_finding(
            pluralized(
                "{name} is {mean:g} {unit}, but the {medium} of host {host} "
                "carries at most {limit:g} {unit}.",
                "{name} is {mean:g} {unit} (the highest of {n} such benchmarks), but "
                "the {medium} of host {host} carries at most {limit:g} {unit}.",
                name=cell.description,
                mean=cell.mean,
                unit=cell.unit,
                medium=Sentence("network link") if is_line else Sentence("disk bus"),
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
    """Return the highest rate of the medium in the cell's unit; None if unknown or
    unused.
    """
    unit = units.find_unit(cell.unit)
    if unit is None or unit.dimension != "data rate" or cell.better != "higher":
        return None
    parameters = cell.parameters
    directions = (
        2 if parameters.get("direction", "") in {"both", "bidirectional"} else 1
    )
    if cell.component == "disk" and cell.disk_bus_byte_per_s is not None:
        return units.convert(directions * cell.disk_bus_byte_per_s, "B/s", cell.unit)
    if cell.component != "network" or cell.line_rate_bit_per_s is None:
        return None
    peer = parameters.get("to") or parameters.get("peer") or ""
    is_inside = (
        cell.scenario in ON_HOST_SCENARIOS
        or bool(parameters.get("from") and parameters["from"] == parameters.get("to"))
        or bool(
            parameters.get("from_host")
            and parameters["from_host"] == parameters.get("to_host")
        )
        or LOOPBACK.fullmatch(peer)
    )
    rate = directions * cell.line_rate_bit_per_s
    return None if is_inside else units.convert(rate, "bit/s", cell.unit)
