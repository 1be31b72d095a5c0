"""Readings that a live run does not give: 0 % and 100 % of a CPU."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Final

from benchmarks import units
from benchmarks.plausibility.facts import CellFact, StudyFacts
from benchmarks.plausibility.findings import Doubt, about_cells, further, rule
from benchmarks.sentences import Sentence

FULL: Final = 99.4
READABLE: Final = 0.5
SPENT: Final = frozenset({"time", "CPU time per data", "energy", "power"})
"""Dimensions of what every run takes some of."""


@rule("zero-reading", "Zero in a live run", "impossible")
def zero_reading(study: StudyFacts) -> Iterator[Doubt]:
    """A CPU utilization of 0 % (all runs), or a rate, time, energy or power of 0, where
    the same case reads at least 0.5 % elsewhere or nothing else is known. Moving data
    costs CPU time: 0 means that nobody measured it, for instance because the counter of
    the guest stands still. Counts, losses, shares of slow requests, jitter and waiting
    may be 0.

    Why: 0 % would be an infinitely efficient system, and it makes every mean over the
    cell wrong.

    What to do: treat the cell as not measured; measure the CPU from the host.
    """
    rows: dict[object, list[float]] = defaultdict(list)
    for cell in study.cells:
        rows[cell.case].append(cell.mean)
    zeros = []
    for cell in study.cells:
        is_rate = cell.unit != "%" and cell.better == "higher"
        if cell.mean == 0 and (cell.is_share or is_rate or _is_never_zero(cell)):
            others = [mean for mean in rows[cell.case] if mean > 0]
            # A share of 0.4 % may well be rounded down to 0 elsewhere.
            if not others or cell.unit != "%" or median(others) >= READABLE:
                zeros.append(cell)
    for cells in _alike(zeros):
        elsewhere = [mean for cell in cells for mean in rows[cell.case] if mean]
        yield about_cells(
            Sentence(
                "{cases} reads 0 {unit} in a live run: it was not measured.",
                cases=further(cells[0].name, len(cells) - 1),
                unit=cells[0].unit,
            ),
            cells,
            reading=0,
            elsewhere=elsewhere[:20],
        )


@rule("saturated-reading", "A CPU that reads 100 %", "implausible")
def saturated_reading(study: StudyFacts) -> Iterator[Doubt]:
    """A CPU utilization of exactly 100 % in every run of a test that is not made to
    load the CPU; from 99.4 % on, and in several runs of a test of the CPU, it is a
    check. More than 100 % times the CPUs of the system is impossible; where
    their number is not known, more than 100 % is not judged.

    Why: either the counter is stuck, or the CPU was the limit: then the throughput
    beside it says nothing about the network or the disk.

    What to do: look at the host's own counters; name the CPU as the limit if it was.
    """
    shares = [cell for cell in study.cells if cell.is_share]
    too_much = [
        cell
        for cell in shares
        if (cpus := cell.vcpus or cell.host_cores) is not None
        and cell.mean > 100 * cpus * 1.02
    ]
    for cells in _alike(too_much):
        yield about_cells(
            Sentence(
                "{cases} reads {mean:g} %, and the system has {cpus} CPUs.",
                cases=further(cells[0].name, len(cells) - 1),
                mean=cells[0].mean,
                cpus=cells[0].vcpus or cells[0].host_cores or 0,
            ),
            cells,
            severity="impossible",
            readings=[cell.mean for cell in cells],
        )
    # Full where it need not be; or, in a test of the CPU, without any scatter.
    full = [
        cell
        for cell in shares
        if (cell.component != "CPU" and FULL <= cell.mean <= 100)
        or (cell.component == "CPU" and cell.n > 1 and set(cell.means) == {100.0})
    ]
    for cells in _alike(full):
        stuck = any(cell.component != "CPU" and cell.mean == 100 for cell in cells)
        yield about_cells(
            Sentence(
                "{cases} reads {mean:g} %: a stuck counter, or the CPU was the limit "
                "of this test.",
                cases=further(cells[0].name, len(cells) - 1),
                mean=cells[0].mean,
            ),
            cells,
            severity=None if stuck else "check",
            readings=[cell.mean for cell in cells],
        )


def _is_never_zero(cell: CellFact) -> bool:
    unit = units.find(cell.unit)
    if cell.better != "lower" or unit is None or unit.dimension not in SPENT:
        return False
    # Tools allow CPU times of 0, too, for a guest that idles; a test is no idle guest.
    return not cell.zero_allowed or "cpu time" in cell.metric.casefold()


def _alike(cells: Iterable[CellFact]) -> Iterator[list[CellFact]]:
    """Cells of one system, tool and metric: one doubt."""
    groups: dict[object, list[CellFact]] = defaultdict(list)
    for cell in cells:
        groups[(*cell.column, *cell.kind)].append(cell)
    return iter(groups.values())
