"""How much of the native machine's speed is left."""

from __future__ import annotations

import math
from typing import Literal

from benchmarks.errors import (
    UndirectedMetricError,
    ValueRefusedError,
    ZeroReadingError,
)
from benchmarks.sentences import Sentence


def efficiency(
    value: float, baseline: float, better: Literal["higher", "lower", "neither"]
) -> float:
    """VM / native where higher is better, native / VM where lower is.

    1 is native speed. Raises UndirectedMetricError for a metric without a better
    direction, and ZeroReadingError where one side reads 0 (an idle CPU): no ratio can
    be formed, and the caller shows that as the reason instead of a number.
    """
    if better == "neither":
        raise UndirectedMetricError(
            Sentence(
                "More of this metric is neither better nor worse: it has no efficiency."
            )
        )
    sides = ((Sentence("value"), value), (Sentence("baseline"), baseline))
    for side, number in sides:
        _refuse_unusable(side, number)
    ratio = value / baseline if better == "higher" else baseline / value
    if not 0 < ratio < math.inf:
        raise ValueRefusedError(
            Sentence(
                "{value} and its baseline {baseline} are too far apart for a ratio.",
                value=value,
                baseline=baseline,
            )
        )
    return ratio


def _refuse_unusable(side: Sentence, number: float) -> None:
    if number == 0:
        said = Sentence("The {side} is 0: no ratio can be formed.", side=side)
        raise ZeroReadingError(said)
    if not 0 < number < math.inf:
        said = Sentence(
            "The {side} is {number}: no ratio can be formed.", side=side, number=number
        )
        raise ValueRefusedError(said)
