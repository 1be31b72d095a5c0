import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.efficiency import efficiency
from benchmarks.errors import (
    UndirectedMetricError,
    ValueRefusedError,
    ZeroReadingError,
)

readings = st.floats(min_value=1e-50, max_value=1e50)
directions = st.sampled_from(["higher", "lower"])


@pytest.mark.parametrize(
    ("value", "baseline", "better", "expected"),
    [
        (13.08, 52.97, "higher", 0.247),  # Xen HVM, network write
        (14.16, 61.17, "higher", 0.231),  # ESXi without Tools, network read
        (21.22, 20.89, "lower", 0.984),  # ESXi, LINPACK
    ],
)
def test_it_gives_the_studies_figures(value, baseline, better, expected):
    assert round(efficiency(value, baseline, better), 3) == expected


@given(readings, directions)
def test_native_speed_is_one(value, better):
    assert efficiency(value, value, better) == 1


@given(readings, readings)
def test_rates_and_times_are_each_others_reciprocal(value, baseline):
    assert efficiency(value, baseline, "higher") == efficiency(baseline, value, "lower")


@given(readings, readings, directions, st.integers(-20, 20))
def test_the_unit_does_not_matter(value, baseline, better, power):
    scaled = efficiency(value * 2.0**power, baseline * 2.0**power, better)
    assert scaled == efficiency(value, baseline, better)


def test_it_refuses_a_metric_without_direction():
    with pytest.raises(UndirectedMetricError) as refused:
        efficiency(1, 1, "neither")

    assert str(refused.value) == (
        "More of this metric is neither better nor worse: it has no efficiency."
    )


@pytest.mark.parametrize(
    ("value", "baseline", "side"), [(0, 1, "value"), (1, 0, "baseline")]
)
def test_it_says_which_side_reads_zero(value, baseline, side):
    with pytest.raises(ZeroReadingError) as refused:
        efficiency(value, baseline, "lower")

    assert str(refused.value) == f"The {side} is 0: no ratio can be formed."


@pytest.mark.parametrize("number", [-1.0, math.nan, math.inf])
def test_it_refuses_what_no_reading_can_be(number):
    with pytest.raises(ValueRefusedError, match=r"The baseline is .+: no ratio"):
        efficiency(1.0, number, "higher")


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_it_refuses_a_ratio_that_does_not_fit(better):
    with pytest.raises(ValueRefusedError, match="too far apart for a ratio"):
        efficiency(1e-300, 1e300, better)
