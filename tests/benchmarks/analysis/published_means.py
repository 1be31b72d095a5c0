"""Worlds of which only means and standard deviations of runs are published."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import t as student_t

from benchmarks.analysis.intervals import RunStatistics, known_ranges
from benchmarks.analysis.sessions import SessionStatistics
from benchmarks.analysis.verdict_gates import gates_from_issues
from benchmarks.analysis.verdicts import Verdict, assess_cells

Floats = NDArray[np.float64]
LEVEL: Final = 1000.0
SLOW_DAYS: Final = 0.36


def normal_runs(generator: Generator, shape: tuple[int, int], noise: float) -> Floats:
    return 1 + generator.normal(0, noise, shape)


def skewed_runs(generator: Generator, shape: tuple[int, int], noise: float) -> Floats:
    return np.exp(generator.normal(0, noise, shape))


def heavy_runs(generator: Generator, shape: tuple[int, int], noise: float) -> Floats:
    return np.exp(noise * generator.standard_t(3, shape) / np.sqrt(3))


def two_speed_runs(
    generator: Generator, shape: tuple[int, int], noise: float
) -> Floats:
    return np.where(generator.random(shape) < SLOW_DAYS, 0.4, 1.0) * normal_runs(
        generator, shape, noise
    )


@dataclass(frozen=True)
class PublishedWorld:
    """Each side ran on one day, whose effect is ``day`` (standard deviation of the
    logarithm), or on days of which some are slower by the factor ``slow_day``.

    ``error`` is what the source calls a deviation; ``step`` the last printed digit,
    relative to the level.
    """

    name: str
    runs: Callable[[Generator, tuple[int, int], float], Floats] = normal_runs
    noise: float = 0.03
    day: float = 0.0
    day_df: float = np.inf
    slow_day: float = 1.0
    error: str = "deviation"
    step: float = 1e-4


PUBLISHED_WORLDS: Final = (
    PublishedWorld("runs of 3 %, no days"),
    PublishedWorld("runs of 30 %, no days", noise=0.3),
    PublishedWorld("lognormal runs of 100 %, no days", skewed_runs, noise=1.0),
    PublishedWorld("heavy-tailed runs (t3) of 30 %, no days", heavy_runs, noise=0.3),
    PublishedWorld("runs at two speeds, 1 and 0.4, no days", two_speed_runs),
    PublishedWorld("days of 3 %", day=0.03),
    PublishedWorld("days of 10 %", day=0.1),
    PublishedWorld("days of 20 %", day=0.2),
    PublishedWorld("heavy-tailed days (t3) of 10 %", day=0.1, day_df=3),
    PublishedWorld("a third of the days 30 % slower", slow_day=0.7),
    PublishedWorld("days of 10 %, standard errors", day=0.1, error="standard error"),
    PublishedWorld(
        "lognormal runs of 100 %, standard errors",
        skewed_runs,
        noise=1.0,
        error="standard error",
    ),
    PublishedWorld("days of 10 %, 95 % half widths", day=0.1, error="half width"),
    PublishedWorld("days of 10 %, one digit", day=0.1, step=0.1),
)


def published_words(
    generator: Generator, world: PublishedWorld, cells: int, n: int, truth: float
) -> NDArray[np.int8]:
    """Return the verdicts, 0 without one."""
    guest, native = (
        _published(generator, world, cells, n, LEVEL * level) for level in (truth, 1.0)
    )
    gates = gates_from_issues(["summarized"] * cells)
    assessed = assess_cells(
        guest[0],
        native[0],
        True,
        sessions=(guest[1], native[1]),
        side_gates=(gates, gates),
    )
    verdict = assessed.verdict
    return np.where(verdict < Verdict.NOT_ASSESSED, verdict, 0).astype(np.int8)


def _published(
    generator: Generator, world: PublishedWorld, cells: int, n: int, level: float
) -> tuple[RunStatistics, SessionStatistics]:
    drawn = (
        generator.normal(size=cells)
        if np.isinf(world.day_df)
        else generator.standard_t(world.day_df, cells)
    )
    day = np.exp(world.day * drawn)
    day = day * np.where(generator.random(cells) < SLOW_DAYS, world.slow_day, 1.0)
    values = level * day[:, None] * world.runs(generator, (cells, n), world.noise)
    deviation = values.std(axis=1, ddof=1)
    if world.error != "deviation":
        deviation = deviation / np.sqrt(n)
    if world.error == "half width":
        deviation = deviation * student_t.ppf(0.975, n - 1)
    step = world.step * LEVEL
    mean, deviation = (
        np.round(number / step) * step for number in (values.mean(axis=1), deviation)
    )
    side = RunStatistics.from_sums(
        np.full(cells, n), mean, deviation**2 * (n - 1), np.full(cells, step)
    )
    unknown = np.full(cells, np.nan)
    ranges = known_ranges(side, unknown, unknown)
    return side, SessionStatistics.one_session(side, *ranges)
