import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.overall_performance import overall_performance

UNKNOWN = float("nan")
CASES = ("cpu", "disk", "net")


def of(*ratios, noise=UNKNOWN, cases=CASES):
    return overall_performance([ratios], [[noise] * len(ratios)], cases[: len(ratios)])[
        0
    ]


def test_the_mean_comes_with_its_interval_and_its_spread():
    """ln 0.5, ln 1, ln 2: mean 0, variance ln(2)^2; t of 2 degrees is 4.3027."""
    mean = of(0.5, 1.0, 2.0)

    half = 4.3027 * math.log(2) / math.sqrt(3)
    assert mean.mean == pytest.approx(1.0)
    assert (mean.low, mean.high) == pytest.approx(
        (math.exp(-half), math.exp(half)), rel=1e-4
    )
    assert mean.spread == pytest.approx(2.0)


def test_the_worst_case_is_reported_with_the_mean():
    mean = of(0.9, 0.23, 0.99)

    assert (mean.slowest_case, mean.minimum, mean.maximum) == ("disk", 0.23, 0.99)
    assert mean.case_count == 3


def test_noisy_runs_widen_an_interval_of_cases_that_agree():
    """No spread between three cases, each known to 5 %: v is the variance of runs."""
    mean = of(0.9, 0.9, 0.9, noise=0.05**2)

    assert math.log(mean.high / mean.mean) == pytest.approx(
        4.3027 * 0.05 / math.sqrt(3), rel=1e-4
    )
    assert mean.spread == 1.0


def test_the_noise_of_the_runs_is_not_counted_twice():
    assert of(0.5, 1.0, 2.0, noise=0.01) == of(0.5, 1.0, 2.0)


def test_a_single_case_has_no_interval():
    mean = of(0.8)

    assert (mean.mean, mean.low, mean.high, mean.spread) == (0.8, None, None, None)


def test_only_cases_that_all_systems_have_are_averaged():
    xen, esxi = overall_performance(
        [[0.5, UNKNOWN, 0.8], [0.9, 0.9, 0.7]], np.full((2, 3), UNKNOWN), CASES
    )

    assert xen.mean == pytest.approx(math.sqrt(0.4))
    assert esxi.mean == pytest.approx(math.sqrt(0.63))
    assert xen.excluded_cases == esxi.excluded_cases == ("disk",)
    assert esxi.slowest_case == "net"


@pytest.mark.parametrize("gap", [UNKNOWN, 0.0, -1.0, float("inf")])
def test_systems_without_a_common_case_have_no_mean(gap):
    assert (
        overall_performance([[gap, 1.0], [1.0, gap]], np.zeros((2, 2)), CASES[:2]) == ()
    )


def test_each_case_needs_a_label():
    with pytest.raises(ValueError, match="zip"):
        overall_performance([[1.0, 1.0]], [[0.0, 0.0]], CASES)


efficiencies = st.lists(st.floats(0.01, 10.0), min_size=2, max_size=3)


@given(efficiencies)
def test_the_reference_does_not_change_the_ranking(ratios):
    """Fleming and Wallace: the mean of the reciprocals is the mean's reciprocal."""
    there, back = of(*ratios), of(*(1 / each for each in ratios))

    assert there.mean == pytest.approx(1 / back.mean)
    assert there.low == pytest.approx(1 / back.high)
    assert there.spread == pytest.approx(back.spread)


@given(st.permutations([0.3, 0.7, 0.9]))
def test_the_order_of_the_cases_does_not_matter(ratios):
    mean, of_sorted = of(*ratios), of(0.3, 0.7, 0.9)

    assert mean.mean == pytest.approx(of_sorted.mean)
    assert mean.high == pytest.approx(of_sorted.high)
    assert replace(mean, mean=0, low=0, high=0, spread=0, slowest_case="") == replace(
        of_sorted, mean=0, low=0, high=0, spread=0, slowest_case=""
    )


def test_the_interval_covers_the_mean_of_all_such_cases():
    """1,500 studies of 6 cases; their spread is 20 %, the noise of the runs 10 %."""
    generator = np.random.default_rng(2004)
    between, noise = 0.2, 0.1
    logs = generator.normal(-0.1, math.hypot(between, noise), (1500, 6))
    means = [
        each
        for row in np.exp(logs)
        for each in overall_performance([row], [[noise**2] * 6], "abcdef")
    ]

    covered = np.mean([each.low < math.exp(-0.1) < each.high for each in means])
    assert 0.93 < covered < 0.98
