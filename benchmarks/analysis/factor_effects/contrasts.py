"""Regular two-level designs: every contrast, and which stand out from the others.

In a full design of k factors each of the 2^k - 1 products of columns is a contrast of
its own. In a regular fraction several products are one and the same column: they are
aliases, and only their sum is measured (Box, Hunter and Hunter, Statistics for
Experimenters, chapter "Fractional factorial designs at two levels").

R. V. Lenth, "Quick and Easy Analysis of Unreplicated Factorials", Technometrics 31
(1989) 469-473. Most contrasts of a design are chance; their median size measures it::

    s0 = 1.5 median |c|                     all m contrasts
    PSE = 1.5 median |c| of |c| < 2.5 s0    those that may be chance
    ME = t(0.975; m/3) PSE
    SME = t((1 + 0.95^(1/m)) / 2; m/3) PSE

A contrast beyond ME may be real; of all chance contrasts of a design together, one goes
beyond SME in at most 5 % of designs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from benchmarks.analysis.factor_effects.design import (
    ROUNDING,
    Factor,
    Levels,
    Term,
)
from benchmarks.analysis.intervals import Floats

MOST_FACTORS: Final = 8
FEWEST: Final = 7
"""A design of 8 cells; 3 contrasts would have one degree of freedom."""
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Contrast:
    """The first term's column of -1 and 1, and all terms it stands for.

    The simplest terms come first; those of the same column turned round count as well.
    """

    terms: tuple[Term, ...]
    column: tuple[float, ...]

    @property
    def simplest(self) -> tuple[Term, ...]:
        """The terms of lowest order: one if the contrast has one meaning."""
        order = len(self.terms[0])
        return tuple(term for term in self.terms if len(term) == order)


@dataclass(frozen=True, slots=True)
class Lenth:
    """Pseudo standard error and margins, in the unit of the contrasts."""

    contrasts: int
    pse: float
    me: float
    sme: float


def regular_contrasts(
    factors: Sequence[Factor], systems: Sequence[Levels]
) -> tuple[Contrast, ...]:
    """All contrasts of a full or regular fractional two-level design, else none."""
    has_two_levels = all(len(factor.levels) == 2 for factor in factors)
    if not 0 < len(factors) <= MOST_FACTORS or not has_two_levels:
        return ()
    mains = {factor: factor.columns(systems)[:, 0] for factor in factors}
    # A 0 is a level that a system does not state: no such design is regular.
    if not all(column.all() for column in mains.values()):
        return ()
    aliases: dict[bytes, list[tuple[Term, Floats]]] = {}
    for order in range(1, len(factors) + 1):
        for term in combinations(factors, order):
            column = np.prod([mains[factor] for factor in term], axis=0)
            # A column and its negative are one contrast: here all begin with 1.
            turned = column * column[0]
            aliases.setdefault(turned.tobytes(), []).append((term, column))
    contrasts = [
        Contrast(tuple(term for term, _ in members), tuple(members[0][1]))
        for members in aliases.values()
        # A product that never changes is the mean's column, not a contrast.
        if np.ptp(members[0][1])
    ]
    # Contrasts and mean must take the responses apart completely: orthogonal, and as
    # many as there are systems.
    columns = [contrast.column for contrast in contrasts]
    matrix = np.array([np.ones(len(systems)), *columns])
    if len(matrix) != len(systems):
        return ()
    is_orthogonal = np.allclose(matrix @ matrix.T, len(systems) * np.eye(len(systems)))
    return tuple(contrasts) if is_orthogonal else ()


def lenth(contrasts: Floats) -> Lenth | None:
    """Judge contrasts of equal variance; None where they are too few or mostly 0."""
    sizes = np.abs(contrasts)
    m = len(sizes)
    if m < FEWEST:
        return None
    # Exactly at the limit is beyond it, on whichever side rounding put it.
    within = sizes[sizes < 2.5 * 1.5 * np.median(sizes) - ROUNDING]
    pse = 1.5 * float(np.median(within)) if len(within) else 0.0
    if pse < ROUNDING:
        return None
    together = (1 + CONFIDENCE ** (1 / m)) / 2
    return Lenth(
        contrasts=m,
        pse=pse,
        me=float(stdtrit(m / 3, (1 + CONFIDENCE) / 2)) * pse,
        sme=float(stdtrit(m / 3, together)) * pse,
    )


def half_normal(contrasts: Floats) -> Floats:
    """Where each contrast's size belongs on the half-normal axis (Daniel 1959).

    The i-th smallest of m stands at the quantile 0.5 + 0.5 (i - 0.5) / m.
    """
    m = len(contrasts)
    ranks = np.argsort(ascending(np.abs(contrasts)))
    quantiles: Floats = ndtri(0.5 + 0.5 * (ranks + 0.5) / m)
    return quantiles


def ascending(sizes: Floats) -> NDArray[np.intp]:
    """The places of the sizes, the smallest first.

    Sizes that only rounding tells apart are equal and stay in their order: else the
    order of the systems, in which a sum is taken, would decide which comes first.
    """
    order = np.argsort(sizes, kind="stable")
    is_larger = np.diff(sizes[order], prepend=-np.inf) > ROUNDING
    tiers = np.empty(len(sizes))
    tiers[order] = np.cumsum(is_larger)
    return np.argsort(tiers, kind="stable")
