"""How finely values were printed, and how much a run of a kind scatters."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks.plausibility.facts import CellFact

TYPICAL: Final[Mapping[str, float]] = {
    "CPU": 0.02,
    "memory": 0.03,
    "network": 0.05,
    "disk": 0.10,
    "power": 0.05,
    "application": 0.05,
}
"""The relative standard deviation of one run that a lab may publish with (method,
section 9): what a single printed value is believed to scatter by."""

NORMAL: Final = 1.4826
"""The median absolute deviation of a normal sample times this is its deviation."""
PRIOR_RUNS: Final = 4
"""The degrees of freedom that the noise of a kind counts for beside a cell's own."""
ENOUGH: Final = 8
"""The degrees of freedom from which on a study's own scatter replaces TYPICAL."""


@dataclass(frozen=True, slots=True)
class Precision:
    """The decimals and the significant digits that a set of values shows at most."""

    decimals: int
    digits: int

    def step(self, value: float) -> float:
        """The distance to the next value that could have been printed."""
        by_decimals = 10.0**-self.decimals
        if value == 0 or not math.isfinite(value):
            return by_decimals
        magnitude = math.floor(math.log10(abs(value))) + 1
        return max(by_decimals, 10.0 ** (magnitude - self.digits))


def precision(values: Iterable[float], decimals: int | None = None) -> Precision:
    """What the values themselves show; trailing zeros are lost in a number.

    ``decimals``, where known, is trusted if it is larger. Values of several magnitudes
    tell three significant digits (12500, 833, 4.15) from two decimals (125.25, 4.15).
    """
    most_decimals, most_digits = 0, 1
    for value in values:
        number = Decimal(repr(float(value))).normalize()
        _, digits, exponent = number.as_tuple()
        most_decimals = max(most_decimals, -int(exponent))
        most_digits = max(most_digits, len(digits))
    if decimals is not None and decimals > most_decimals:
        most_digits += decimals - most_decimals
        most_decimals = decimals
    return Precision(most_decimals, most_digits)


@dataclass(frozen=True, slots=True)
class Noise:
    """The relative standard deviation of one run, per kind of cell.

    A single value has no scatter of its own, and that of two or three is off by a
    factor 2 every other time. So the scatter of the study's cells of the same tool
    and metric (with 8 degrees of freedom or more), else of the same component, else
    ``TYPICAL``, counts as ``PRIOR_RUNS`` more degrees of freedom beside a cell's own.
    """

    by_kind: Mapping[tuple[str, ...], float]

    def of_kind(self, cell: CellFact) -> float:
        """One run's relative standard deviation in cells like this one."""
        for kind in _kinds(cell):
            if kind in self.by_kind:
                return self.by_kind[kind]
        return TYPICAL.get(cell.component, 0.05)

    def of_run(self, cell: CellFact) -> float:
        """One run's relative standard deviation in this cell."""
        prior, own = self.of_kind(cell), cell.variance
        if own is None or cell.mean == 0:
            return prior
        freedom = len(cell.means) - 1
        pooled = freedom * own / cell.mean**2 + PRIOR_RUNS * prior**2
        return math.sqrt(pooled / (freedom + PRIOR_RUNS))

    def of_mean(self, cell: CellFact) -> float:
        """The relative standard error of the cell's mean."""
        return self.of_run(cell) / math.sqrt(max(cell.n, 1))


def observed_noise(cells: Iterable[CellFact]) -> Noise:
    """Pool the relative variances of the cells that have several runs.

    A fifth of the cells, those with the largest variance, is left out: a cell of two
    speeds or with a slip must not make its neighbours look noisy.
    """
    variances: dict[tuple[str, ...], list[tuple[float, int]]] = defaultdict(list)
    for cell in cells:
        own = cell.variance
        if own is not None and cell.mean != 0:
            for kind in _kinds(cell):
                pair = (own / cell.mean**2, len(cell.means) - 1)
                variances[kind].append(pair)
    by_kind = {kind: _pooled(pairs) for kind, pairs in variances.items()}
    return Noise({kind: sd for kind, sd in by_kind.items() if sd is not None})


def _pooled(pairs: list[tuple[float, int]]) -> float | None:
    kept = sorted(pairs)[: max(1, math.ceil(0.8 * len(pairs)))]
    freedom = sum(each for _, each in kept)
    if freedom < ENOUGH:
        return None
    return math.sqrt(sum(variance * each for variance, each in kept) / freedom)


def _kinds(cell: CellFact) -> tuple[tuple[str, ...], ...]:
    return ((cell.component, cell.tool, cell.metric), (cell.component,))
