"""The same native machine, measured in two studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from benchmarks.plausibility.facts import CellFact, Id, StudyFacts


def by_twins(study: StudyFacts) -> Mapping[Id, CellFact]:
    """Of each native cell what the same machine read under the same OS in another
    study; of several the last one."""
    machines: dict[object, list[CellFact]] = defaultdict(list)
    for cell in (*study.others, *study.cells):
        told = cell.is_native and cell.mean > 0 and cell.scenario == "single"
        if told and cell.guest_os:
            machine = (cell.host, cell.guest_os, cell.guest_bits, cell.load)
            machines[*machine, cell.kind, cell.case].append(cell)
    twins: dict[Id, CellFact] = {}
    for cells in machines.values():
        for cell, other in combinations(cells, 2):
            # Two native systems of one study differ on purpose.
            if cell.study != other.study:
                twins[cell.id], twins[other.id] = other, cell
    return twins
