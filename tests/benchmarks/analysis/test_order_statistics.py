"""Quantiles and their intervals from order statistics."""

import random

import pytest

from benchmarks.analysis.order_statistics import (
    Quantile,
    distribution_function,
    quantile,
)


def test_interval_of_the_median_of_ten_is_from_the_second_to_the_ninth():
    # Hahn and Meeker: 97.9 % for ranks 2 and 9 of 10.
    median = quantile(range(1, 11), 0.5)

    assert (median.value, median.low, median.high) == (5.5, 2, 9)


def test_interval_of_the_median_of_thirty_is_from_rank_10_to_21():
    median = quantile(range(1, 31), 0.5)

    assert (median.value, median.low, median.high) == (15.5, 10, 21)


def test_p99_of_fifty_has_no_upper_end():
    p99 = quantile(range(1, 51), 0.99)

    assert (p99.value, p99.high) == (50, None)
    assert p99.low == 48


def test_p99_of_five_hundred_has_both_ends():
    p99 = quantile(range(1, 501), 0.99)

    assert p99.value == 495
    assert p99.low < 495 < p99.high <= 500


def test_one_value_has_no_interval_of_the_median():
    assert quantile([3.0], 0.5) == Quantile(3.0, None, None)


@pytest.mark.parametrize(("share", "n"), [(0.5, 20), (0.5, 51), (0.9, 100)])
def test_interval_covers_the_quantile_in_95_of_100_samples(share, n):
    chance = random.Random(4711)
    covered = 0
    for _ in range(1000):
        found = quantile([chance.random() for _ in range(n)], share)
        covered += (found.low or 0) <= share <= (found.high or 1)

    assert covered >= 940


def test_distribution_function_ends_at_one_and_is_thinned():
    assert distribution_function([2.0, 1.0]) == [(1.0, 0.5), (2.0, 1.0)]
    assert distribution_function([]) == []
    many = distribution_function(range(10_000))
    assert len(many) <= 400
    assert many[-1] == (9_999, 1.0)
