"""Options in which systems differ."""

import pytest

from benchmarks.comparison.setting_changes import (
    ConfiguredSystem,
    option_changes,
    reference_pairs,
)
from benchmarks.system_options import VOCABULARY, find_option


def changed(before, after):
    return [
        (change.option.name, change.before, change.after)
        for change in option_changes(before, after)
    ]


def test_labels_and_unused_options_are_not_changes():
    before = {"setting": "v1"}
    after = {"setting": "v3", "iothreads": "1", "disk_io": "threads"}

    assert changed(before, after) == [("iothreads", "", "1")]


def test_other_names_of_an_option_are_the_same_option():
    assert changed({"aio": "native"}, {"disk_io": "native"}) == []
    assert changed({"cache": "none"}, {"disk_cache": "writeback"}) == [
        ("disk_cache", "none", "writeback")
    ]


def test_an_option_that_is_switched_off_explicitly_is_a_change():
    assert changed({"hw_virt": "on"}, {"hw_virt": "off"}) == [("hw_virt", "on", "off")]


def test_another_size_of_the_guest_is_a_change():
    # atiratree-2018-x86, v33: large pages and 5 GiB instead of 7.
    before = {"memory": "7 GiB", "vcpus": "3"}
    after = {"memory": "5 GiB", "vcpus": "3", "hugepages": "1024 MiB"}

    assert changed(before, after) == [
        ("hugepages", "", "1024 MiB"),
        ("memory", "7 GiB", "5 GiB"),
    ]


def test_free_options_keep_their_name():
    assert find_option("zfs_recordsize").title == "Zfs recordsize"
    assert changed({}, {"zfs_recordsize": "16k"}) == [("zfs_recordsize", "", "16k")]


@pytest.mark.parametrize(
    "option", dict.fromkeys(VOCABULARY.values()), ids=lambda o: o.name
)
def test_each_option_of_the_vocabulary_is_explained(option):
    assert option.title
    assert option.explanation.endswith(".")
    assert option.slug.replace("-", "_") == option.name


def pairs(*systems):
    return reference_pairs(
        [
            ConfiguredSystem(pk, options, rest)
            for pk, (options, rest) in enumerate(systems, 1)
        ]
    )


def test_systems_that_differ_in_one_option_are_compared_with_the_one_without():
    assert pairs(
        ({"hugepages": "2 MiB"}, "kvm"),
        ({}, "kvm"),
        ({"hugepages": "2 MiB", "pinning": "on"}, "kvm"),
    ) == {1: (2,), 3: (1,)}


def test_off_is_the_reference_also_if_the_system_without_is_not_stated():
    systems = [({}, ""), ({"hw_virt": "on"}, ""), ({"hw_virt": "off"}, "")]

    assert pairs(*systems) == {2: (3,)}


def test_other_platforms_are_not_compared():
    assert pairs(({"hugepages": "2 MiB"}, "kvm"), ({}, "xen")) == {}
