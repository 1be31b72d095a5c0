"""What a cell should read, given all the others: by its siblings, or by its curve."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.intervals import Floats
from benchmarks.plausibility.facts import (
    NORMAL,
    CellFact,
    ColumnKey,
    Id,
    StudyFacts,
)

SIBLINGS: Final = 24
"""A median over more columns than these says nothing more and costs time."""
MANY: Final = 4
SMALL: Final = 400
"""In a table of more cells than these a single one weighs nothing."""
ORDINARY: Final = math.log(3)
POINTS: Final = 5
"""A curve of fewer points may have any shape."""
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgG]?)(?:i?B)?")
_SIZES: Final = {"": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30}
TablePlace = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of one kind: cases x systems; ``logs`` are ln means or NaN."""

    rows: tuple[Id, ...]
    columns: tuple[ColumnKey, ...]
    cells: tuple[tuple[CellFact | None, ...], ...]
    logs: Floats

    @property
    def is_emulated(self) -> bool:
        return all(cell.emulation for row in self.cells for cell in row if cell)


def tables(cells: Iterable[CellFact]) -> Iterator[Table]:
    """Return a table per tool, metric and emulation of positive cells."""
    return _tables(cells, lambda cell: cell.emulation)


def emulated_tables(cells: Iterable[CellFact]) -> Iterator[Table]:
    emulated = (cell for cell in cells if cell.emulation)
    together = _tables(emulated, lambda cell: "")
    return (table for table in together if len(table.rows) >= MANY)


def _tables(
    cells: Iterable[CellFact], apart: Callable[[CellFact], str]
) -> Iterator[Table]:
    kinds: dict[tuple[str, ...], list[CellFact]] = defaultdict(list)
    for cell in cells:
        if cell.mean > 0:
            kinds[*cell.kind, apart(cell)].append(cell)
    for members in kinds.values():
        rows = tuple(dict.fromkeys(cell.case for cell in members))
        columns = tuple(dict.fromkeys(cell.column for cell in members))
        placed = {(cell.case, cell.column): cell for cell in members}
        grid = tuple(
            tuple(placed.get((row, column)) for column in columns) for row in rows
        )
        logs = np.log([[cell.mean if cell else np.nan for cell in row] for row in grid])
        yield Table(rows, columns, grid, logs)


