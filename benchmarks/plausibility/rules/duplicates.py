"""The same numbers twice, where noise makes that impossible."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import Final

from benchmarks.plausibility.facts import CellFact, StudyFacts, by_column
from benchmarks.plausibility.findings import Id
from benchmarks.plausibility.precision import Noise, Precision, precision
from benchmarks.plausibility.registry import Doubt, about_cells, rule
from benchmarks.sentences import Sentence, joined

STEADY: Final = 1 / 2
"""How much steadier than its kind a cell is believed to be at best."""
CHANCE: Final = 1e-3
"""The chance of one false flag in a study."""
FEWEST: Final = 60
"""As many pairs are always counted: a small study is one of many."""
RARE: Final = math.log(1000)
"""How improbable a single near agreement must be to belong to a copy."""
CROWD: Final = 12
"""A reading that so many columns share is a limit or a constant, not a copy."""

Grids = Mapping[object, Precision]
Lines = Mapping[object, Mapping[object, CellFact]]
Pair = tuple[CellFact, CellFact]


@rule("pasted-values", "The same readings in two systems", "impossible")
def pasted_values(study: StudyFacts) -> Iterator[Doubt]:
    """Two systems (or two studies, or two slots) that read exactly the same in so
    many cases that chance is ruled out: less than 1 in 1,000 for the whole study.
    The chance that two readings are equal is their rounding step over 2 sqrt(pi)
    standard deviations (two normal readings on one grid), a half of the noise of their
    kind being taken as the least possible; runs must be equal one by one. Readings that
    12 systems share, or that stand in several cases of one system, are limits and no
    copies. The same machine without a hypervisor in two studies is a check: the
    studies share one measurement.

    Why: equal digits are a copy. 27 values of VMs in parallel stand in both LMU
    studies, one of ESXi and one of Xen; in the study of Xen two virtualizations of
    64-bit Linux show the same four disk throughputs.

    What to do: find out which table is the source; withdraw the copy.
    """
    everywhere = by_column([*study.cells, *study.others])
    columns: dict[object, Mapping[object, CellFact]] = {
        name: _telling(cells) for name, cells in everywhere.items()
    }
    for equal, shared in _copies(columns, set(study.columns), study):
        yield _copied_system(equal, shared, study)


@rule("pasted-cases", "The same readings in two cases", "impossible")
def pasted_cases(study: StudyFacts) -> Iterator[Doubt]:
    """Two cases of one tool and metric (reading and writing, two sizes) that read
    exactly the same on so many systems that chance is ruled out, by the measure of
    `pasted-values`.

    Why: a column of a table was copied beside itself: one of the cases was not measured
    or is lost.

    What to do: find out which case is the source; withdraw the copy.
    """
    rows: dict[object, dict[object, CellFact]] = defaultdict(dict)
    for name, cells in study.columns.items():
        for case, cell in cells.items():
            if _can_tell(cell):
                rows[cell.kind, case][name] = cell
    for equal, shared in _copies(rows, set(rows), study):
        one, other = equal[0]
        if one.kind == other.kind:
            yield _copied_case(equal, shared)


def _copies(
    lines: Lines, own: Set[object], study: StudyFacts
) -> Iterator[tuple[list[Pair], int]]:
    """Pairs of lines, one of them in ``own``, with more equal cells than chance has."""
    grid = grids(study)
    tried = len(own) * (2 * len(lines) - len(own) - 1) / 2
    bound = math.log(max(FEWEST, tried) / CHANCE)
    for one, other in _sharing(lines, own):
        first, second = lines[one], lines[other]
        pairs = [(first[at], second[at]) for at in first if at in second]
        equal = [pair for pair in pairs if _reading(pair[0]) == _reading(pair[1])]
        if _surprise(equal, grid, study.noise) - _ways(pairs, equal) >= bound:
            copied = [pair for pair in pairs if _is_copied(pair, grid, study.noise)]
            yield copied, len(pairs)


def grids(study: StudyFacts) -> Grids:
    """How finely each kind of cell is printed."""
    kinds: dict[object, list[CellFact]] = defaultdict(list)
    for cell in (*study.cells, *study.others):
        kinds[cell.study, cell.kind].append(cell)
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


def _telling(cells: Mapping[Id, CellFact]) -> Mapping[object, CellFact]:
    """The cells of a column that have noise and do not all stand at one limit."""
    told = {case: cell for case, cell in cells.items() if _can_tell(cell)}
    places = {case: (cell.kind, _reading(cell)) for case, cell in told.items()}
    limits = {place for place, times in Counter(places.values()).items() if times > 1}
    return {case: cell for case, cell in told.items() if places[case] not in limits}


def _sharing(lines: Lines, own: Set[object]) -> list[tuple[object, object]]:
    """The pairs of lines, one of them in ``own``, with an equal reading."""
    places: dict[object, list[object]] = defaultdict(list)
    for name, cells in lines.items():
        for at, cell in cells.items():
            places[at, _reading(cell)].append(name)
    pairs: dict[tuple[object, object], None] = {}
    for sharing in places.values():
        if 2 <= len(sharing) <= CROWD:
            for one, other in combinations(sharing, 2):
                if one in own or other in own:
                    pairs[(one, other) if one in own else (other, one)] = None
    return list(pairs)


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
    step = max(grid[each.study, each.kind].step(each.mean) for each in pair)
    readings = zip(_reading(one), _reading(other), strict=False)
    near = one.n == other.n and all(abs(a - b) < 1.5 * step for a, b in readings)
    return near and _surprise_of(one, grid, noise) > RARE


def _surprise(pairs: Iterable[Pair], grid: Grids, noise: Noise) -> float:
    """The negative logarithm of the chance that all these pairs are equal."""
    return math.fsum(_surprise_of(one, grid, noise) for one, _ in pairs)


def _surprise_of(cell: CellFact, grid: Grids, noise: Noise) -> float:
    step = grid[cell.study, cell.kind].step(cell.mean)
    deviation = max(noise.of_run(cell) * STEADY * cell.mean, step / 6)
    chance = min(1.0, step / (2 * math.sqrt(math.pi) * deviation))
    return -math.log(chance) * max(1, len(cell.means))


def _copied_system(equal: Sequence[Pair], shared: int, study: StudyFacts) -> Doubt:
    one, other = equal[0]
    same = _same_machine(one, other)
    return about_cells(
        _copied_sentence(equal, shared),
        [cell for pair in equal for cell in pair if cell.study == study.id],
        severity="check" if same else None,
        equal=len(equal),
        shared=shared,
        other_study=str(other.study),
        other_system=str(other.system),
        cases=[cell.case_label for cell, _ in equal[:50]],
        readings=[list(_reading(cell)) for cell, _ in equal[:50]],
    )


def _copied_sentence(equal: Sequence[Pair], shared: int) -> Sentence:
    one, other = equal[0]
    where = _place(other)
    if other.study != one.study:
        study = other.study_label
        where = Sentence("{place} of {study}", place=where, study=study)
    said = Sentence(
        "{n} of {shared} readings of {one} are, to the last digit, those of {other}.",
        n=len(equal),
        shared=shared,
        one=_place(one),
        other=where,
    )
    if not _same_machine(one, other):
        return said
    same = Sentence("Both studies show one measurement of this machine.")
    return joined([said, same])


def _copied_case(equal: Sequence[Pair], shared: int) -> Doubt:
    one, other = equal[0]
    return about_cells(
        Sentence(
            "{one} and {other} read, to the last digit, the same on {n} of {shared} "
            "systems.",
            one=one.case_label or str(one.case),
            other=other.case_label or str(other.case),
            n=len(equal),
            shared=shared,
        ),
        [cell for pair in equal for cell in pair],
        equal=len(equal),
        shared=shared,
        readings=[list(_reading(cell)) for cell, _ in equal[:50]],
    )


def _place(cell: CellFact) -> str:
    if not cell.slot or cell.vms == 1:
        return cell.where
    return Sentence(
        "{system}, {scenario} slot {slot}",
        system=cell.where,
        scenario=cell.scenario,
        slot=cell.slot,
    )


def _same_machine(one: CellFact, other: CellFact) -> bool:
    return one.study != other.study and (
        one.system == other.system
        or (
            (one.is_native, one.host, one.guest_os, one.guest_bits)
            == (True, other.host, other.guest_os, other.guest_bits)
            and other.is_native
        )
    )
