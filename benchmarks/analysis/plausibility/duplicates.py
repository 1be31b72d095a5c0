"""The same numbers twice, where noise makes that impossible."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from benchmarks.analysis.plausibility.facts import CellFact, Column, Study, by_column
from benchmarks.analysis.plausibility.findings import Id
from benchmarks.analysis.plausibility.precision import Noise, Precision, precision
from benchmarks.analysis.plausibility.registry import Doubt, about_cells, rule

STEADY: Final = 1 / 3
"""How much steadier than its kind a cell is believed to be at best."""
CHANCE: Final = 1e-4
"""The chance of one false flag in a campaign."""
RARE: Final = math.log(1000)
"""How improbable a single near agreement must be to belong to a copy."""
CROWD: Final = 12
"""A reading that so many columns share is a limit or a constant, not a copy."""

Grids = Mapping[object, Precision]
Columns = Mapping[Column, Mapping[Id, CellFact]]
Pair = tuple[CellFact, CellFact]


@rule("pasted-values", "The same readings in two systems", "error")
def pasted_values(study: Study) -> Iterator[Doubt]:
    """Two systems (or two campaigns, or two seats) that read exactly the same in so
    many cases that chance is ruled out: less than 1 in 10,000 for the whole campaign.
    The chance that two readings are equal is their rounding step over 2 sqrt(pi)
    standard deviations (two normal readings on one grid), a third of the noise of their
    kind being taken as the least possible; runs must be equal one by one. Readings that
    12 columns share are limits, not copies. The same machine without a hypervisor in
    two campaigns is a notice: the campaigns share one measurement.

    Why: equal digits are a copy. 27 values of VMs in parallel stand in both LMU
    studies, one of ESXi and one of Xen; in the study of Xen two virtualizations of
    64-bit Linux show the same four disk throughputs.

    What to do: find out which table is the source; withdraw the copy.
    """
    columns, grid = study.columns, _grids(study)
    everywhere = by_column([*study.cells, *study.others])
    candidates = _sharing(study, everywhere)
    bound = math.log(max(1, len(columns) * len(everywhere)) / CHANCE)
    for one, other in candidates:
        pairs = _common(everywhere[one], everywhere[other])
        equal = [pair for pair in pairs if _reading(pair[0]) == _reading(pair[1])]
        if _surprise(equal, grid, study.noise) - _ways(pairs, equal) >= bound:
            copied = [pair for pair in pairs if _is_copied(pair, grid, study.noise)]
            yield _copy(copied, len(pairs), study)


def _grids(study: Study) -> Grids:
    """How finely each kind of cell is printed."""
    kinds: dict[object, list[CellFact]] = defaultdict(list)
    for cell in (*study.cells, *study.others):
        kinds[cell.campaign, cell.kind].append(cell)
    return {
        kind: precision(
            (each for cell in cells for each in cell.means or (cell.mean,)),
            max((c.decimals for c in cells if c.decimals is not None), default=None),
        )
        for kind, cells in kinds.items()
    }


def _reading(cell: CellFact) -> tuple[float, ...]:
    return cell.means or (cell.mean,)


def _can_tell(cell: CellFact) -> bool:
    """Whether the cell has noise: counts and idle or full CPUs may well be equal."""
    full = cell.is_share and cell.mean >= 99
    return cell.better != "neither" and cell.mean > 0 and not full


def _sharing(study: Study, columns: Columns) -> list[tuple[Column, Column]]:
    """The pairs of columns, one of them this campaign's, with an equal reading."""
    places: dict[object, list[Column]] = defaultdict(list)
    for column, cells in columns.items():
        for case, cell in cells.items():
            if _can_tell(cell):
                places[case, _reading(cell)].append(column)
    pairs: dict[tuple[Column, Column], None] = {}
    for sharing in places.values():
        if 2 <= len(sharing) <= CROWD:
            own = [each for each in sharing if each[0] == study.campaign]
            pairs |= dict.fromkeys(_pairs(own, sharing))
    return list(pairs)


def _pairs(
    own: Sequence[Column], sharing: Sequence[Column]
) -> Iterator[tuple[Column, Column]]:
    for one in own:
        for other in sharing:
            if other not in own or own.index(one) < own.index(other):
                yield one, other


def _common(one: Mapping[Id, CellFact], other: Mapping[Id, CellFact]) -> list[Pair]:
    both = ((one[case], other[case]) for case in one if case in other)
    return [pair for pair in both if _can_tell(pair[0])]


def _ways(pairs: Sequence[Pair], equal: Sequence[Pair]) -> float:
    """The logarithm of how many choices of so many equal cells there are.

    Copies come in blocks: the choice is made among all cells, or kind by kind.
    """
    all_of, equal_of = (Counter(one.kind for one, _ in each) for each in (pairs, equal))
    choices = [math.comb(count, equal_of[kind]) for kind, count in all_of.items()]
    by_kind = math.fsum(map(math.log, choices)) + len(all_of) * math.log(2)
    return min(math.log(math.comb(len(pairs), len(equal))), by_kind)


