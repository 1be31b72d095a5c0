"""Simulated cells with known true values, to measure the statistics.

Every kind of noise has mean 1 and standard deviation ``noise``; a cell's true value is
its mean. Also used by ``devtools.calibration``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy.stats import norm as normal_distribution
from scipy.stats import t as student_t

from benchmarks.analysis.intervals import Method, RunStatistics, log_ratio_intervals
from benchmarks.analysis.sessions import SessionStatistics
from benchmarks.analysis.verdicts import (
    Verdict,
    assess_cells,
    correct_for_multiple_tests,
)
from benchmarks.evidence.synthesis import BenchmarkAverage, syntheses_by_question
from tests.benchmarks.analysis.worlds import (
    POOL_TRUTH,
    PoolWorld,
    draw_machines,
)

Draw = Callable[[Generator, tuple[int, int]], np.ndarray]

SLOW_SHARE: Final = 0.36  # the share of slow runs of inqbus-server-b, which is bimodal


def _normal(generator: Generator, shape: tuple[int, int]) -> np.ndarray:
    drawn: np.ndarray = generator.normal(size=shape)
    return drawn


def _bimodal(generator: Generator, shape: tuple[int, int]) -> np.ndarray:
    """Return runs at two speeds, two standard deviations apart, with noise."""
    is_slow = generator.random(shape) < SLOW_SHARE
    drawn = 2.0 * is_slow + 0.3 * generator.normal(size=shape)
    # The variance between two speeds, 4 p (1 - p), plus that of the noise.
    spread = np.sqrt(4 * SLOW_SHARE * (1 - SLOW_SHARE) + 0.3**2)
    return np.asarray((drawn - 2 * SLOW_SHARE) / spread)


def _t3(generator: Generator, shape: tuple[int, int]) -> np.ndarray:
    # Student's t with three degrees of freedom has variance 3.
    return np.asarray(generator.standard_t(3, size=shape) / np.sqrt(3))


def _skewed(generator: Generator, shape: tuple[int, int]) -> np.ndarray:
    """Return runs with a long tail of slow ones (gamma of shape 2)."""
    return np.asarray((generator.gamma(2, size=shape) - 2) / np.sqrt(2))


STANDARD: Final[Mapping[str, Draw]] = {
    "normal": _normal,
    "two-speed": _bimodal,
    "t3": _t3,
    "skewed": _skewed,
}
KINDS: Final = ("normal", "lognormal", "two-speed", "t3", "skewed")


def runs(
    generator: Generator, kind: str, cells: int, n: int, *, noise: float
) -> np.ndarray:
    """Return ``n`` run means of each cell, whose true mean is 1."""
    if kind == "lognormal":
        # The mean of a lognormal, exp(mu + variance / 2), has to be 1.
        variance = np.log1p(noise**2)
        return generator.lognormal(-variance / 2, np.sqrt(variance), (cells, n))
    return 1 + noise * STANDARD[kind](generator, (cells, n))


def rolled(run_means: np.ndarray) -> RunStatistics:
    """Return the statistics that cells of these run means store."""
    n, mean = run_means.shape[1], run_means.mean(axis=1)
    m2 = ((run_means - mean[:, None]) ** 2).sum(axis=1)
    # Printed with enough digits that rounding does not matter.
    return RunStatistics.from_sums(
        np.full(len(mean), n), mean, m2, np.full(len(mean), 1e-9)
    )


def cells_of(
    generator: Generator,
    kind: str,
    cells: int,
    n: int,
    *,
    noise: float,
    truth: float | np.ndarray = 1.0,
) -> RunStatistics:
    """Return the statistics of cells whose true mean is ``truth``."""
    return rolled(truth * runs(generator, kind, cells, n, noise=noise))


@dataclass(frozen=True)
class Measured:
    """One side of many cells, as a whole and by session."""

    cells: RunStatistics
    sessions: SessionStatistics


def session_by_session(run_means: np.ndarray, days: np.ndarray) -> Measured:
    """Return the statistics of cells x sessions x runs; ``days`` names the sessions."""
    cells, sessions, n = run_means.shape
    flat = run_means.reshape(-1, n)
    of_sessions = rolled(flat)
    return Measured(
        rolled(run_means.reshape(cells, -1)),
        SessionStatistics.from_sums(
            np.repeat(np.arange(cells), sessions),
            np.tile(days, cells),
            of_sessions.n,
            of_sessions.mean,
            of_sessions.variance * (n - 1) if n > 1 else np.zeros(len(flat)),
            flat.min(axis=1),
            flat.max(axis=1),
            resolution=of_sessions.resolution,
        ),
    )


def days_apart(
    generator: Generator,
    cells: int,
    sessions: tuple[int, int],
    n: int,
    *,
    truth: float = 1.0,
    day: float = 0.03,
    noise: float = 0.02,
    is_shared: bool = False,
) -> tuple[Measured, Measured]:
    """Return cells and their baselines with effects of days.

    ``sessions`` are the numbers of sessions of the two sides, ``n`` the runs in each. A
    day affects both sides of a shared session equally: ``day`` is the standard
    deviation of its logarithm.
    """
    sides = []
    effect = generator.normal(0, day, (cells, sessions[0], 1))
    for place, (count, level) in enumerate(zip(sessions, (truth, 1.0), strict=True)):
        if place and not is_shared:
            effect = generator.normal(0, day, (cells, count, 1))
        first = 0 if is_shared else 1000 * place
        drawn = 1 + noise * generator.normal(size=(cells, count, n))
        days = np.arange(first, first + count)
        sides.append(session_by_session(level * np.exp(effect) * drawn, days))
    return sides[0], sides[1]


def covered(
    cell: RunStatistics, baseline: RunStatistics, truth: float | np.ndarray = 1.0
) -> float:
    """Return the share of the existing intervals that contain the true ratio."""
    intervals = log_ratio_intervals(cell, baseline, True)
    is_right = (intervals.low < truth) & (intervals.high > truth)
    return float(np.mean(is_right[intervals.method != Method.NONE]))


def shares(cell: RunStatistics, baseline: RunStatistics) -> dict[Verdict, float]:
    """Return how often each verdict is given."""
    counts = np.bincount(
        assess_cells(cell, baseline, True).verdict, minlength=len(Verdict)
    )
    return {verdict: counts[verdict] / len(cell.n) for verdict in Verdict}


def covered_when_rounded(
    generator: Generator,
    cells: int,
    n: int,
    *,
    noise: float,
    is_divided: bool = False,
) -> float:
    """Return the coverage of readings near 1000 that are printed without decimals.

    ``noise`` is in units of the last digit. ``is_divided``: as if the variance of the
    rounding were divided by n.
    """
    level = generator.uniform(1000, 1001, (2, cells, 1))
    exact = level + noise * generator.normal(size=(2, cells, n))
    cell, baseline = (_printed(each, is_divided) for each in np.round(exact))
    # The position between two digits matters, so each pair has its own true ratio.
    return covered(cell, baseline, truth=(level[0] / level[1])[:, 0])


def _printed(run_means: np.ndarray, is_divided: bool) -> RunStatistics:
    exact = rolled(run_means)
    digit = np.ones(len(exact.n))
    if is_divided:
        floored = np.maximum(exact.variance, digit / 12)
        # Unknown resolution, so that the variance is not floored a second time.
        return RunStatistics(exact.n, exact.mean, floored, digit * np.nan)
    return RunStatistics(exact.n, exact.mean, exact.variance, digit)


def wrong_among_many(
    generator: Generator, matrices: int, slower: int, *, cells: int = 200
) -> tuple[float, float]:
    """Return the share of wrong verdicts in a matrix, before and after correction.

    ``slower`` cells have a true ratio of 0.94; all others are at the edge of the
    equivalence margin, the worst case.
    """
    truth = np.full((cells, 1), 0.98)
    truth[:slower] = 0.94
    found = []
    for _ in range(matrices):
        cell = rolled(truth * runs(generator, "normal", cells, 5, noise=0.02))
        native = cells_of(generator, "normal", cells, 5, noise=0.02)
        judged = assess_cells(cell, native, True)
        wrong = []
        for verdict in (judged.verdict, correct_for_multiple_tests(judged).verdict):
            given = verdict != Verdict.UNDETERMINED
            right = (np.arange(cells) < slower) & (verdict == Verdict.SLOWER)
            wrong.append(float((given & ~right).sum() / max(given.sum(), 1)))
        found.append(wrong)
    before, after = np.mean(found, axis=0)
    return float(before), float(after)


@dataclass(frozen=True)
class PoolCoverage:
    """Shares of pools; ``predicted`` covers a machine in another lab."""

    mean: float
    predicted: float
    half_width: float


def pool_coverage(
    generator: Generator, world: PoolWorld, repetitions: int
) -> PoolCoverage:
    averages = []
    df = 2 * world.runs - 2
    for repetition in range(repetitions):
        for machine in draw_machines(generator, world):
            estimate = machine.log_ratio + machine.error * generator.normal()
            error = machine.error * np.sqrt(generator.chisquare(df) / df)
            average = BenchmarkAverage(
                machine=(machine.lab, machine.number),
                lab=f"lab {machine.lab}",
                benchmark=("linpack", "performance"),
                exclusion="",
                log_ratio=float(estimate),
                standard_error=float(error),
                half_width=float(student_t.ppf(0.975, df) * error),
            )
            averages.append((repetition, average))
    pools = [found.pool for found in syntheses_by_question(averages).values()]
    return coverage_of_pools(
        world, [pool.interval for pool in pools], [pool.predicted for pool in pools]
    )


Interval = tuple[float, float]


def coverage_of_pools(
    world: PoolWorld,
    intervals: Sequence[Interval | None],
    predictions: Sequence[Interval | None],
) -> PoolCoverage:
    """Return the coverage of intervals of log ratios; a missing one covers nothing."""
    spread = max(world.spread, 1e-12)
    covered_mean = [
        interval is not None and interval[0] <= POOL_TRUTH <= interval[1]
        for interval in intervals
    ]
    predicted = [
        normal_distribution.cdf((ends[1] - POOL_TRUTH) / spread)
        - normal_distribution.cdf((ends[0] - POOL_TRUTH) / spread)
        if ends
        else 0.0
        for ends in predictions
    ]
    widths = [(ends[1] - ends[0]) / 2 for ends in predictions if ends]
    return PoolCoverage(
        float(np.mean(covered_mean)),
        float(np.mean(predicted)),
        float(np.median(widths)) if widths else float("nan"),
    )
