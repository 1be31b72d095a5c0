"""How far two sides may be compared; the native case nearest to a cell's own."""

import math
from dataclasses import FrozenInstanceError, replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.comparability import (
    Difference,
    MeasuredCase,
    comparability,
    differences,
    efficiency,
    nearest,
)
from benchmarks.errors import InvalidError

FIO = MeasuredCase(
    tool="fio",
    metric="throughput",
    unit="MB/s",
    better="higher",
    component="disk",
    parameters={"operation": "read", "block": "4096 B", "iodepth": "1"},
    same_work=frozenset({"IOPS"}),
)


def ran(case=FIO, /, **changes):
    parameters = {**case.parameters, **changes}
    return replace(case, parameters={k: v for k, v in parameters.items() if v})


def sentence(wanted, *others, **options):
    return str(nearest(wanted, others).sentence(**options))


def test_it_names_the_parameter_that_differs():
    assert sentence(ran(iodepth="8"), FIO) == (
        "Native ran it with iodepth=1, this guest with iodepth=8: another measurement."
    )


def test_it_names_several_parameters_and_what_is_not_stated():
    assert sentence(ran(iodepth="8", direct="on"), FIO) == (
        "Native ran it with direct not stated, iodepth=1, this guest with direct=on, "
        "iodepth=8: another measurement."
    )


def test_it_speaks_of_a_baseline_that_somebody_chose():
    assert sentence(ran(iodepth="8"), FIO, is_native=False) == (
        "The baseline ran it with iodepth=1, this system with iodepth=8: another "
        "measurement."
    )


def test_it_writes_values_as_people_did():
    small = replace(FIO, shown={"block": "4 KiB"})
    large = replace(ran(block="1048576 B"), shown={"block": "1M"})

    assert "block=4 KiB, this guest with block=1M" in sentence(large, small)


def test_fewer_differences_are_nearer_and_numbers_closer_by_their_ratio():
    wanted = ran(iodepth="8")
    others = [
        FIO,
        ran(iodepth="32"),
        ran(iodepth="16"),
        ran(block="8192 B", iodepth="4"),
        ran(iodepth=""),
    ]

    chosen = {
        nearest(wanted, order).case.parameters["iodepth"]
        for order in (permutations(others))
    }

    assert chosen == {"16"}


@pytest.mark.parametrize(
    "far", ["1e300", "1e-300", "-1e300", "0", "1" + 400 * "0", "1e400"]
)
def test_numbers_at_the_ends_of_a_float_are_far_and_no_error(far):
    wanted = ran(iodepth="3e-308")
    others = [ran(iodepth=far), ran(iodepth="8e-308")]

    for order in permutations(others):
        assert nearest(wanted, order).case == others[1]
    assert nearest(ran(iodepth=far), others[1:]).case == others[1]


def test_a_value_that_is_stated_is_nearer_than_none():
    others = [ran(engine=""), ran(engine="libaio")]

    assert nearest(ran(engine="sync"), others).case == others[1]


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
def test_what_is_something_else_is_not_near(other):
    assert nearest(FIO, [other]) is None


def test_nothing_is_near_where_nothing_was_run():
    assert nearest(FIO, []) is None


def test_the_same_work_in_another_unit_is_near():
    near = nearest(FIO, [replace(FIO, metric="IOPS", unit="1/s")])

    assert near.kind == "unit_mismatch"
    assert near.sentence() == (
        "Native was measured in 1/s, this guest in MB/s: another unit."
    )
    assert near.sentence(is_native=False) == (
        "The baseline was measured in 1/s, this system in MB/s: another unit."
    )


def test_another_metric_in_another_unit_is_another_measurement():
    latency = replace(FIO, metric="latency mean", unit="us", better="lower")

    assert nearest(FIO, [latency]) is None


def test_a_latency_is_not_the_whole_time_in_another_unit():
    """sysbench prints 0.00 ms where a machine is fast: it has no latency there."""
    latency = MeasuredCase(
        tool="sysbench",
        metric="request latency mean",
        unit="ms",
        better="lower",
        component="application",
        parameters={},
        same_work=frozenset({"total time"}),
    )
    whole = replace(latency, metric="total time", unit="s", same_work=frozenset())

    assert nearest(latency, [whole]) is None


