"""Which contrasts of an unreplicated design stand out from the others.

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

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from benchmarks.analysis.factor_effects.factors import Array

FEWEST: Final = 7
"""A design of 8 cells; 3 contrasts would have one degree of freedom."""
CONFIDENCE: Final = 0.95
ROUNDING: Final = 1e-9
"""Differences of logarithms below this are not measured: equal values were printed."""


@dataclass(frozen=True, slots=True)
class Lenth:
    """Pseudo standard error and margins, in the unit of the contrasts."""

    contrasts: int
    pse: float
    me: float
    sme: float


def lenth(contrasts: Array) -> Lenth | None:
    """Judge contrasts of equal variance; None where they are too few or mostly 0."""
    sizes = np.abs(contrasts)
    m = len(sizes)
    if m < FEWEST:
        return None
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


def ascending(sizes: Array) -> NDArray[np.intp]:
    """The places of the sizes, the smallest first.

    Sizes that only rounding tells apart are equal and stay in their order: else the
    order of the systems, in which a sum is taken, would decide which comes first.
    """
    order = np.argsort(sizes, kind="stable")
    is_larger = np.diff(sizes[order], prepend=-np.inf) > ROUNDING
    tiers = np.empty(len(sizes))
    tiers[order] = np.cumsum(is_larger)
    return np.argsort(tiers, kind="stable")


def half_normal(contrasts: Array) -> Array:
    """Where each contrast's size belongs on the half-normal axis (Daniel 1959).

    The i-th smallest of m stands at the quantile 0.5 + 0.5 (i - 0.5) / m.
    """
    m = len(contrasts)
    ranks = np.argsort(ascending(np.abs(contrasts)))
    quantiles: Array = ndtri(0.5 + 0.5 * (ranks + 0.5) / m)
    return quantiles
