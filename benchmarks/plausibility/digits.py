"""What the digits of a reading say about how it came to its place.

A tool prints all readings of a metric with as many decimals, or as many digits. Whoever
divides one afterwards, or takes its reciprocal, leaves more of both than any other
reading has; and they are gone once that is undone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from statistics import median
from typing import Final

from benchmarks.plausibility.facts import CellFact, Id, StudyFacts
from benchmarks.plausibility.tables import emulated_tables, residuals, tables

Distances = Mapping[Id, Sequence[float]]

KEPT: Final = 12
"""Significant digits that a quotient of two floats has for sure."""
SHORT: Final = 8
"""What has that many digits or fewer out of ``KEPT`` has so by chance once in 10^4."""
ROOM: Final = 2
"""So many readings that could have shown another decimal say that none is printed."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The decimals and significant digits of a reading; ``before`` its point there are
    so many of these (below 0: zeros behind it)."""

    decimals: int
    digits: int
    before: int


@lru_cache(maxsize=1 << 16)
def shown(value: float) -> Shown:
    """The digits of a reading, without those that only its arithmetic left."""
    if not math.isfinite(value):
        return Shown(0, KEPT + 1, KEPT + 1)
    _, digits, exponent = Decimal(f"{value:.{KEPT}g}").normalize().as_tuple()
    exponent = int(exponent)
    return Shown(max(-exponent, 0), len(digits), len(digits) + exponent)


@dataclass(frozen=True)
class Digits:
    """The readings of a study's cells beside those of the same tool and metric."""

    # No slots here: a cached_property needs the instance's dictionary.
    study: StudyFacts

    def was_divided(self, cell: CellFact, factor: float) -> bool:
        """Whether some reading of a cell shows more than its tool prints, and none does
        once it is multiplied."""
        before = [factor * value for value in cell.readings]
        return self._undone(cell, before, KEPT - 1)

    def was_inverted(self, cell: CellFact, scale: float) -> bool:
        """Whether a cell's readings are reciprocals of what its tool prints."""
        return all(value > 0 for value in cell.readings) and self._undone(
            cell, [scale / value for value in cell.readings], SHORT
        )

    def longer_cells(self) -> Mapping[Id, CellFact]:
        """The cells with a reading of more decimals than any other cell of the kind,
        of those whose kind has a usual value."""
        return {
            cell.id: cell
            for cell in self.study.cells
            if cell.mean > 0 and not cell.is_extreme and not cell.is_start_up
            if self.is_longer(cell)
        }

    def is_longer(self, cell: CellFact) -> bool:
        """Whether a reading of a cell has more decimals than any other cell's."""
        most = self._most[cell.kind]
        own = self._decimals[cell.id]
        return len(most) > 1 and own > (most[1] if own == most[0] else most[0])

    def _undone(self, cell: CellFact, before: Sequence[float], most: int) -> bool:
        if not self.is_longer(cell):
            return False
        printed = [shown(value) for value in self._others(cell)]
        decimals = max(each.decimals for each in printed)
        digits = max(each.digits for each in printed)
        # A tool that prints four digits shows a decimal more of what is smaller.
        room = sum(each.before + decimals < digits for each in printed)
        longest = max(shown(value).digits for value in cell.readings)
        if longest <= digits and room < ROOM:
            return False
        return all(
            each.decimals <= decimals and each.digits <= most
            for each in map(shown, before)
        )

    def _others(self, cell: CellFact) -> Iterator[float]:
        for other in self._kinds[cell.kind]:
            if other.id != cell.id:
                yield from other.readings

    @cached_property
    def _kinds(self) -> Mapping[object, list[CellFact]]:
        kinds: dict[object, list[CellFact]] = defaultdict(list)
        for cell in self.study.cells:
            kinds[cell.kind].append(cell)
        return kinds

    @cached_property
    def _decimals(self) -> Mapping[object, int]:
        return {
            cell.id: max(shown(value).decimals for value in cell.readings)
            for cell in self.study.cells
        }

    @cached_property
    def _most(self) -> Mapping[object, list[int]]:
        """The two largest numbers of decimals of the cells of a kind."""
        return {
            kind: sorted((self._decimals[c.id] for c in cells), reverse=True)[:2]
            for kind, cells in self._kinds.items()
        }


def distances(study: StudyFacts, cells: Mapping[Id, CellFact]) -> Distances:
    """How far some cells lie, as logs, from what others lead to expect: the other
    systems of the host in the same case, all and those of an alike processor, and all
    other cases and systems.

    Each of these alone says little: systems differ, and so do cases.
    """
    if not cells:
        return {}
    found: dict[Id, list[float]] = defaultdict(list)
    for cell, others in _beside(study, cells):
        expected = median(math.log(other.mean) for other in others)
        found[cell.id].append(math.log(cell.mean) - expected)
    for table in (*tables(study.cells), *emulated_tables(study.cells)):
        members = [cell for row in table.cells for cell in row]
        if any(cell and cell.id in cells for cell in members):
            for member, off in zip(members, residuals(table.logs).flat, strict=True):
                if member and member.id in cells and not math.isnan(off):
                    found[member.id].append(float(off))
    return found


def _beside(
    study: StudyFacts, cells: Mapping[Id, CellFact]
) -> Iterator[tuple[CellFact, list[CellFact]]]:
    rows: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if cell.mean > 0:
            rows[cell.host, cell.case, cell.kind, *cell.column[2:]].append(cell)
    for row in rows.values():
        for cell in row:
            if cell.id not in cells:
                continue
            rest = [other for other in row if other.id != cell.id]
            alike = [other for other in rest if other.emulation == cell.emulation]
            yield from ((cell, others) for others in (alike, rest) if others)
