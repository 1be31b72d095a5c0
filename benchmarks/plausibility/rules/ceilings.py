"""Rules about benchmarks that measure something else than the systems."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks import units
from benchmarks.analysis.baselines import ON_HOST_SCENARIOS
from benchmarks.errors import InvalidError
from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import CellFact, StudyFacts
from benchmarks.sentences import Sentence, pluralized

PAYLOAD: Final = (0.93, 0.9975)
"""Shares of the line rate that TCP and UDP reach, with frames of 1500 to 9000 B."""
USUAL_RATES: Final = (1e8, 1e9, 2.5e9, 10e9, 25e9, 40e9, 100e9)
USUAL_PAYLOAD: Final = (0.935, 0.9495)
MAX_SPREAD: Final = 0.01
MIN_SYSTEMS: Final = 2
MIN_UNSTATED_SYSTEMS: Final = 3

MESSAGE_SIZES: Final = frozenset(
    {"message", "message_size", "message_bytes", "send_size", "block", "block_size"}
    | {"size", "length", "buffer", "buffer_length", "packet_size", "request_size"}
)
COMMAND_LINES: Final = ("args", "command")
MIN_SIZES: Final = 5
MIN_SPAN: Final = 32.0
MAX_EFFECT: Final = 0.25


@rule("at-the-ceiling", "Limited by the network link", "check", family="limits")
def at_the_ceiling(study: StudyFacts) -> Iterator[Finding]:
    """Flags a network throughput at which the native machine and at least one guest of
    a host reach the link: both are above 93% of its rate, and within 1% of each other.
    If the rate is not stated, at least three systems must have the rate of TCP over a
    usual link (94.1 or 94.9 Mbit/s, 941 Mbit/s, 9.41 Gbit/s). Paths inside a host are
    excluded.

    Why: the link limits all of them, so they look equal, whatever the hypervisor
    costs. The cost is in the CPU time of the transfer.

    Remedy: compare the CPU utilization or the service demand, or use a faster link,
    more connections or small packets.
    """
    cases: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if _uses_link(cell) and (cell.scenario == "single" or cell.is_native):
            cases[cell.host, cell.case, *cell.circumstances].append(cell)
    groups: dict[object, list[list[CellFact]]] = defaultdict(list)
    for cells in cases.values():
        if limited := _limited(cells):
            groups[limited[0].host, limited[0].sibling_key].append(limited)
    for found in groups.values():
        cells = [cell for limited in found for cell in limited]
        first = found[0][0]
        yield cell_finding(
            pluralized(
                "{case}: {systems} systems of host {host} reach {mean:.4g} {unit}, "
                "which is the rate of the link. The benchmark cannot show what the "
                "hypervisor costs.",
                "{n} benchmarks reach the rate of the link, for example {case}: "
                "{systems} systems of host {host} with {mean:.4g} {unit}. They cannot "
                "show what the hypervisor costs.",
                case=first.case_name,
                systems=len(found[0]),
                host=first.host,
                mean=first.mean,
                unit=first.unit,
                n=len(found),
            ),
            cells,
            values=[cell.mean for cell in cells],
        )


def _uses_link(cell: CellFact) -> bool:
    unit = units.find_unit(cell.unit)
    ends = (cell.parameters.get("from_host"), cell.parameters.get("to_host"))
    return (
        cell.component == "network"
        and cell.better == "higher"
        and unit is not None
        and unit.dimension == "data rate"
        and cell.scenario not in ON_HOST_SCENARIOS
        and not (ends[0] and ends[0] == ends[1])
        and not cell.is_extreme
        and cell.mean > 0
    )


def _limited(cells: list[CellFact]) -> list[CellFact]:
    """Return the cells at the rate of the link if a native one is among them."""
    for rate, (low, high), least in _possible_links(cells[0]):
        limited = [cell for cell in cells if low * rate <= _bits(cell) <= high * rate]
        means = [cell.mean for cell in limited]
        if (
            len(limited) >= least
            and any(cell.is_native for cell in limited)
            and not all(cell.is_native for cell in limited)
            and max(means) <= (1 + MAX_SPREAD) * min(means)
        ):
            return limited
    return []


def _possible_links(
    cell: CellFact,
) -> Iterator[tuple[float, tuple[float, float], int]]:
    if cell.line_rate_bit_per_s is not None:
        yield cell.line_rate_bit_per_s, PAYLOAD, MIN_SYSTEMS
        return
    for rate in USUAL_RATES:
        yield rate, USUAL_PAYLOAD, MIN_UNSTATED_SYSTEMS


def _bits(cell: CellFact) -> float:
    try:
        return units.convert(cell.mean, cell.unit, "bit/s")
    except InvalidError:  # beyond the range of floats
        return math.inf


@rule(
    "parameter-without-effect", "Parameter without an effect", "check", family="limits"
)
def parameter_without_effect(study: StudyFacts) -> Iterator[Finding]:
    """Flags a network throughput that does not depend on the size of the messages: at
    least five sizes over a factor of 32, on at least two systems, with less than 25%
    between the highest and the lowest result of each system and no tendency with the
    size. Results at the rate of a link are excluded.

    Why: larger messages cost less per byte, so their throughput is higher. If it is
    not, the option probably had another meaning (`netperf -a` sets an alignment, `-m`
    the size), and the sizes are one benchmark repeated.

    Remedy: check the options of the command. Count the results as repetitions.
    """
    groups: dict[object, dict[object, dict[float, CellFact]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for cell in study.cells:
        size = _message_size(cell)
        if size is not None:
            name, value = size
            others = frozenset(
                (key, text)
                for key, text in cell.parameters.items()
                if key not in {name, *COMMAND_LINES}
            )
            curves = groups[cell.host, name, *cell.sibling_key]
            curves[*cell.circumstances, cell.system, others][value] = cell
    for curves in groups.values():
        flat = [curve for curve in curves.values() if _is_flat(curve)]
        if (
            len({c.system for curve in flat for c in curve.values()}) < 2
            or len(flat) <= len(curves) / 2
        ):
            continue
        cells = [cell for curve in flat for cell in curve.values()]
        sizes = sorted(flat[0])
        yield cell_finding(
            Sentence(
                "{name}: {n} sizes from {low:g} to {high:g} make no difference. The "
                "option probably had another meaning.",
                name=cells[0].description,
                n=len(sizes),
                low=sizes[0],
                high=sizes[-1],
            ),
            cells,
            spans=[_span(curve) for curve in flat],
        )


def _message_size(cell: CellFact) -> tuple[str, float] | None:
    if cell.component != "network" or not cell.is_performance:
        return None
    unit = units.find_unit(cell.unit)
    if unit is None or unit.dimension != "data rate" or cell.mean <= 0:
        return None
    for name in sorted(MESSAGE_SIZES & cell.parameters.keys()):
        try:
            value = float(cell.parameters[name].split()[0])
        except (ValueError, IndexError):
            continue
        if 0 < value < math.inf:
            return name, value
    return None


def _span(curve: Mapping[float, CellFact]) -> float:
    means = [cell.mean for cell in curve.values()]
    return max(means) / min(means) - 1


def _is_flat(curve: Mapping[float, CellFact]) -> bool:
    sizes = sorted(curve)
    if len(sizes) < MIN_SIZES or sizes[-1] < MIN_SPAN * sizes[0]:
        return False
    first = curve[sizes[0]]
    is_limited = any(
        low * rate <= _bits(cell) <= high * rate
        for cell in curve.values()
        for rate, (low, high), _ in _possible_links(first)
    )
    half = len(sizes) // 2
    below, above = (
        math.fsum(math.log(curve[size].mean) for size in part) / len(part)
        for part in (sizes[:half], sizes[half:])
    )
    # The halves of a flat curve differ by less than its scatter explains.
    return (
        not is_limited
        and _span(curve) < MAX_EFFECT
        and abs(above - below) < math.log1p(_span(curve)) / 2 + 1e-9
    )
