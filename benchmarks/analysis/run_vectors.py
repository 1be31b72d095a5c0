"""Runs of many cells, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.intervals import NO_WARNINGS, Floats
from benchmarks.analysis.sessions import Indices


@dataclass(frozen=True, slots=True)
class RunVectors:
    """Run means of one side, ordered by ``row`` (cell), ``session`` and start.

    ``start`` is in seconds, NaN if unknown. ``outliers`` has the number of dominating
    outliers of every cell (`cell_statistics.dominating_outliers`); cells without run
    means have 0.
    """

    row: Indices
    session: Indices
    value: Floats
    start: Floats
    outliers: Indices

    @classmethod
    def empty(cls, size: int) -> RunVectors:
        none = np.array([], dtype=np.int64)
        return cls(
            none,
            none,
            none.astype(float),
            none.astype(float),
            np.zeros(size, dtype=np.int64),
        )

    @property
    def counts(self) -> Indices:
        return np.bincount(self.row, minlength=self.outliers.size)

    @property
    @NO_WARNINGS
    def is_outlier(self) -> NDArray[np.bool_]:
        """Whether each run is one of its cell's outliers: the farthest from the median
        of their session.
        """
        group = self.groups
        distance = np.abs(self.value - _medians(group, self.value)[group])
        order = np.lexsort((-distance, self.row))
        first = np.cumsum(self.counts) - self.counts
        rank = np.arange(self.row.size) - first[self.row[order]]
        is_outlier = np.zeros(self.row.size, dtype=np.bool_)
        is_outlier[order] = rank < self.outliers[self.row[order]]
        return is_outlier

    @property
    def groups(self) -> Indices:
        """The number of each run's session, counted over all cells."""
        if not self.row.size:
            return self.row
        is_new = (np.diff(self.row) != 0) | (np.diff(self.session) != 0)
        return np.concatenate([[0], np.cumsum(is_new)])

    def without_outliers(self, rows: NDArray[np.bool_]) -> RunVectors:
        """Return the runs without the outliers of ``rows``."""
        is_selected = rows[self.row]
        kept = np.ones(self.row.size, dtype=np.bool_)
        kept[is_selected] = ~self.take(is_selected).is_outlier
        return self.take(kept)

    def take(self, is_taken: NDArray[np.bool_]) -> RunVectors:
        return RunVectors(
            self.row[is_taken],
            self.session[is_taken],
            self.value[is_taken],
            self.start[is_taken],
            self.outliers,
        )


def _medians(group: Indices, value: Floats) -> Floats:
    ordered = value[np.lexsort((value, group))]
    counts = np.bincount(group)
    first = np.cumsum(counts) - counts
    low, high = first + (counts - 1) // 2, first + counts // 2
    return np.asarray((ordered[low] + ordered[high]) / 2)
