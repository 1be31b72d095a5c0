"""Variants of a guest for plans of settings."""

from benchmarks.comparison.setting_changes import ConfiguredSystem, reference_pairs
from benchmarks.plans.setting_variants import SETTING_LEVELS, setting_variants


def test_each_variant_is_compared_with_the_same_reference():
    variants = list(setting_variants({}, SETTING_LEVELS))
    systems = [
        ConfiguredSystem(number, options, rest="kvm")
        for number, options in enumerate(variants)
    ]

    pairs = reference_pairs(systems)

    cached = next(n for n, v in enumerate(variants) if v["disk_cache"] == "writeback")
    assert pairs.pop(0) == (cached,)  # without a cache, compared with the default
    others = set(range(1, len(variants))) - {cached}
    assert pairs == dict.fromkeys(others, (0,))


def test_native_requests_are_not_combined_with_a_cache():
    variants = setting_variants({"cache": "writeback"}, ["disk_io"])

    assert [variant["disk_io"] for variant in variants] == ["threads", "io_uring"]


def test_names_of_options_are_kept():
    assert list(setting_variants({"aio": "io_uring"}, ["pinning"])) == [
        {"pinning": "off", "aio": "io_uring"},
        {"pinning": "on", "aio": "io_uring"},
    ]
