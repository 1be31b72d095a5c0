"""The coverage promised by the method, measured on simulated cells."""

import zlib

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.analysis.intervals import Method, log_ratio_intervals
from benchmarks.analysis.session_intervals import SessionDesign, design_intervals
from benchmarks.analysis.verdicts import Verdict
from tests.benchmarks.analysis.simulation import (
    KINDS,
    cells_of,
    covered,
    covered_when_rounded,
    days_apart,
    rolled,
    runs,
    shares,
    wrong_among_many,
)

REPETITIONS = 4000


def generator_of(*names):
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def sides_of(kind, n, *, noise, truth=1.0):
    generator = generator_of(kind, n, noise, truth)
    return (
        cells_of(generator, kind, REPETITIONS, n, noise=noise, truth=truth),
        cells_of(generator, kind, REPETITIONS, n, noise=noise),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_simulated_noise_has_the_stated_deviation(kind):
    drawn = runs(generator_of(kind), kind, 100_000, 5, noise=0.05)

    assert drawn.mean() == pytest.approx(1, abs=0.0005)
    # The variance of t3's variance is infinite, so its estimate converges slowly.
    assert drawn.std() == pytest.approx(0.05, rel=0.05 if kind == "t3" else 0.01)


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_95_of_100_intervals_hold_the_truth(kind, n, noise):
    assert 0.93 <= covered(*sides_of(kind, n, noise=noise)) <= 0.98


@pytest.mark.parametrize("noise", [0.05, 0.2])
@pytest.mark.parametrize("n", [5, 10])
def test_intervals_hold_for_unequal_noise(n, noise):
    generator = generator_of("quiet", n, noise)
    cell = cells_of(generator, "lognormal", REPETITIONS, n, noise=noise)
    native = cells_of(generator, "normal", REPETITIONS, n, noise=0.002)

    assert 0.92 <= covered(cell, native) <= 0.98


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_below_five_runs_intervals_are_wide(kind, n):
    assert covered(*sides_of(kind, n, noise=0.02)) >= 0.95


def test_two_runs_against_thirty_keep_the_coverage():
    """With a common t quantile (plain Welch) the coverage is 88 %."""
    generator = generator_of("unequal")
    cell = cells_of(generator, "normal", REPETITIONS, 2, noise=0.02)
    native = cells_of(generator, "normal", REPETITIONS, 30, noise=0.02)

    assert 0.94 <= covered(cell, native) <= 0.985
    assert (log_ratio_intervals(cell, native, True).method == Method.MOVER).all()


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_systems_rarely_get_a_verdict_of_difference(kind, n, noise):
    given = shares(*sides_of(kind, n, noise=noise))

    assert given[Verdict.SLOWER] + given[Verdict.FASTER] <= 0.04


@pytest.mark.parametrize("truth", [0.98, 1.02])
@pytest.mark.parametrize("kind", KINDS)
def test_at_the_edge_of_the_margin_few_verdicts_are_given(kind, truth):
    given = shares(*sides_of(kind, 10, noise=0.01, truth=truth))

    assert 1 - given[Verdict.UNDETERMINED] <= 0.06


def test_a_clear_difference_is_seen():
    given = shares(*sides_of("normal", 5, noise=0.01, truth=0.93))

    assert given[Verdict.SLOWER] > 0.99


@pytest.mark.parametrize("slower", [0, 10, 50, 100, 180])
def test_the_correction_keeps_wrong_verdicts_among_many_below_5_percent(slower):
    before, after = wrong_among_many(generator_of("many", slower), 80, slower)

    assert after <= 0.05
    assert slower or before > 0.5  # no differences, without correction


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3, 0.5, 1.0])
def test_rounded_readings_keep_the_coverage(noise, n):
    generator = generator_of("rounded", noise, n)

    assert covered_when_rounded(generator, REPETITIONS, n, noise=noise) >= 0.93


def test_the_variance_of_rounding_must_not_be_divided_by_the_runs():
    generator = generator_of("divided")
    divided = covered_when_rounded(generator, REPETITIONS, 30, noise=0, is_divided=True)

    assert divided < 0.5


# --- Days that differ by 3 %.


def designed(sessions, *, is_shared, n=5, truth=1.0):
    generator = generator_of("days", sessions, is_shared, n, truth)
    own, native = days_apart(
        generator, REPETITIONS, sessions, n, truth=truth, is_shared=is_shared
    )
    pair = own.sessions, native.sessions
    return design_intervals(own.cells, native.cells, pair, True)


def holding(judged, truth=1.0):
    return np.mean((judged.intervals.low < truth) & (judged.intervals.high > truth))


def called(judged):
    """Return how often the verdict is slower and faster, with a margin of 2 %."""
    slower = np.mean(judged.deciding_high < np.log(0.98))
    return slower, np.mean(judged.deciding_low > np.log(1.02))


ROWS = [
    (SessionDesign.SHARED, (3, 3), True),
    (SessionDesign.SHARED, (5, 5), True),
    (SessionDesign.SHARED, (10, 10), True),
    (SessionDesign.TWO_SHARED, (2, 2), True),
    (SessionDesign.ONE_SHARED, (1, 1), True),
    (SessionDesign.SEPARATE_SESSIONS, (3, 3), False),
    (SessionDesign.SEPARATE_SESSIONS, (5, 5), False),
    (SessionDesign.SEPARATE_SESSIONS, (10, 10), False),
    (SessionDesign.ASSUMED_SPREAD, (1, 3), False),
    (SessionDesign.ASSUMED_SPREAD, (5, 1), False),
    (SessionDesign.ASSUMED_SPREAD, (1, 10), False),
    (SessionDesign.ASSUMED_SPREAD, (2, 5), False),
]


@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize(("design", "sessions", "is_shared"), ROWS)
def test_intervals_of_every_design_hold_the_truth(design, sessions, is_shared, n):
    judged = designed(sessions, is_shared=is_shared, n=n)

    assert (judged.design == design).all()
    assert 0.93 <= holding(judged) <= 0.975
    assert sum(called(judged)) <= 0.03


@pytest.mark.parametrize(
    ("sessions", "is_shared", "least"),
    [
        ((3, 3), True, 0.55),
        ((5, 5), True, 0.95),
        ((1, 1), True, 0.5),
        ((5, 5), False, 0.2),
        ((10, 10), False, 0.5),
        ((1, 5), False, 0.07),
    ],
)
def test_a_difference_of_5_percent_is_found(sessions, is_shared, least):
    slower, faster = called(designed(sessions, is_shared=is_shared, truth=0.95))

    assert slower >= least
    assert faster == 0


def test_runs_of_one_day_each_cannot_separate_days_and_systems():
    """This design has no verdict because no number of runs helps."""
    for n in (5, 30):
        assert sum(called(designed((1, 1), is_shared=False, n=n))) > 0.2


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_ratios_of_p99_keep_their_coverage(sigma):
    """Five runs of 1,000 lognormal latencies: p99 is their 990th."""
    generator = generator_of("p99", sigma)
    sides = []
    for _ in range(2):
        shares_below = generator.beta(990, 11, (REPETITIONS, 5))
        noise = generator.normal(0, 0.02, shares_below.shape)
        sides.append(rolled(np.exp(sigma * norm.ppf(shares_below) + noise)))
    intervals = log_ratio_intervals(*sides, False)

    assert np.mean((intervals.low <= 1) & (intervals.high >= 1)) > 0.94
    assert np.mean((intervals.high < 0.98) | (intervals.low > 1.02)) < 0.035
