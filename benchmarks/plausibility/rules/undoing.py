"""Exchanged values that are recognized by undoing the exchange.

Runs that contradict themselves until one metric is exchanged; and two cases of a system
in each other's place, beside one or two other systems.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks.plausibility.facts import (
    NORMAL,
    CellFact,
    Id,
    RunFact,
    SampleFact,
    StudyFacts,
    grouped,
)
from benchmarks.plausibility.rules.identities import implies_no_cpus, mismatches
from benchmarks.plausibility.tables import Table, nanmedian, residuals

MOST_DOUBTED: Final = 40
"""Of more runs that contradict themselves these are compared with each other."""
MOST_CASES: Final = 40
FEW_SYSTEMS: Final = 3
LEAST_CASES: Final = 5
"""Three others at least must say how the systems lie."""

Pair = tuple[CellFact, CellFact]


@dataclass(frozen=True, slots=True)
class Broken:
    """A test of a run whose numbers contradict each other."""

    run: RunFact
    samples: Mapping[str, SampleFact]
    parameters: Mapping[str, str]

    def reading(self, metric: str, value: SampleFact) -> RunFact:
        """The test as a run, with another one's reading of a metric."""
        samples = {**self.samples, metric: value}
        return replace(self.run, samples=tuple(samples.values()))


def _contradicts_itself(run: RunFact) -> bool:
    return implies_no_cpus(run) or next(mismatches(run), None) is not None


def _broken(study: StudyFacts) -> Mapping[object, Sequence[Broken]]:
    """The tests that contradict themselves, by tool and place."""
    found: dict[object, list[Broken]] = defaultdict(list)
    for run in study.runs:
        # The run as a whole is asked first: hardly one contradicts itself.
        if not _contradicts_itself(run):
            continue
        place = (run.host, run.scenario, run.vms, run.slot, run.load)
        for readings in grouped(run, least=2):
            test = Broken(run, readings.samples, readings.parameters)
            alone = replace(run, samples=tuple(readings.samples.values()))
            if _contradicts_itself(alone):
                found[run.tool, *place].append(test)
    return found


def mended_by_exchange(
    study: StudyFacts,
) -> Mapping[tuple[str, ...], Sequence[Pair]]:
    """Return cells whose exchange resolves all contradictions, by possible metrics."""
    by_id = {cell.id: cell for cell in study.cells}
    found: dict[tuple[str, ...], dict[tuple[Id, Id], Pair]] = defaultdict(dict)
    for tests in _broken(study).values():
        used: set[int] = set()
        for here, there in _candidates(tests[:MOST_DOUBTED]):
            if used & {here, there}:
                continue
            one, other = tests[here], tests[there]
            pairs: dict[str, Pair] = {}
            for metric in _mending(one, other):
                cells = (one.samples[metric].cell, other.samples[metric].cell)
                own, its = (by_id.get(each) if each else None for each in cells)
                if own and its and own.id != its.id:
                    pairs[metric] = (own, its)
            if pairs:
                used |= {here, there}
                by_cells = {(own.id, its.id): (own, its) for own, its in pairs.values()}
                found[tuple(sorted(pairs))] |= by_cells
    return {metrics: list(pairs.values()) for metrics, pairs in found.items()}


def _candidates(tests: Sequence[Broken]) -> Iterator[tuple[int, int]]:
    """Which two may be exchanged: systems in one case first, then cases of a system."""
    pairs = list(combinations(range(len(tests)), 2))
    for is_case in (False, True):
        for here, there in pairs:
            one, other = tests[here], tests[there]
            same_case = one.parameters == other.parameters
            same_system = one.run.system == other.run.system
            if same_system is is_case and same_case is not is_case:
                yield here, there


def _mending(one: Broken, other: Broken) -> Iterator[str]:
    """The metrics after whose exchange neither of two tests contradicts itself."""
    for metric, value in one.samples.items():
        its = other.samples.get(metric)
        if its is None or its.unit != value.unit or its.value == value.value:
            continue
        mended = (one.reading(metric, its), other.reading(metric, value))
        if not any(map(_contradicts_itself, mended)):
            yield metric


@dataclass(frozen=True, slots=True)
class Crossed:
    """Two cases exchanged on a system; ``apart`` and ``deviation`` are logs."""

    pairs: tuple[Pair, ...]
    apart: float
    deviation: float


def crossed_cases(
    table: Table, floor: float, least: float, clearly: float, near: float
) -> Iterator[Crossed]:
    """Return two cases that read what the other one should, beside one or two systems.

    Needs three other cases; ``near`` is a part of their distance.
    """
    rows, columns = table.logs.shape
    if not 2 <= columns <= FEW_SYSTEMS or not LEAST_CASES <= rows <= MOST_CASES:
        return
    off = residuals(table.logs)
    found: dict[tuple[int, int], list[tuple[int, float, float]]] = defaultdict(list)
    for column in range(columns):
        known = np.flatnonzero(np.abs(np.nan_to_num(off[:, column])) >= least / 2)
        for one, other in combinations(known.tolist(), 2):
            if off[one, column] * off[other, column] < 0:
                at = _crossing(table, column, (one, other), near)
                if at and at[0] >= max(least, clearly * max(floor, at[1])):
                    found[one, other].append((column, *at))
    for (one, other), members in found.items():
        # Beside two systems the one that is off by more than both.
        if columns > 2 and len(members) > 1:
            continue
        pairs = [(table.cells[one][c], table.cells[other][c]) for c, *_ in members]
        cells = tuple((a, b) for a, b in pairs if a and b)
        if cells:
            yield Crossed(cells, *members[0][1:])


def _crossing(
    table: Table, column: int, pair: tuple[int, int], near: float
) -> tuple[float, float] | None:
    """Return how far two exchanged cells should be apart, and the others' deviation."""
    own = table.logs[:, column]
    distances = own[:, None] - np.delete(table.logs, column, axis=1)
    rest = np.ones(len(own), dtype=bool)
    rest[list(pair)] = False
    usual = nanmedian(distances[rest], axis=0)
    off = nanmedian(distances - usual, axis=1)
    places = own - off
    first, second = pair
    apart = abs(float(places[first] - places[second]))
    miss = max(abs(own[first] - places[second]), abs(own[second] - places[first]))
    others = np.abs(off[rest][~np.isnan(off[rest])])
    if others.size < LEAST_CASES - 2 or not miss <= near * apart:
        return None
    tail = float(np.quantile(others, 0.9)) / 1.645
    return apart, max(NORMAL * float(np.median(others)), tail)
