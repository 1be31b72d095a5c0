"""The native case nearest to a cell's own, and what differs."""

from dataclasses import replace
from itertools import permutations

import pytest

from benchmarks.analysis.near import MeasuredCase, nearest

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
