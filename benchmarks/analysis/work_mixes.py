"""Relative performance of a mix of work, from the effects of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, hypot, isclose


@dataclass(frozen=True, slots=True)
class MixPart:
    """A part of a mix: its share of the work, and its effect on the log scale.

    ``interval`` is where the effect is expected, such as a prediction interval.
    """

    share: float
    log_ratio: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class MixEffect:
    """The weighted mean of the log ratios of a mix.

    ``interval`` allows for parts that vary together, because all run on one machine.
    ``independent`` is narrower: parts vary independently of each other.
    """

    log_ratio: float
    interval: tuple[float, float]
    independent: tuple[float, float]


def mix_effect(parts: Sequence[MixPart]) -> MixEffect:
    """Return the effect of a mix whose shares sum to 1.

    The distances of the ends from the means are added, or their squares (the method of
    variance estimates recovery by Zou and Donner, Statistics in Medicine 27 (2008)).
    A standard deviation of a sum is at most the sum of the standard deviations, so
    ``interval`` covers any correlation of the parts.
    """
    if not parts or not isclose(fsum(part.share for part in parts), 1, abs_tol=1e-9):
        raise ValueError("The shares of a mix must sum to 1.")
    mean = fsum(part.share * part.log_ratio for part in parts)
    below = [part.share * (part.log_ratio - part.interval[0]) for part in parts]
    above = [part.share * (part.interval[1] - part.log_ratio) for part in parts]
    return MixEffect(
        mean,
        (mean - fsum(below), mean + fsum(above)),
        (mean - hypot(*below), mean + hypot(*above)),
    )
