"""What a study may be published as: rule set 1 of the method.

Draft: anything. Lab: at least five runs a cell, dispersion within the limit of its
component, and a complete disclosure. Verified: a second lab measured it too, or a
reviewer of another lab signed it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from benchmarks.analysis.disclosure import undisclosed

RULE_SET: Final = 1
ENOUGH_RUNS: Final = 5
# The largest standard deviation between runs, as a part of their mean.
DISPERSION: Final[Mapping[str, float]] = {
    "CPU": 0.02,
    "memory": 0.03,
    "network": 0.05,
    "disk": 0.10,
    "power": 0.05,
}
Level = Literal["draft", "lab", "verified"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCell:
    """A cell as publishing looks at it: runs, mean, sample variance (None below 2)."""

    id: int
    label: str
    component: str
    n: int
    mean: float
    variance: float | None

    @property
    def dispersion(self) -> float | None:
        """The standard deviation between runs as a part of their mean."""
        if self.variance is None or self.mean <= 0:
            return None
        return math.sqrt(self.variance) / self.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What a study may be published as, and all that is missing for the next level.

    ``few_runs`` and ``dispersed`` are cells; ``undisclosed`` are things not stated, by
    what they belong to.
    """

    level: Level
    cells: int
    few_runs: tuple[MeasuredCell, ...]
    dispersed: tuple[MeasuredCell, ...]
    undisclosed: Mapping[str, tuple[str, ...]]
    verified_by: tuple[str, ...]
    rule_set: int = RULE_SET


def assess(
    cells: Sequence[MeasuredCell],
    stated: Mapping[str, frozenset[str]],
    *,
    verified_by: Sequence[str] = (),
) -> Assessment:
    """Judge a study by rule set 1.

    ``stated`` are the names of facts that are stated everywhere, by host, hypervisor,
    guest and benchmark; ``verified_by`` the other labs that replicated or signed it. A
    study without cells is a draft.
    """
    few = tuple(cell for cell in cells if cell.n < ENOUGH_RUNS)
    dispersed = tuple(cell for cell in cells if _is_dispersed(cell))
    missing = undisclosed(stated)
    is_ready = bool(cells) and not (few or dispersed or missing)
    level: Level = "draft"
    if is_ready:
        level = "verified" if verified_by else "lab"
    return Assessment(
        level=level,
        cells=len(cells),
        few_runs=few,
        dispersed=dispersed,
        undisclosed=missing,
        verified_by=tuple(verified_by),
    )


def _is_dispersed(cell: MeasuredCell) -> bool:
    limit, dispersion = DISPERSION.get(cell.component), cell.dispersion
    return limit is not None and dispersion is not None and dispersion > limit
