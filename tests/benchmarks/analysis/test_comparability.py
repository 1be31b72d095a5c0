import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.comparability import (
    Difference,
    compare_facts,
    differences,
    efficiency,
)
from benchmarks.errors import InvalidError

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
def test_it_reproduces_the_studies_figures(value, baseline, better, expected):
    assert round(efficiency(value, baseline, better), 3) == expected


@given(readings, directions)
def test_native_speed_is_one(value, better):
    assert efficiency(value, value, better) == 1


@given(readings, readings)
def test_rates_and_times_are_reciprocal(value, baseline):
    assert efficiency(value, baseline, "higher") == efficiency(baseline, value, "lower")


@given(readings, readings, directions, st.integers(-20, 20))
def test_the_unit_does_not_matter(value, baseline, better, power):
    scaled = efficiency(value * 2.0**power, baseline * 2.0**power, better)
    assert scaled == efficiency(value, baseline, better)


def test_a_metric_without_direction_raises():
    with pytest.raises(InvalidError) as refused:
        efficiency(1, 1, "neither")

    assert str(refused.value) == (
        "For this metric, neither higher nor lower is better, so it has no "
        "relative performance."
    )


@pytest.mark.parametrize(
    ("value", "baseline", "side"), [(0, 1, "value"), (1, 0, "baseline")]
)
def test_it_names_the_side_that_is_zero(value, baseline, side):
    with pytest.raises(InvalidError) as refused:
        efficiency(value, baseline, "lower")

    assert str(refused.value) == f"The {side} is 0, so no ratio can be calculated."


@pytest.mark.parametrize("number", [-1.0, math.nan, math.inf])
def test_invalid_readings_raise(number):
    with pytest.raises(InvalidError, match=r"The baseline is .+, so no ratio"):
        efficiency(1.0, number, "higher")


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_ratio_out_of_range_raises(better):
    with pytest.raises(InvalidError, match="too far apart to calculate a ratio"):
        efficiency(1e-300, 1e300, better)


XEN = {"hypervisor": "Xen 3.3", "guest_os": "Ubuntu 9.04", "vcpus": "1"}
ESXI = {**XEN, "hypervisor": "ESXi 4.0"}


def compare(one, other, studied=("hypervisor",), **cases):
    return compare_facts(one, other, studied_names=studied, **cases)


def test_the_rating_is_full_if_only_studied_facts_differ():
    compared = compare(XEN, ESXI)

    assert compared.rating == "full"
    assert compared.studied == (Difference("hypervisor", "Xen 3.3", "ESXi 4.0"),)
    assert compared.sentence == (
        "Only studied factors differ: hypervisor: Xen 3.3 / ESXi 4.0."
    )


def test_the_rating_is_full_if_nothing_differs():
    compared = compare(XEN, dict(XEN))

    assert (compared.rating, compared.sentence) == ("full", "No differences.")


def test_other_differences_limit_the_rating():
    compared = compare(XEN, {**ESXI, "vcpus": "2"})

    assert compared.rating == "limited"
    assert compared.unwanted == (Difference("vcpus", "1", "2"),)
    assert compared.sentence == (
        "Differences outside the studied factors: vcpus: 1 / 2."
    )


def test_several_dimensions_can_be_studied():
    assert compare(XEN, {**ESXI, "vcpus": "2"}, ("hypervisor", "vcpus")).rating == (
        "full"
    )


def test_an_unreported_fact_is_a_difference():
    compared = compare({**XEN, "guest_tools": "on"}, ESXI)

    assert compared.rating == "limited"
    assert compared.sentence.endswith("guest tools: on / not reported.")


@pytest.mark.parametrize("other", [ESXI, {**ESXI, "vcpus": "2"}])
def test_comparability_is_symmetric(other):
    assert compare(XEN, other).rating == compare(other, XEN).rating


def test_differences_are_sorted_and_empty_means_not_reported():
    differing = differences({"b": "1", "a": "1", "c": ""}, {"b": "2"})

    assert [str(each) for each in differing] == ["a: 1 / not reported", "b: 1 / 2"]


def test_a_comparison_is_immutable():
    with pytest.raises(FrozenInstanceError):
        compare(XEN, ESXI).rating = "none"


def test_sizes_are_displayed_in_mib():
    (memory,) = differences({"memory_bytes": str(3 * 2**30)}, {})

    assert memory.sentence == "memory: 3072 MiB / not reported"
