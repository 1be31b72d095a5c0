"""Which numbers can be a reading of a metric."""

from __future__ import annotations

import math
from sys import float_info
from typing import Final

from benchmarks import units
from benchmarks.errors import ValueRefusedError
from benchmarks.parsing.contract import Metric
from benchmarks.sentences import Sentence

# Sums of squares of larger numbers no longer fit into a double.
LARGEST: Final = 1e150


def check_value(metric: Metric, value: float, unit: str) -> float:
    """``value`` in the metric's unit, or the sentence why it is no reading of it.

    Refused are NaN, infinities, numbers too small or too large to be computed with,
    negative ones, and zero where zero means that the tool measured nothing.
    """
    number = _finite(metric, value)
    _refuse_impossible(metric, number)
    converted = units.convert(number, unit, metric.unit)
    _refuse_impossible(metric, converted)
    return converted


def _finite(metric: Metric, value: float) -> float:
    if isinstance(value, bool):
        raise _refusal(metric, value, Sentence("it is not a number"))
    try:
        number = float(value)
    except OverflowError:
        raise _refusal(
            metric, Sentence("a number"), Sentence("it is too large")
        ) from None
    if not math.isfinite(number):
        raise _refusal(metric, number, Sentence("it is not a finite number"))
    return number


def _refuse_impossible(metric: Metric, number: float) -> None:
    if number < 0:
        raise _refusal(metric, number, Sentence("it cannot be negative"))
    if number == 0 and not metric.zero_allowed:
        raise _refusal(
            metric,
            number,
            Sentence(
                "a working run never reads zero; leave the sample out if "
                "nothing was measured"
            ),
        )
    if 0 < number < float_info.min:
        raise _refusal(metric, number, Sentence("it is too small to be computed with"))
    if number > LARGEST:
        raise _refusal(metric, number, Sentence("it is too large to be computed with"))


def _refusal(metric: Metric, value: str | float, why: str) -> ValueRefusedError:
    return ValueRefusedError(
        Sentence(
            '"{metric}" cannot be {value}: {why}.',
            metric=metric.name,
            value=value,
            why=why,
        )
    )
