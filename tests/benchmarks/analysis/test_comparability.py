"""Comparability of two sides, and the nearest native case to a case."""

import math
from dataclasses import FrozenInstanceError, replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.comparability import (
    Difference,
    compare_facts,
    differences,
    efficiency,
)
from benchmarks.analysis.nearest_case import MeasuredCase, nearest_case
from benchmarks.errors import InvalidError

FIO = MeasuredCase(
    tool="fio",
    metric="throughput",
    unit="MB/s",
    better="higher",
    component="disk",
    parameters={"operation": "read", "block": "4096 B", "iodepth": "1"},
    equivalent_metrics=frozenset({"IOPS"}),
)


def ran(case=FIO, /, **changes):
    parameters = {**case.parameters, **changes}
    return replace(case, parameters={k: v for k, v in parameters.items() if v})


def sentence(wanted, *others, **options):
    return str(nearest_case(wanted, others).sentence(**options))


def test_it_names_the_parameter_that_differs():
    assert sentence(ran(iodepth="8"), FIO) == (
        "Parameters: native iodepth=1, this guest iodepth=8."
    )


def test_it_names_several_parameters_and_unreported_ones():
    assert sentence(ran(iodepth="8", direct="on"), FIO) == (
        "Parameters: native direct not reported, iodepth=1, this guest "
        "direct=on, iodepth=8."
    )


def test_a_chosen_baseline_is_named_baseline():
    assert sentence(ran(iodepth="8"), FIO, is_native=False) == (
        "Parameters: baseline iodepth=1, this system iodepth=8."
    )


def test_values_are_displayed_as_entered():
    small = replace(FIO, display_parameters={"block": "4 KiB"})
    large = replace(ran(block="1048576 B"), display_parameters={"block": "1M"})

    assert "native block=4 KiB, this guest block=1M" in sentence(large, small)


def test_few_and_close_differences_are_nearest():
    wanted = ran(iodepth="8")
    others = [
        FIO,
        ran(iodepth="32"),
        ran(iodepth="16"),
        ran(block="8192 B", iodepth="4"),
        ran(iodepth=""),
    ]

    chosen = {
        nearest_case(wanted, order).case.parameters["iodepth"]
        for order in (permutations(others))
    }

    assert chosen == {"16"}


@pytest.mark.parametrize(
    "far", ["1e300", "1e-300", "-1e300", "0", "1" + 400 * "0", "1e400"]
)
def test_extreme_floats_are_distant_without_an_error(far):
    wanted = ran(iodepth="3e-308")
    others = [ran(iodepth=far), ran(iodepth="8e-308")]

    for order in permutations(others):
        assert nearest_case(wanted, order).case == others[1]
    assert nearest_case(ran(iodepth=far), others[1:]).case == others[1]


def test_a_reported_value_is_nearer_than_an_unreported_one():
    others = [ran(engine=""), ran(engine="libaio")]

    assert nearest_case(ran(engine="sync"), others).case == others[1]


@pytest.mark.parametrize(
    "other",
    [
        FIO,
        ran(operation="write"),
        replace(FIO, tool="iozone"),
        replace(FIO, metric="latency mean", unit="MB/s"),
        replace(FIO, metric="CPU user", unit="%", better="lower"),
        replace(FIO, metric="requests", unit="", better="neither"),
        replace(FIO, metric="energy", unit="J", better="lower", component="power"),
        replace(ran(iodepth="8"), metric="IOPS", unit="1/s"),
        ran(iodepth="8", block="8192 B", engine="sync", direct="on"),
    ],
)
def test_other_subjects_are_not_near(other):
    assert nearest_case(FIO, [other]) is None


def test_no_case_is_near_without_cases():
    assert nearest_case(FIO, []) is None


def test_the_same_work_in_another_unit_is_near():
    near = nearest_case(FIO, [replace(FIO, metric="IOPS", unit="1/s")])

    assert near.kind == "unit_mismatch"
    assert near.sentence() == ("Units: native 1/s, this guest MB/s.")
    assert near.sentence(is_native=False) == ("Units: baseline 1/s, this system MB/s.")


def test_another_metric_in_another_unit_is_another_measurement():
    latency = replace(FIO, metric="latency mean", unit="us", better="lower")

    assert nearest_case(FIO, [latency]) is None


def test_a_latency_is_not_a_total_time_in_another_unit():
    """sysbench prints a latency of 0.00 ms on fast machines."""
    latency = MeasuredCase(
        tool="sysbench",
        metric="request latency mean",
        unit="ms",
        better="lower",
        component="application",
        parameters={},
        equivalent_metrics=frozenset({"total time"}),
    )
    whole = replace(
        latency, metric="total time", unit="s", equivalent_metrics=frozenset()
    )

    assert nearest_case(latency, [whole]) is None


def test_a_metric_redeclared_in_another_unit_is_near():
    declared = replace(FIO, tool="own")

    near = nearest_case(declared, [replace(declared, unit="1/s")])

    assert near.kind == "unit_mismatch"


def test_other_parameters_are_nearer_than_another_unit():
    others = [replace(FIO, metric="IOPS", unit="1/s"), ran(iodepth="8")]

    assert nearest_case(FIO, others).kind == "other_parameters"


def test_a_count_is_named_next_to_a_unit():
    declared = replace(FIO, tool="own")

    assert "native count, this guest MB/s" in sentence(
        declared, replace(declared, unit="")
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


def test_it_is_green_if_only_studied_facts_differ():
    compared = compare(XEN, ESXI)

    assert compared.rating == "full"
    assert compared.studied == (Difference("hypervisor", "Xen 3.3", "ESXi 4.0"),)
    assert compared.sentence == (
        "Only studied factors differ: hypervisor: Xen 3.3 / ESXi 4.0."
    )


def test_it_is_green_if_nothing_differs():
    compared = compare(XEN, dict(XEN))

    assert (compared.rating, compared.sentence) == ("full", "No differences.")


def test_it_is_amber_with_the_other_differences():
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
