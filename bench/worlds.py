"""Worlds of known truth: how runs vary within a session, and days between sessions.

A world draws the run means of many cells at once: an array of cells x sessions x runs
whose mean is 1 in the long run. Two sides are drawn apart; what a day does to both at
once comes on top (``days``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Runs = NDArray[np.float64]
"""Cells x sessions x runs."""
Size = tuple[int, int, int]
Draw = Callable[[Generator, Size], Runs]

NOISE: Final = 0.02
QUIET: Final = 0.005
STEP: Final = 0.01
"""The last digit of a coarse clock, in parts of the value."""


@dataclass(frozen=True)
class World:
    """How runs vary; ``step`` is the last digit of what is read, 0 if exact."""

    name: str
    draw: Draw
    step: float = 0.0


def independent(noise: float) -> Draw:
    """Runs that know nothing of each other."""

    def draw(generator: Generator, size: Size) -> Runs:
        return 1 + noise * generator.normal(size=size)

    return draw


def dependent(rho: float) -> Draw:
    """Each run is partly the one before it: AR(1), stationary in each session."""

    def draw(generator: Generator, size: Size) -> Runs:
        drawn = generator.normal(size=size)
        for run in range(1, size[2]):
            drawn[..., run] *= np.sqrt(1 - rho**2)
            drawn[..., run] += rho * drawn[..., run - 1]
        return np.asarray(1 + NOISE * drawn, dtype=float)

    return draw


def two_modes(generator: Generator, size: Size) -> Runs:
    """Two speeds 6 % apart, each run at either by the same chance."""
    speed = np.where(generator.random(size) < 0.5, 0.97, 1.03)
    return np.asarray(speed + QUIET * generator.normal(size=size), dtype=float)


def drift(generator: Generator, size: Size) -> Runs:
    """A line of 4 % over each session, up or down on each side by itself."""
    slope = 0.04 * generator.choice([-1.0, 1.0], size=(*size[:2], 1))
    line = slope * (np.linspace(-0.5, 0.5, size[2]) if size[2] > 1 else 0.0)
    return np.asarray(1 + line + QUIET * generator.normal(size=size), dtype=float)


def outliers(generator: Generator, size: Size) -> Runs:
    """4 % of the runs are 30 % slower than the others."""
    slow = generator.random(size) < 0.04
    drawn = np.where(slow, 0.7, 1.0) / (0.96 + 0.04 * 0.7)
    return np.asarray(drawn + QUIET * generator.normal(size=size), dtype=float)


def cold_start(generator: Generator, size: Size) -> Runs:
    """The first run of a session is 5 % slow, on each side by half a chance."""
    drawn = 1 + NOISE * generator.normal(size=size)
    drawn[..., 0] *= generator.choice([0.95, 1.0], size=size[:2])
    return np.asarray(drawn, dtype=float)


WORLDS: Final = (
    World("independent", independent(NOISE)),
    World("AR(1) 0.2", dependent(0.2)),
    World("AR(1) 0.5", dependent(0.5)),
    World("AR(1) 0.8", dependent(0.8)),
    World("two modes 6 % apart", two_modes),
    World("drift 4 %", drift),
    World("4 % outliers", outliers),
    World("coarse clock", independent(QUIET), STEP),
    World("first run 5 % slow", cold_start),
)


@dataclass(frozen=True)
class Layout:
    """Which sessions the sides of a cell were measured in.

    ``shared`` of them are those of both; ``is_dated``: somebody knows which.
    """

    name: str
    own: int
    other: int
    shared: int = 0
    is_dated: bool = True


LAYOUTS: Final = (
    *(Layout(f"{s} shared sessions", s, s, s) for s in (2, 3, 5, 10)),
    Layout("one shared session", 1, 1, 1),
    *(Layout(f"{s} and {s} sessions", s, s) for s in (2, 3, 5, 10)),
    *(Layout(f"{s} native sessions, 1 of the guest", 1, s) for s in (3, 5, 10)),
    Layout("one session each", 1, 1),
    Layout("one session each, times unknown", 1, 1, is_dated=False),
)


def days(
    generator: Generator, cells: int, layout: Layout, sd: float
) -> tuple[Runs, Runs]:
    """Return what the day does to each session of both sides: cells x sessions x 1.

    ``sd`` is the standard deviation of its logarithm; shared sessions come first.
    """
    own = generator.normal(0, sd, (cells, layout.own, 1))
    other = generator.normal(0, sd, (cells, layout.other, 1))
    other[:, : layout.shared] = own[:, : layout.shared]
    return np.exp(own), np.exp(other)
