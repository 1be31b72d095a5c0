"""Comparison of hosts by facts and native runs."""

import pytest

from benchmarks.analysis.comparability import Difference
from benchmarks.analysis.intervals import RunStatistics
from benchmarks.comparison.system_comparability import (
    NativeRuns,
    compare_hosts,
    host_differences,
)

NAMES = ("alpha", "beta")
FACTS = {"cores": 8, "cpu": "EPYC 7302", "memory": {"GiB": 64}}
CALM = (10, 100.0, 1.0)


def ran(*pairs):
    """Return native runs of both hosts: n, mean and standard deviation per side."""
    sides = (
        RunStatistics.from_sums(
            [n for n, _, _ in side],
            [mean for _, mean, _ in side],
            [deviation**2 * (n - 1) for n, _, deviation in side],
            [0.01] * len(side),
        )
        for side in zip(*pairs, strict=True)
    )
    return NativeRuns([f"case {at}" for at in range(len(pairs))], *sides)


def compare(one=FACTS, other=FACTS, natives=None):
    return compare_hosts(NAMES, (one, other), natives, margin=0.02)


def test_different_facts_make_different_hosts():
    compared = compare(other={**FACTS, "cores": 16, "memory": {"GiB": 32}})

    assert not compared.is_alike
    assert compared.differences == (
        Difference("cores", "8", "16"),
        Difference("memory", '{"GiB": 64}', '{"GiB": 32}'),
    )
    assert compared.sentence == (
        'Different hosts (alpha, beta): cores: 8 / 16; memory: {"GiB": 64} / '
        '{"GiB": 32}.'
    )


def test_the_first_of_many_different_facts_are_named():
    compared = compare(other={**FACTS, **{f"fact {at}": at + 1 for at in range(9)}})

    assert len(compared.differences) == 9
    assert compared.sentence.endswith("fact 4: not reported / 5; 4 more facts.")


def test_hosts_without_facts_are_not_treated_as_equal():
    compared = compare({}, {"cpu": ""}, ran((CALM, CALM)))

    assert not compared.is_alike
    assert compared.sentence.endswith("no facts about them are reported.")


@pytest.mark.parametrize(
    "natives", [None, NativeRuns([], *[RunStatistics.from_sums([], [], [], [])] * 2)]
)
def test_equal_facts_are_not_enough(natives):
    compared = compare(natives=natives)

    assert not compared.is_alike
    assert compared.differences == (Difference("host", "alpha", "beta"),)
    assert "no benchmark was run natively on both" in compared.sentence


@pytest.mark.parametrize(
    "pair",
    [
        (CALM, (10, 101.0, 1.0)),
        ((1, 100.0, 0.0), (1, 101.0, 0.0)),
        ((10, 100.0, 8.0), (10, 101.9, 8.0)),
        ((3, 0.0, 0.0), (3, 0.0, 0.0)),
    ],
)
def test_equal_facts_and_native_runs_make_equal_hosts(pair):
    compared = compare(natives=ran((CALM, CALM), pair))

    assert compared.is_alike
    assert compared.differences == ()
    assert compared.sentence == (
        "Hosts alpha and beta are treated as equal: their facts and their native "
        "results in 2 benchmarks agree."
    )


@pytest.mark.parametrize(
    "pair",
    [
        (CALM, (10, 105.0, 1.0)),
        ((10, 105.0, 1.0), CALM),
        ((1, 100.0, 0.0), (1, 103.0, 0.0)),
        ((10, 100.0, 8.0), (10, 110.0, 8.0)),
        ((3, 0.0, 0.0), CALM),
    ],
)
def test_differing_native_runs_make_different_hosts(pair):
    compared = compare(natives=ran((CALM, CALM), pair))

    assert not compared.is_alike
    assert "but their native results differ (case 1: ratio " in compared.sentence


def test_comparing_hosts_is_symmetric():
    one, other = {"cores": 8}, {"cores": 16}

    assert [difference.name for difference in host_differences(one, other)] == ["cores"]
    assert host_differences(one, dict(one)) == ()