def _is_copied(pair: Pair, grid: Grids, noise: Noise) -> bool:
    """Equal, or rounded once more: one apart in the last digit, and no chance."""
    one, other = pair
    if _reading(one) == _reading(other):
        return True
    step = max(grid[each.campaign, each.kind].step(each.mean) for each in pair)
    readings = zip(_reading(one), _reading(other), strict=False)
    near = one.n == other.n and all(abs(a - b) < 1.5 * step for a, b in readings)
    return near and _surprise_of(one, grid, noise) > RARE


def _surprise(pairs: Iterable[Pair], grid: Grids, noise: Noise) -> float:
    """The negative logarithm of the chance that all these pairs are equal."""
    return math.fsum(_surprise_of(one, grid, noise) for one, _ in pairs)


def _surprise_of(cell: CellFact, grid: Grids, noise: Noise) -> float:
    step = grid[cell.campaign, cell.kind].step(cell.mean)
    deviation = max(noise.of_run(cell) * STEADY * cell.mean, step / 6)
    chance = min(1.0, step / (2 * math.sqrt(math.pi) * deviation))
    return -math.log(chance) * max(1, len(cell.means))


def _copy(equal: Sequence[Pair], shared: int, study: Study) -> Doubt:
    one, other = equal[0]
    where = "" if other.campaign == one.campaign else f" of {other.campaign_label}"
    same = _same_machine(one, other)
    explained = " Both campaigns show one measurement of this machine." if same else ""
    return about_cells(
        f"{len(equal)} of {shared} readings of {_place(one)} are, to the last digit, "
        f"those of {_place(other)}{where}.{explained}",
        [cell for pair in equal for cell in pair if cell.campaign == study.campaign],
        severity="notice" if same else None,
        equal=len(equal),
        shared=shared,
        other_campaign=str(other.campaign),
        other_system=str(other.system),
        cases=[cell.case_label for cell, _ in equal[:50]],
        readings=[list(_reading(cell)) for cell, _ in equal[:50]],
    )


def _place(cell: CellFact) -> str:
    seat = f", {cell.scenario} seat {cell.seat}" if cell.seat and cell.vms != 1 else ""
    return f"{cell.system_label or cell.system}{seat}"


def _same_machine(one: CellFact, other: CellFact) -> bool:
    return one.campaign != other.campaign and (
        one.system == other.system
        or (
            (one.is_native, one.host, one.guest_os, one.guest_bits)
            == (True, other.host, other.guest_os, other.guest_bits)
            and other.is_native
        )
    )


FEWEST_RUNS: Final = 5


@rule("few-distinct-readings", "Too few distinct readings", "warning")
def few_distinct_readings(study: Study) -> Iterator[Doubt]:
    """Five runs or more that read at most a third as many distinct values as there are
    runs, though they were printed finely enough: two noisy readings agree with a chance
    of the rounding step over 2 sqrt(pi) standard deviations. The cell's own range (if
    it has any) or a third of its kind's noise is taken for the deviation, and the
    number of agreeing pairs must be impossible (less than 1 in 10,000).

    Why: readings that repeat to the last digit were copied, read from a cache of
    results, or taken from a clock that stands still between two ticks.

    What to do: look at the raw outputs; repeat the runs with a finer clock.
    """
    grid = _grids(study)
    for cell in study.cells:
        if cell.better == "neither" or len(cell.means) < FEWEST_RUNS or cell.mean <= 0:
            continue
        values = sorted(set(cell.means))
        few = len(values) * 3 <= len(cell.means) + 1
        if few and not _may_agree(cell, len(values), grid, study.noise):
            yield about_cells(
                f"The {len(cell.means)} runs of {cell.name} read only {len(values)} "
                f"distinct values: {', '.join(f'{each:g}' for each in values)}.",
                (cell,),
                distinct=len(values),
                runs=len(cell.means),
                readings=list(cell.means),
            )


def _may_agree(cell: CellFact, distinct: int, grid: Grids, noise: Noise) -> bool:
    """Whether the repeats can be chance: all but ``distinct`` runs fell on another."""
    step = grid[cell.campaign, cell.kind].step(cell.mean)
    width = max(cell.means) - min(cell.means)
    deviation = max(width / 2, noise.of_kind(cell) * STEADY * cell.mean / 2)
    chance = min(
        1.0, distinct * step / (2 * math.sqrt(math.pi) * max(deviation, step / 6))
    )
    repeats = len(cell.means) - distinct
    return math.comb(len(cell.means), repeats) * chance**repeats > CHANCE
