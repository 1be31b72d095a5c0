"""Curves over one numeric parameter: block sizes, array sizes, threads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from benchmarks.plausibility.facts import CellFact
from benchmarks.plausibility.tables import Floats, Table

POINTS: Final = 5
"""A curve of fewer points may have any shape."""
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgG]?)(?:i?B)?")
_SIZES: Final = {"": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30}


def number(text: str) -> float | None:
    """``4k``, ``65536 B``, ``1M`` or ``16`` as a number; None for other texts."""
    found = _NUMBER.fullmatch(text.strip())
    return float(found[1]) * _SIZES[found[2].lower()] if found else None


def off_the_curve(
    table: Table, off: Floats, least: float
) -> Iterator[tuple[CellFact, float]]:
    """Inner points that lie outside both their neighbours by at least ``least``.

    Only cells for which no other column predicts anything: a curve may have a step (a
    cache ends), but no single point of it can be far above or below both neighbours.
    """
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
            at = number(text)
            if at is not None:
                rest = tuple(pair for pair in cell.parameters.items() if pair[0] != key)
                groups[key, rest].append((at, cell))
    for members in groups.values():
        if len(members) >= POINTS:
            yield [cell for _, cell in sorted(members, key=lambda each: each[0])]