def nanmedian(values: Floats, axis: int) -> Floats:
    """Return the median without NaN, as ``np.nanmedian`` but twenty times faster."""
    if values.shape[axis] == 0:
        return np.full(np.delete(values.shape, axis), np.nan)
    ordered = np.sort(values, axis=axis)  # NaN comes last
    known = np.expand_dims((~np.isnan(values)).sum(axis=axis), axis)
    low = np.take_along_axis(ordered, np.maximum(known - 1, 0) // 2, axis)
    high = np.take_along_axis(ordered, known // 2, axis)
    medians: Floats = np.squeeze((low + high) / 2, axis)
    return medians


def residuals(logs: Floats) -> Floats:
    """Return how far each cell lies from what its siblings predict, as a log ratio.

    Each other column predicts by its value and the median distance of the two columns
    over all other rows; the prediction is the median. NaN without another shared row.
    """
    result = np.full(logs.shape, np.nan)
    known = ~np.isnan(logs)
    for column in range(logs.shape[1]):
        # The columns that share most rows with this one.
        shared = (known & known[:, [column]]).sum(axis=0)
        shared[column] = 0
        order = np.argsort(-shared, kind="stable")[:SIBLINGS]
        others: NDArray[np.intp] = order[shared[order] > 0]
        if others.size:
            distances = logs[:, [column]] - logs[:, others]
            off = nanmedian(distances - _shift_elsewhere(distances), axis=1)
            if len(logs) == 2:
                # Off in the row as it stands as well, by half as much at least.
                bare = nanmedian(distances, axis=1)
                kept = np.isnan(off) | (bare * off >= off**2 / 2)
                off = np.where(kept, off, 0.0)
            result[:, column] = off
    return result


def _shift_elsewhere(distances: Floats) -> Floats:
    """For each row the median distance to each column over all other rows."""
    rows = len(distances)
    if rows > 12:  # one row more or less moves no median by much
        return np.broadcast_to(nanmedian(distances, axis=0), distances.shape)
    others = np.broadcast_to(distances, (rows, *distances.shape)).copy()
    others[np.arange(rows), np.arange(rows)] = np.nan
    return nanmedian(others, axis=1)


@dataclass(frozen=True, slots=True)
class Spread:
    """How well predictions work: robust deviation, and each row's distance (logs)."""

    deviation: float
    in_row: float


def spread_without(logs: Floats, off: Floats, cell: TablePlace, floor: float) -> Spread:
    """Return how well predictions work without a cell.

    The deviation is the larger of the scaled median and the 90th percentile of the
    residuals; with two rows the largest one.
    """
    off = off.copy()
    if logs.size <= SMALL:
        rest = logs.copy()
        rest[cell] = np.nan
        off = residuals(rest)
    off[cell] = np.nan
    beside = np.abs(off[cell[0]][~np.isnan(off[cell[0]])])
    in_row = float(np.quantile(beside, 0.9)) if beside.size else 0.0
    known = np.abs(off[~np.isnan(off)])
    if not known.size:
        return Spread(floor, in_row)
    # 90 % of normal values lie within 1.645 standard deviations.
    tail = float(np.quantile(known, 1 if len(logs) == 2 else 0.9)) / 1.645
    return Spread(max(floor, NORMAL * float(np.median(known)), tail), in_row)


@dataclass(frozen=True)
class Speeds:
    """How fast each system usually is beside the others of its host, by component."""

    # No slots here: a cached_property needs the instance's dictionary.
    study: StudyFacts

    def usual(self, cell: CellFact) -> float:
        """Return a cell's expected log distance from its row's middle, by component."""
        logs = self._elsewhere(cell)
        usual = float(np.median(logs)) if logs else 0.0
        return usual if cell.better == "higher" else -usual

    def is_known(self, cell: CellFact) -> bool:
        """Whether other tools or metrics say that the system is not far from others."""
        logs = self._elsewhere(cell)
        return bool(logs) and abs(float(np.median(logs))) < ORDINARY

    def _elsewhere(self, cell: CellFact) -> list[float]:
        by_kind = self._by_kind.get((cell.column, cell.component), {})
        return [log for kind, log in by_kind.items() if kind != cell.kind]

    @cached_property
    def _by_kind(self) -> Mapping[object, Mapping[object, float]]:
        """Return each column's and component's median log speed per tool and metric."""
        speeds: dict[object, dict[object, float]] = defaultdict(dict)
        for table in tables(self.study.cells):
            sample = next(cell for row in table.cells for cell in row if cell)
            if sample.is_share or sample.better == "neither":
                continue
            sign = 1 if sample.better == "higher" else -1
            hosts: dict[str, list[int]] = defaultdict(list)
            for place, cells in enumerate(zip(*table.cells, strict=True)):
                hosts[next(cell.host for cell in cells if cell)].append(place)
            for places in hosts.values():
                logs = table.logs[:, places]
                several = (~np.isnan(logs)).sum(axis=1) > 1
                if several.any():
                    logs = logs[several]
                    off = nanmedian(logs - nanmedian(logs, axis=1)[:, None], axis=0)
                    for place, log in zip(places, off, strict=True):
                        if not np.isnan(log):
                            key = (table.columns[place], sample.component)
                            speeds[key][sample.kind] = sign * float(log)
        return speeds


def number_of(text: str) -> float | None:
    """``4k``, ``65536 B``, ``1M`` or ``16`` as a number; None for other texts."""
    match = _NUMBER.fullmatch(text.strip())
    return float(match[1]) * _SIZES[match[2].lower()] if match else None


def off_the_curve(
    table: Table, off: Floats, least: float
) -> Iterator[tuple[CellFact, float]]:
    """Return inner points outside both neighbours, in columns without predictions."""
    for column in range(len(table.columns)):
        known = zip(table.cells, off[:, column], strict=True)
        alone = [row[column] for row, distance in known if np.isnan(distance)]
        for curve in _curves([cell for cell in alone if cell]):
            logs = np.log([cell.mean for cell in curve])
            below = np.minimum(logs[:-2], logs[2:]) - logs[1:-1]
            above = logs[1:-1] - np.maximum(logs[:-2], logs[2:])
            distances = np.maximum(above, 0) - np.maximum(below, 0)
            for index in np.flatnonzero(np.abs(distances) >= least):
                yield curve[index + 1], float(distances[index])


def _curves(cells: Sequence[CellFact]) -> Iterator[list[CellFact]]:
    groups: dict[object, list[tuple[float, CellFact]]] = defaultdict(list)
    for cell in cells:
        for key, text in cell.parameters.items():
            size = number_of(text)
            if size is not None:
                rest = tuple(pair for pair in cell.parameters.items() if pair[0] != key)
                groups[key, rest].append((size, cell))
    for points in groups.values():
        if len(points) >= POINTS:
            yield [cell for _, cell in sorted(points, key=lambda point: point[0])]


Distances = Mapping[Id, Sequence[float]]

KEPT: Final = 12
"""Significant digits that a quotient of two floats has for sure."""
SHORT: Final = 8
"""What has that many digits or fewer out of ``KEPT`` has so by chance once in 10^4."""
ROOM: Final = 2
"""So many readings that could have shown another decimal say that none is printed."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The decimals and significant digits of a reading."""

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
        """Return whether a cell's readings lose their extra digits once multiplied."""
        before = [factor * value for value in cell.readings]
        return self._undone(cell, before, KEPT - 1)

    def was_inverted(self, cell: CellFact, scale: float) -> bool:
        """Whether a cell's readings are reciprocals of what its tool prints."""
        return all(value > 0 for value in cell.readings) and self._undone(
            cell, [scale / value for value in cell.readings], SHORT
        )

    def longer_cells(self) -> Mapping[Id, CellFact]:
        """Return the cells with more decimals than any other cell of the kind."""
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
    """Return how far cells lie, as logs, from each of several expectations."""
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
            rows[cell.host, cell.case, cell.kind, *cell.circumstances].append(cell)
    for row in rows.values():
        for cell in row:
            if cell.id not in cells:
                continue
            rest = [other for other in row if other.id != cell.id]
            alike = [other for other in rest if other.emulation == cell.emulation]
            yield from ((cell, others) for others in (alike, rest) if others)
