"""Expected values of cells, predicted from siblings or from a curve.

Siblings are the cells of the same tool and metric.
"""

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
from benchmarks.plausibility.study_facts import (
    MAD_TO_SD,
    CellFact,
    ColumnKey,
    Id,
    StudyFacts,
)

MAX_SIBLINGS: Final = 24
"""More columns do not improve a median, but take time."""
MIN_ROWS: Final = 4
MAX_SMALL_TABLE: Final = 400
"""In tables with more cells, a single cell hardly influences the predictions of
others.
"""
MAX_ORDINARY_LOG: Final = math.log(3)
MIN_CURVE_POINTS: Final = 5
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgG]?)(?:i?B)?")
_SIZES: Final = {"": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30}
TableIndex = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SiblingTable:
    """The positive cells of one tool and metric, with cases as rows and systems as
    columns.

    ``logs`` are the logs of the means; NaN for missing cells.
    """

    rows: tuple[Id, ...]
    columns: tuple[ColumnKey, ...]
    cells: tuple[tuple[CellFact | None, ...], ...]
    logs: Floats

    @property
    def is_emulated(self) -> bool:
        return all(cell.emulation_layers for row in self.cells for cell in row if cell)


def sibling_tables(cells: Iterable[CellFact]) -> Iterator[SiblingTable]:
    """Yield a table for each combination of tool, metric and emulation layers."""
    return _tables(cells, lambda cell: cell.emulation_layers)


def emulated_sibling_tables(cells: Iterable[CellFact]) -> Iterator[SiblingTable]:
    """Yield a table of all emulated systems for each tool and metric with at least four
    cases.
    """
    emulated = (cell for cell in cells if cell.emulation_layers)
    tables = _tables(emulated, lambda cell: "")
    return (table for table in tables if len(table.rows) >= MIN_ROWS)


def _tables(
    cells: Iterable[CellFact], extra_key: Callable[[CellFact], str]
) -> Iterator[SiblingTable]:
    kinds: dict[tuple[str, ...], list[CellFact]] = defaultdict(list)
    for cell in cells:
        if cell.mean > 0:
            kinds[*cell.sibling_key, extra_key(cell)].append(cell)
    for members in kinds.values():
        rows = tuple(dict.fromkeys(cell.case for cell in members))
        columns = tuple(dict.fromkeys(cell.column_key for cell in members))
        cells_by_position = {(cell.case, cell.column_key): cell for cell in members}
        grid = tuple(
            tuple(cells_by_position.get((row, column)) for column in columns)
            for row in rows
        )
        logs = np.log([[cell.mean if cell else np.nan for cell in row] for row in grid])
        yield SiblingTable(rows, columns, grid, logs)


