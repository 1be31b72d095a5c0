"""Variances from doubts about baselines."""

from math import exp, log

import pytest

from benchmarks.evidence.baseline_doubts import (
    combined_native,
    doubt_variance,
    flag_differences,
    unsteady_variance,
)


def test_two_native_readings_have_half_the_square_of_their_difference():
    mean, variance = combined_native([100.0, 106.0])

    assert exp(mean) == pytest.approx((100 * 106) ** 0.5)
    assert variance == pytest.approx(doubt_variance(log(1.06)))


def test_a_flag_doubts_each_mean_that_it_names():
    evidence = {"pairs": [[100.0, 106.0], [100.0, 90.0]]}

    found = flag_differences("baselines-disagree", evidence)

    assert found == pytest.approx(
        {100.0: log(100 / 90), 106.0: log(1.06), 90.0: log(100 / 90)}
    )


def test_a_slow_native_result_is_doubted_by_the_lead_of_its_guests():
    evidence = {"native": 50.0, "median_percent": 10.0}

    assert flag_differences("baseline-too-slow", evidence) == {
        50.0: pytest.approx(log(1.1))
    }


def test_other_flags_give_no_number():
    assert flag_differences("few-distinct-readings", {"pairs": [[1, 2]]}) == {}


def test_an_unsteady_value_is_anywhere_in_its_range():
    assert unsteady_variance(50.0, 100.0) == pytest.approx(log(2) ** 2 / 12)
    assert unsteady_variance(0.0, 100.0) == 0.0