def test_one_metric_that_a_lab_declares_anew_in_another_unit_is_near():
    declared = replace(FIO, tool="own")

    near = nearest(declared, [replace(declared, unit="1/s")])

    assert near.kind == "unit_mismatch"


def test_other_parameters_are_nearer_than_another_unit():
    others = [replace(FIO, metric="IOPS", unit="1/s"), ran(iodepth="8")]

    assert nearest(FIO, others).kind == "other_parameters"


def test_a_count_has_a_name_beside_a_unit():
    declared = replace(FIO, tool="own")

    assert "measured in a count, this guest in MB/s" in sentence(
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
    with pytest.raises(InvalidError) as refused:
        efficiency(1, 1, "neither")

    assert str(refused.value) == (
        "More of this metric is neither better nor worse: it has no relative "
        "performance."
    )


@pytest.mark.parametrize(
    ("value", "baseline", "side"), [(0, 1, "value"), (1, 0, "baseline")]
)
def test_it_says_which_side_reads_zero(value, baseline, side):
    with pytest.raises(InvalidError) as refused:
        efficiency(value, baseline, "lower")

    assert str(refused.value) == f"The {side} is 0: no ratio can be formed."


@pytest.mark.parametrize("number", [-1.0, math.nan, math.inf])
def test_it_refuses_what_no_reading_can_be(number):
    with pytest.raises(InvalidError, match=r"The baseline is .+: no ratio"):
        efficiency(1.0, number, "higher")


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_it_refuses_a_ratio_that_does_not_fit(better):
    with pytest.raises(InvalidError, match="too far apart for a ratio"):
        efficiency(1e-300, 1e300, better)


XEN = {"hypervisor": "Xen 3.3", "guest_os": "Ubuntu 9.04", "vcpus": "1"}
ESXI = {**XEN, "hypervisor": "ESXi 4.0"}


def compare(one, other, studied=("hypervisor",), **cases):
    return comparability(one, other, studied=studied, **cases)


def test_it_is_green_if_only_what_is_studied_differs():
    compared = compare(XEN, ESXI)

    assert compared.light == "green"
    assert compared.studied == (Difference("hypervisor", "Xen 3.3", "ESXi 4.0"),)
    assert compared.sentence == (
        "Only what is studied differs: hypervisor: Xen 3.3 / ESXi 4.0."
    )


def test_it_is_green_if_nothing_differs():
    compared = compare(XEN, dict(XEN))

    assert (compared.light, compared.sentence) == ("green", "Nothing differs.")


def test_it_is_amber_if_more_differs_and_says_what():
    compared = compare(XEN, {**ESXI, "vcpus": "2"})

    assert compared.light == "amber"
    assert compared.unwanted == (Difference("vcpus", "1", "2"),)
    assert compared.sentence == "More than what is studied differs: vcpus: 1 / 2."


def test_several_dimensions_may_be_studied():
    assert compare(XEN, {**ESXI, "vcpus": "2"}, ("hypervisor", "vcpus")).light == (
        "green"
    )


def test_a_fact_that_one_side_does_not_state_differs():
    compared = compare({**XEN, "guest_tools": "on"}, ESXI)

    assert compared.light == "amber"
    assert compared.sentence.endswith("guest tools: on / not stated.")


@pytest.mark.parametrize("other", [ESXI, {**ESXI, "vcpus": "2"}])
def test_the_light_does_not_depend_on_who_comes_first(other):
    assert compare(XEN, other).light == compare(other, XEN).light


def test_differences_are_sorted_and_an_empty_text_is_not_stated():
    differing = differences({"b": "1", "a": "1", "c": ""}, {"b": "2"})

    assert [str(each) for each in differing] == ["a: 1 / not stated", "b: 1 / 2"]


def test_a_comparison_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        compare(XEN, ESXI).light = "red"


def test_sizes_are_told_in_mib():
    (memory,) = differences({"memory_bytes": str(3 * 2**30)}, {})

    assert memory.sentence == "memory: 3072 MiB / not stated"