def nanmedian(values: Floats, axis: int) -> Floats:
    """Return the same as ``np.nanmedian``, twenty times faster."""
    if values.shape[axis] == 0:
        return np.full(np.delete(values.shape, axis), np.nan)
    ordered = np.sort(values, axis=axis)  # NaN comes last
    counts = np.expand_dims((~np.isnan(values)).sum(axis=axis), axis)
    low = np.take_along_axis(ordered, np.maximum(counts - 1, 0) // 2, axis)
    high = np.take_along_axis(ordered, counts // 2, axis)
    medians: Floats = np.squeeze((low + high) / 2, axis)
    return medians


def sibling_residuals(logs: Floats) -> Floats:
    """Return the log ratio of each cell to the value that its siblings predict.

    Each other column predicts the cell by its own value in this row and by the median
    distance of the two columns in all other rows. The prediction is the median of
    these. It is NaN if the columns share no other row. In a table of two rows,
    residuals that the cell's own row does not confirm are 0.
    """
    result = np.full(logs.shape, np.nan)
    present = ~np.isnan(logs)
    for column in range(logs.shape[1]):
        shared = (present & present[:, [column]]).sum(axis=0)
        shared[column] = 0
        order = np.argsort(-shared, kind="stable")[:MAX_SIBLINGS]
        others: NDArray[np.intp] = order[shared[order] > 0]
        if others.size:
            distances = logs[:, [column]] - logs[:, others]
            residuals = nanmedian(distances - _shift_elsewhere(distances), axis=1)
            if len(logs) == 2:
                unadjusted = nanmedian(distances, axis=1)
                confirmed = np.isnan(residuals) | (
                    unadjusted * residuals >= residuals**2 / 2
                )
                residuals = np.where(confirmed, residuals, 0.0)
            result[:, column] = residuals
    return result


def _shift_elsewhere(distances: Floats) -> Floats:
    rows = len(distances)
    if rows > 12:  # one of many rows hardly changes a median
        return np.broadcast_to(nanmedian(distances, axis=0), distances.shape)
    others = np.broadcast_to(distances, (rows, *distances.shape)).copy()
    others[np.arange(rows), np.arange(rows)] = np.nan
    return nanmedian(others, axis=1)


@dataclass(frozen=True, slots=True)
class PredictionSpread:
    """Accuracy of the predictions in a table when one cell is left out (log scale).

    ``deviation`` is a robust standard deviation, ``row_distance`` the 90th percentile
    of the absolute residuals in the row of the cell.
    """

    deviation: float
    row_distance: float


def leave_one_out_spread(
    logs: Floats, residuals: Floats, cell: TableIndex, floor: float
) -> PredictionSpread:
    residuals = residuals.copy()
    if logs.size <= MAX_SMALL_TABLE:
        remaining = logs.copy()
        remaining[cell] = np.nan
        residuals = sibling_residuals(remaining)
    residuals[cell] = np.nan
    row_residuals = np.abs(residuals[cell[0]][~np.isnan(residuals[cell[0]])])
    in_row = float(np.quantile(row_residuals, 0.9)) if row_residuals.size else 0.0
    sizes = np.abs(residuals[~np.isnan(residuals)])
    if not sizes.size:
        return PredictionSpread(floor, in_row)
    # 90 % of normal values are within 1.645 standard deviations.
    tail = float(np.quantile(sizes, 1 if len(logs) == 2 else 0.9)) / 1.645
    return PredictionSpread(
        max(floor, MAD_TO_SD * float(np.median(sizes)), tail), in_row
    )


@dataclass(frozen=True)
class SystemSpeeds:
    """The usual speed of each system relative to the median system of its host, by
    component.
    """

    study: StudyFacts

    def expected_log(self, cell: CellFact) -> float:
        """Return the expected log distance of a cell from the median of its row.

        It is the median over the other tools and metrics of the same component, 0
        without any.
        """
        logs = self._logs_in_other_kinds(cell)
        usual = float(np.median(logs)) if logs else 0.0
        return usual if cell.better == "higher" else -usual

    def is_ordinary_elsewhere(self, cell: CellFact) -> bool:
        logs = self._logs_in_other_kinds(cell)
        return bool(logs) and abs(float(np.median(logs))) < MAX_ORDINARY_LOG

    def _logs_in_other_kinds(self, cell: CellFact) -> list[float]:
        by_kind = self._by_kind.get((cell.column_key, cell.component), {})
        return [log for kind, log in by_kind.items() if kind != cell.sibling_key]

    @cached_property
    def _by_kind(self) -> Mapping[object, Mapping[object, float]]:
        speeds: dict[object, dict[object, float]] = defaultdict(dict)
        for table in sibling_tables(self.study.cells):
            sample = next(cell for row in table.cells for cell in row if cell)
            if sample.is_cpu_utilization or sample.better == "neither":
                continue
            sign = 1 if sample.better == "higher" else -1
            hosts: dict[str, list[int]] = defaultdict(list)
            for column, cells in enumerate(zip(*table.cells, strict=True)):
                hosts[next(cell.host for cell in cells if cell)].append(column)
            for columns in hosts.values():
                logs = table.logs[:, columns]
                has_several = (~np.isnan(logs)).sum(axis=1) > 1
                if has_several.any():
                    logs = logs[has_several]
                    distances = nanmedian(
                        logs - nanmedian(logs, axis=1)[:, None], axis=0
                    )
                    for column, log in zip(columns, distances, strict=True):
                        if not np.isnan(log):
                            key = (table.columns[column], sample.component)
                            speeds[key][sample.sibling_key] = sign * float(log)
        return speeds


def parse_size(text: str) -> float | None:
    """Parse ``4k``, ``65536 B``, ``1M`` or ``16``; return None for other text."""
    match = _NUMBER.fullmatch(text.strip())
    return float(match[1]) * _SIZES[match[2].lower()] if match else None


def curve_outliers(
    table: SiblingTable, residuals: Floats, min_distance: float
) -> Iterator[tuple[CellFact, float]]:
    """Yield points of curves that are above or below both neighbors.

    Each comes with its log distance from the nearer neighbor, which is at least
    ``min_distance``. Only cells without a prediction from siblings (``residuals`` NaN)
    form curves.
    """
    for column in range(len(table.columns)):
        pairs = zip(table.cells, residuals[:, column], strict=True)
        unpredicted = [row[column] for row, distance in pairs if np.isnan(distance)]
        for curve in _curves([cell for cell in unpredicted if cell]):
            logs = np.log([cell.mean for cell in curve])
            below = np.minimum(logs[:-2], logs[2:]) - logs[1:-1]
            above = logs[1:-1] - np.maximum(logs[:-2], logs[2:])
            distances = np.maximum(above, 0) - np.maximum(below, 0)
            for index in np.flatnonzero(np.abs(distances) >= min_distance):
                yield curve[index + 1], float(distances[index])


def _curves(cells: Sequence[CellFact]) -> Iterator[list[CellFact]]:
    groups: dict[object, list[tuple[float, CellFact]]] = defaultdict(list)
    for cell in cells:
        for key, text in cell.parameters.items():
            size = parse_size(text)
            if size is not None:
                rest = tuple(pair for pair in cell.parameters.items() if pair[0] != key)
                groups[key, rest].append((size, cell))
    for points in groups.values():
        if len(points) >= MIN_CURVE_POINTS:
            yield [cell for _, cell in sorted(points, key=lambda point: point[0])]


Distances = Mapping[Id, Sequence[float]]

RELIABLE_DIGITS: Final = 12
"""Significant digits of a quotient of two floats that are certain."""
MAX_SHORT_DIGITS: Final = 8
"""The quotient of two floats has so few digits by chance once in 10^4."""
MIN_SHORT_READINGS: Final = 2
"""If this many readings have room for one more decimal, the tool does not print it."""


@dataclass(frozen=True, slots=True)
class PrintedDigits:
    decimals: int
    digits: int
    integer_digits: int


@lru_cache(maxsize=1 << 16)
def printed_digits(value: float) -> PrintedDigits:
    """Return the digits of a reading without floating-point residue."""
    if not math.isfinite(value):
        return PrintedDigits(0, RELIABLE_DIGITS + 1, RELIABLE_DIGITS + 1)
    _, digits, exponent = Decimal(f"{value:.{RELIABLE_DIGITS}g}").normalize().as_tuple()
    exponent = int(exponent)
    return PrintedDigits(max(-exponent, 0), len(digits), len(digits) + exponent)


@dataclass(frozen=True)
class DigitComparison:
    """Comparison of a cell's printed digits with other cells of the same tool and
    metric.
    """

    study: StudyFacts

    def was_divided(self, cell: CellFact, factor: float) -> bool:
        originals = [factor * value for value in cell.readings]
        return self._looks_printed(cell, originals, RELIABLE_DIGITS - 1)

    def was_inverted(self, cell: CellFact, scale: float) -> bool:
        """Return whether a cell's readings are reciprocals of printed values.

        ``scale`` is 1, or the factor between a second and the unit of a time.
        """
        return all(value > 0 for value in cell.readings) and self._looks_printed(
            cell, [scale / value for value in cell.readings], MAX_SHORT_DIGITS
        )

    def cells_with_most_decimals(self) -> Mapping[Id, CellFact]:
        return {
            cell.id: cell
            for cell in self.study.cells
            if cell.mean > 0 and not cell.is_extreme and not cell.is_start_up
            if self.has_most_decimals(cell)
        }

    def has_most_decimals(self, cell: CellFact) -> bool:
        most = self._largest_decimals[cell.sibling_key]
        own = self._decimals[cell.id]
        return len(most) > 1 and own > (most[1] if own == most[0] else most[0])

    def _looks_printed(
        self, cell: CellFact, originals: Sequence[float], most: int
    ) -> bool:
        """Return whether ``originals`` have as few digits as the tool prints.

        They may have at most ``most`` significant digits. The cell must have more
        digits than the other cells, or than their number of decimals allows.
        """
        if not self.has_most_decimals(cell):
            return False
        printed = [printed_digits(value) for value in self._other_readings(cell)]
        decimals = max(reading.decimals for reading in printed)
        digits = max(reading.digits for reading in printed)
        # A tool that prints four digits prints one more decimal for smaller values.
        short_readings = sum(
            reading.integer_digits + decimals < digits for reading in printed
        )
        longest = max(printed_digits(value).digits for value in cell.readings)
        if longest <= digits and short_readings < MIN_SHORT_READINGS:
            return False
        return all(
            reading.decimals <= decimals and reading.digits <= most
            for reading in map(printed_digits, originals)
        )

    def _other_readings(self, cell: CellFact) -> Iterator[float]:
        for other in self._kinds[cell.sibling_key]:
            if other.id != cell.id:
                yield from other.readings

    @cached_property
    def _kinds(self) -> Mapping[object, list[CellFact]]:
        kinds: dict[object, list[CellFact]] = defaultdict(list)
        for cell in self.study.cells:
            kinds[cell.sibling_key].append(cell)
        return kinds

    @cached_property
    def _decimals(self) -> Mapping[object, int]:
        return {
            cell.id: max(printed_digits(value).decimals for value in cell.readings)
            for cell in self.study.cells
        }

    @cached_property
    def _largest_decimals(self) -> Mapping[object, list[int]]:
        return {
            kind: sorted((self._decimals[c.id] for c in cells), reverse=True)[:2]
            for kind, cells in self._kinds.items()
        }


def expectation_distances(study: StudyFacts, cells: Mapping[Id, CellFact]) -> Distances:
    """Map cells to the log ratios of their mean to each of their expected values."""
    if not cells:
        return {}
    distances: dict[Id, list[float]] = defaultdict(list)
    for cell, neighbors in _row_neighbors(study, cells):
        expected = median(math.log(other.mean) for other in neighbors)
        distances[cell.id].append(math.log(cell.mean) - expected)
    for table in (*sibling_tables(study.cells), *emulated_sibling_tables(study.cells)):
        members = [cell for row in table.cells for cell in row]
        if any(cell and cell.id in cells for cell in members):
            for member, residual in zip(
                members, sibling_residuals(table.logs).flat, strict=True
            ):
                if member and member.id in cells and not math.isnan(residual):
                    distances[member.id].append(float(residual))
    return distances


def _row_neighbors(
    study: StudyFacts, cells: Mapping[Id, CellFact]
) -> Iterator[tuple[CellFact, list[CellFact]]]:
    """Yield each cell with the other cells of its host and case.

    If some of them have the same emulation layers, yield the cell with only these
    first.
    """
    rows: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if cell.mean > 0:
            rows[cell.host, cell.case, cell.sibling_key, *cell.circumstances].append(
                cell
            )
    for row in rows.values():
        for cell in row:
            if cell.id not in cells:
                continue
            others = [neighbor for neighbor in row if neighbor.id != cell.id]
            same_emulation = [
                neighbor
                for neighbor in others
                if neighbor.emulation_layers == cell.emulation_layers
            ]
            yield from (
                (cell, neighbors) for neighbors in (same_emulation, others) if neighbors
            )
