"""How finely values were printed, and how much a run of a kind scatters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from benchmarks.analysis.plausibility.facts import CellFact

TYPICAL_NOISE: Final[Mapping[str, float]] = {
    "CPU": 0.02,
    "memory": 0.03,
    "network": 0.05,
    "disk": 0.10,
    "power": 0.05,
    "application": 0.05,
}
"""The relative standard deviation of one run that a lab may publish with (method,
section 9): what a single printed value is believed to scatter by."""

PRIOR_RUNS: Final = 4
"""How many runs the typical noise counts for beside a cell's own scatter."""


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
        number = Decimal(repr(value)).normalize()
        _, digits, exponent = number.as_tuple()
        most_decimals = max(most_decimals, -int(exponent))
        most_digits = max(most_digits, len(digits))
    if decimals is not None and decimals > most_decimals:
        most_digits += decimals - most_decimals
        most_decimals = decimals
    return Precision(most_decimals, most_digits)


def relative_noise(cell: CellFact) -> float:
    """The relative standard deviation of one run of a cell.

    A single value has no scatter of its own: its component's typical noise stands in.
    Few runs hardly have one (the deviation of two is off by a factor 2 every other
    time), so the typical noise counts as ``PRIOR_RUNS`` more degrees of freedom.
    """
    typical = TYPICAL_NOISE.get(cell.component, 0.05)
    own = cell.variance
    if own is None or cell.mean == 0:
        return typical
    freedom = len(cell.means) - 1
    pooled = freedom * own / cell.mean**2 + PRIOR_RUNS * typical**2
    return math.sqrt(pooled / (freedom + PRIOR_RUNS))


def standard_error(cell: CellFact) -> float:
    """The relative standard error of a cell's mean."""
    return relative_noise(cell) / math.sqrt(max(cell.n, 1))
