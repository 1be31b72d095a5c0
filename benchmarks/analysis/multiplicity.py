"""Many cells at once: some of many true nulls look decided by chance.

Benjamini and Hochberg, "Controlling the false discovery rate", Journal of the Royal
Statistical Society B 57 (1995). A cell makes one claim of three (slower, faster,
equivalent) and its p bounds the chance that this claim is wrong, whichever of the
others is true. So the rate bounds the expected share of wrong verdicts among all that
are given, as with directions in Benjamini and Yekutieli, JASA 100 (2005).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.student import Floats
from benchmarks.analysis.verdicts import Judgements, Verdict

RATE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Correction:
    """Which of many p values count, in the shape they came in.

    ``adjusted`` is the smallest rate at which each would; NaN where nothing was tested.
    """

    adjusted: Floats
    counts: NDArray[np.bool_]
    tested: int


def benjamini_hochberg(p_values: ArrayLike, rate: float = RATE) -> Correction:
    """Correct p values of any shape; NaN are not tests and do not count as such."""
    p = np.asarray(p_values, dtype=float)
    is_test = ~np.isnan(p)
    tested = p[is_test]
    order = np.argsort(tested)
    steps = tested[order] * tested.size / np.arange(1, tested.size + 1)
    adjusted = np.full(p.shape, np.nan)
    corrected = np.empty_like(tested)
    corrected[order] = np.minimum.accumulate(steps[::-1])[::-1]
    adjusted[is_test] = corrected
    return Correction(adjusted, adjusted <= rate, tested.size)


def correct(judgements: Judgements, rate: float = RATE) -> Judgements:
    """Return the judgements of cells that are looked at together.

    A verdict that does not survive becomes undetermined; ``direction`` still says where
    its interval lies and ``tested`` among how many it was lost. Cells that are not
    assessed are not tested.
    """
    correction = benjamini_hochberg(judgements.p_values(), rate)
    is_lost = ~correction.counts & (judgements.verdict < Verdict.NOT_ASSESSED)
    verdict = np.where(is_lost, Verdict.UNDETERMINED, judgements.verdict)
    return replace(
        judgements, verdict=verdict.astype(np.int8), tested=correction.tested
    )
