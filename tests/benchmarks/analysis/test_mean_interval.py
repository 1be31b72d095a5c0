"""The interval of a mean, as it is drawn beside the runs."""

import math

import pytest
from scipy import stats

from benchmarks.analysis.mean_interval import mean_interval

RUNS = [9.8, 10.1, 10.0, 10.4, 9.9]


def test_it_is_students_interval():
    mean = sum(RUNS) / 5
    m2 = sum((each - mean) ** 2 for each in RUNS)

    found = mean_interval(5, mean, m2)

    low, high = stats.t.interval(0.95, 4, loc=mean, scale=stats.sem(RUNS))
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize("n", [0, 1])
def test_a_single_run_has_none(n):
    assert mean_interval(n, 10.0, 0.0, 0.1) is None


def test_equal_readings_are_as_unsure_as_their_rounding():
    found = mean_interval(5, 10.0, 0.0, resolution=0.1)

    half = stats.t.ppf(0.975, 4) * 0.1 / math.sqrt(12)
    assert found.high - found.mean == pytest.approx(half)
    assert mean_interval(5, 10.0, 0.0) is None
