"""Cells as tables of logarithms: what a cell should read, given all the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.plausibility.facts import CellFact, Column
from benchmarks.plausibility.findings import Id
from benchmarks.plausibility.precision import NORMAL

Floats = NDArray[np.float64]
SIBLINGS: Final = 24
"""A median over more columns than these says nothing more and costs time."""

MANY: Final = 4
SMALL: Final = 400
"""In a table of more cells than these a single one weighs nothing."""
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of one kind: rows are cases, columns systems under circumstances.

    ``logs`` are natural logarithms of the means, NaN where a column lacks the case.
    """

    rows: tuple[Id, ...]
    columns: tuple[Column, ...]
    cells: tuple[tuple[CellFact | None, ...], ...]
    logs: Floats


def tables(cells: Iterable[CellFact]) -> Iterator[Table]:
    """One table for each tool and metric, of the cells that read more than 0.

    A processor that a program imitates is 10 to 200 times slower than a real one, and
    by another factor for each instruction: it predicts nothing of real ones, and they
    nothing of it. Such systems have their own tables, one for all of the same layers.
    """
    return map(_table, _grouped(cells, lambda cell: cell.emulation))


def emulated_tables(cells: Iterable[CellFact]) -> Iterator[Table]:
    """All emulated systems of a tool and metric, of whatever layers, in one table.

    How much their factors differ from case to case shows where there are four or more:
    there each cell can be set against the others.
    """
    emulated = (cell for cell in cells if cell.emulation)
    found = map(_table, _grouped(emulated, lambda cell: ""))
    return (table for table in found if len(table.rows) >= MANY)


def _grouped(
    cells: Iterable[CellFact], apart: Callable[[CellFact], str]
) -> Iterable[list[CellFact]]:
    kinds: dict[tuple[str, ...], list[CellFact]] = defaultdict(list)
    for cell in cells:
        if cell.mean > 0:
            kinds[*cell.kind, apart(cell)].append(cell)
    return kinds.values()


def _table(cells: Sequence[CellFact]) -> Table:
    rows = tuple(dict.fromkeys(cell.case for cell in cells))
    columns = tuple(dict.fromkeys(cell.column for cell in cells))
    at = {(cell.case, cell.column): cell for cell in cells}
    grid = tuple(tuple(at.get((row, column)) for column in columns) for row in rows)
    logs = np.array(
        [[np.nan if cell is None else np.log(cell.mean) for cell in r] for r in grid]
    )
    return Table(rows, columns, grid, logs)


def nanmedian(values: Floats, axis: int) -> Floats:
    """The median of what is known, NaN where nothing is (and no warning)."""
    if values.shape[axis] == 0:
        return np.full(np.delete(values.shape, axis), np.nan)
    nothing = np.isnan(values).all(axis=axis)
    filled = np.where(np.expand_dims(nothing, axis), 0.0, values)
    found: Floats = np.nanmedian(filled, axis=axis)
    return np.where(nothing, np.nan, found)


def residuals(logs: Floats) -> Floats:
    """How far each cell lies from what its siblings predict, as a log ratio.

    Another column predicts a cell by its own value of that row and by the median
    distance between the two columns over all *other* rows; the prediction is the median
    over the columns. So a system may be slower throughout, a row faster throughout, and
    one wrong cell moves no prediction but its own. NaN where two columns share no other
    row. With two rows nothing tells which of them holds the wrong cell: the one that
    is out of line with its row as it stands.
    """
    result = np.full(logs.shape, np.nan)
    for column in range(logs.shape[1]):
        # The columns that share most rows with this one.
        known = ~np.isnan(logs)
        shared = (known & known[:, [column]]).sum(axis=0)
        shared[column] = 0
        order = np.argsort(-shared, kind="stable")[:SIBLINGS]
        found: NDArray[np.intp] = order[shared[order] > 0]
        others = found
        if others.size:
            result[:, column] = _off(logs[:, column], logs[:, others])
    return result


def _off(own: Floats, others: Floats) -> Floats:
    distances = own[:, None] - others
    result: Floats = nanmedian(distances - _shift_elsewhere(distances), axis=1)
    if len(own) == 2:
        bare = nanmedian(distances, axis=1)
        agrees = bare * result >= result**2 / 2
        return np.where(agrees, result, 0.0)
    return result


def _shift_elsewhere(distances: Floats) -> Floats:
    """For each row the median distance to each column over all other rows."""
    rows = len(distances)
    if rows > 12:  # one row more or less moves no median by much
        return np.broadcast_to(nanmedian(distances, axis=0), distances.shape)
    others = np.broadcast_to(distances, (rows, *distances.shape)).copy()
    others[np.arange(rows), np.arange(rows)] = np.nan
    return nanmedian(others, axis=1)


def spread_without(logs: Floats, off: Floats, cell: Place, floor: float) -> float:
    """How well the predictions work without a cell: a robust standard deviation.

    The larger of the scaled median and the 90th percentile of the residuals: the second
    sees that systems differ in more than their speed. With two rows the largest one
    stands for it, for there half of the residuals are 0.
    """
    if logs.size <= SMALL:
        rest = logs.copy()
        rest[cell] = np.nan
        off = residuals(rest)
    known = np.abs(off[~np.isnan(off)])
    if not known.size:
        return floor
    tail = float(np.quantile(known, 1 if len(logs) == 2 else 0.9)) / 1.645
    return max(floor, NORMAL * float(np.median(known)), tail)
