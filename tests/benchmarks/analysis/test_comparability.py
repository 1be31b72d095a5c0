from dataclasses import FrozenInstanceError

import pytest

from benchmarks.analysis.comparability import Difference, comparability, differences

XEN = {"hypervisor": "Xen 3.3", "guest_os": "Ubuntu 9.04", "vcpus": "1"}
ESXI = {**XEN, "hypervisor": "ESXi 4.0"}


def compare(one, other, studied=("hypervisor",), **cases):
    return comparability(one, other, studied=studied, **cases)


def test_it_is_green_if_only_what_is_studied_differs():
    found = compare(XEN, ESXI)

    assert found.light == "green"
    assert found.studied == (Difference("hypervisor", "Xen 3.3", "ESXi 4.0"),)
    assert found.sentence == (
        "Only what is studied differs: hypervisor: Xen 3.3 / ESXi 4.0."
    )


def test_it_is_green_if_nothing_differs():
    found = compare(XEN, dict(XEN))

    assert (found.light, found.sentence) == ("green", "Nothing differs.")


def test_it_is_amber_if_more_differs_and_says_what():
    found = compare(XEN, {**ESXI, "vcpus": "2"})

    assert found.light == "amber"
    assert found.unwanted == (Difference("vcpus", "1", "2"),)
    assert found.sentence == "More than what is studied differs: vcpus: 1 / 2."


def test_several_dimensions_may_be_studied():
    assert compare(XEN, {**ESXI, "vcpus": "2"}, ("hypervisor", "vcpus")).light == (
        "green"
    )


def test_a_fact_that_one_side_does_not_state_differs():
    found = compare({**XEN, "guest_tools": "on"}, ESXI)

    assert found.light == "amber"
    assert found.sentence.endswith("guest_tools: on / not stated.")


def test_other_parameters_of_the_case_are_red_whatever_is_studied():
    found = compare(
        XEN,
        {**XEN, "vcpus": "2"},
        ("block_size", "vcpus"),
        one_case={"block_size": "4 KiB", "unit": "MB/s"},
        other_case={"block_size": "1 MiB", "unit": "MB/s"},
    )

    assert found.light == "red"
    assert found.unwanted == (Difference("block_size", "4 KiB", "1 MiB"),)
    assert found.sentence == (
        "Not comparable, the case itself differs: block_size: 4 KiB / 1 MiB."
    )


def test_another_unit_is_another_measurement():
    light = compare(XEN, ESXI, one_case={"unit": "MB/s"}, other_case={"unit": "MiB/s"})

    assert light.light == "red"


@pytest.mark.parametrize("other", [ESXI, {**ESXI, "vcpus": "2"}])
def test_the_light_does_not_depend_on_who_comes_first(other):
    assert compare(XEN, other).light == compare(other, XEN).light


def test_differences_are_sorted_and_an_empty_text_is_not_stated():
    found = differences({"b": "1", "a": "1", "c": ""}, {"b": "2"})

    assert [str(each) for each in found] == ["a: 1 / not stated", "b: 1 / 2"]


def test_a_comparison_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        compare(XEN, ESXI).light = "red"
