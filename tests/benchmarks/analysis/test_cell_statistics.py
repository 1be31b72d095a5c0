import math
import random
import statistics
from dataclasses import FrozenInstanceError
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.cell_statistics import (
    RunSummary,
    Summary,
    last_digit_step,
    pool_summaries,
    summarize,
)

# The eleven hdparm readings of inqbus-server-b, in MB/s.
HDPARM = [108.43, 55.64, 62.37, 107.52, 58.87, 61.35, 111.10, 57.87, 58.17, 109.02]
HDPARM += [59.19]

readings = st.floats(min_value=1e-100, max_value=1e100)
samples = st.lists(readings, min_size=1, max_size=30)


def test_it_matches_manual_statistics():
    assert summarize([4.0, 1.0, 3.0, 2.0]) == Summary(
        n=4,
        mean=2.5,
        m2=5.0,
        minimum=1.0,
        maximum=4.0,
        median=2.5,
        q1=1.75,
        q3=3.25,
    )


def test_it_summarizes_a_real_series():
    summary = summarize(HDPARM)

    assert summary.mean == pytest.approx(849.53 / 11, rel=1e-15)
    assert summary.m2 / 10 == pytest.approx(statistics.variance(HDPARM), rel=1e-14)
    assert (summary.q1, summary.median, summary.q3) == pytest.approx(
        (58.52, 61.35, 107.975), rel=1e-14
    )


@given(readings)
def test_one_run_equals_its_summary(value):
    assert summarize([value]) == Summary(1, value, 0.0, *[value] * 5)


@given(readings, st.integers(1, 60))
def test_constant_runs_have_exactly_their_value_and_no_spread(value, n):
    summary = summarize([value] * n)
    assert (summary.mean, summary.m2, summary.q3) == (value, 0.0, value)


@given(samples, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(values, shuffler: random.Random):
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    assert summarize(shuffled) == summarize(values)


@given(samples)
def test_the_statistics_are_in_their_order(values):
    summary = summarize(values)
    five = [summary.minimum, summary.q1, summary.median, summary.q3, summary.maximum]
    assert five == sorted(five)
    assert summary.minimum <= summary.mean <= summary.maximum
    assert summary.m2 >= 0


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=30))
def test_scaling_by_a_power_of_two_scales_everything(values):
    once, twice = summarize(values), summarize([value * 4 for value in values])
    assert twice.mean == once.mean * 4
    assert twice.m2 == once.m2 * 16
    assert twice.median == once.median * 4


def test_a_large_offset_keeps_the_spread():
    summary = summarize([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])
    assert summary.m2 == 90.0


def test_no_runs_raise():
    with pytest.raises(ValueError, match="a cell without runs has no statistics"):
        summarize([])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_raise(value):
    with pytest.raises(ValueError, match="not a finite number"):
        summarize([1.0, value])


def test_too_large_numbers_raise():
    with pytest.raises(ValueError, match="too large to be summarized"):
        summarize([1e200, 2e200])


def test_a_summary_is_immutable():
    with pytest.raises(FrozenInstanceError):
        summarize([1.0]).mean = 2.0


@pytest.mark.parametrize(
    ("value", "step"),
    [(12.34, 0.01), (12.5, 0.1), (7.0, 1.0), (1200.0, 1.0), (1e-7, 1e-7), (0.0, 1.0)],
)
def test_it_finds_the_last_decimal_place(value, step):
    assert last_digit_step(value) == pytest.approx(step)


def test_pooled_summaries_have_the_statistics_of_their_runs():
    groups = [[1.0, 2.0, 4.0], [8.0, 9.0], [5.5]]
    together = summarize([value for group in groups for value in group])
    pooled = pool_summaries(
        [
            RunSummary(fmean(group), len(group), stdev(group))
            if len(group) > 1
            else RunSummary(group[0])
            for group in groups
        ]
    )

    assert pooled.n == together.n
    assert (pooled.mean, pooled.m2) == pytest.approx((together.mean, together.m2))


def test_a_published_mean_is_kept_to_the_last_bit():
    assert pool_summaries([RunSummary(0.1, 30, 0.7)]).mean == 0.1


def test_the_deviation_is_unknown_if_that_of_one_mean_is():
    assert pool_summaries([RunSummary(5.0, 10), RunSummary(5.0, 10, 1.0)]).m2 is None
