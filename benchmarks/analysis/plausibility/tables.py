"""Cells as tables of logarithms: what a cell should read, given all the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.plausibility.facts import CellFact, Column
from benchmarks.analysis.plausibility.findings import Id

Floats = NDArray[np.float64]
SIBLINGS: Final = 24
"""A median over more columns than these says nothing more and costs time."""
NORMAL: Final = 1.4826
"""The median absolute deviation of a normal sample times this is its deviation."""


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
    """One table for each tool and metric, of the cells that read more than 0."""
    kinds: dict[tuple[str, str, str], list[CellFact]] = defaultdict(list)
    for cell in cells:
        if cell.mean > 0:
            kinds[cell.kind].append(cell)
    return map(_table, kinds.values())


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
    nothing = np.isnan(values).all(axis=axis)
    filled = np.where(np.expand_dims(nothing, axis), 0.0, values)
    found: Floats = np.nanmedian(filled, axis=axis)
    return np.where(nothing, np.nan, found)
