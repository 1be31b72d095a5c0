from dataclasses import replace
from itertools import permutations

import pytest

from benchmarks.analysis.nearest_case import MeasuredCase, nearest_case

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


def sentence(wanted, *others):
    return str(nearest_case(wanted, others).sentence)


def test_it_names_the_parameter_that_differs():
    assert sentence(ran(iodepth="8"), FIO) == (
        "Parameters differ: baseline iodepth=1, this system iodepth=8."
    )


def test_it_names_several_parameters_and_unreported_ones():
    assert sentence(ran(iodepth="8", direct="on"), FIO) == (
        "Parameters differ: baseline direct not reported, iodepth=1, this "
        "system direct=on, iodepth=8."
    )


def test_values_are_displayed_as_entered():
    small = replace(FIO, display_parameters={"block": "4 KiB"})
    large = replace(ran(block="1048576 B"), display_parameters={"block": "1M"})

    assert "baseline block=4 KiB, this system block=1M" in sentence(large, small)


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


@pytest.mark.parametrize("text", ["1.0.7", ".", "1..2 MB"])
def test_versions_and_dots_are_not_numbers(text):
    others = [ran(iodepth=text), ran(iodepth="4")]

    for order in permutations(others):
        assert nearest_case(ran(iodepth="2"), order).case == others[1]


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
    assert near.sentence == "Units differ: baseline 1/s, this system MB/s."


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

    assert "baseline count, this system MB/s" in sentence(
        declared, replace(declared, unit="")
    )
