"""Two hosts: one machine, machines of one kind, or different ones."""

import pytest

from benchmarks.analysis.comparability import Difference
from benchmarks.analysis.intervals import Rollups
from benchmarks.comparing.lights import NativeRuns, compare_hosts, host_differences

NAMES = ("alpha", "beta")
FACTS = {"cores": 8, "cpu": "EPYC 7302", "memory": {"GiB": 64}}
CALM = (10, 100.0, 1.0)


def ran(*pairs):
    """What both ran natively: n, mean and standard deviation of each side."""
    sides = (
        Rollups.of(
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


def test_other_facts_make_another_host_and_are_named():
    compared = compare(other={**FACTS, "cores": 16, "memory": {"GiB": 32}})

    assert not compared.is_alike
    assert compared.differing == (
        Difference("cores", "8", "16"),
        Difference("memory", '{"GiB": 64}', '{"GiB": 32}'),
    )
    assert compared.sentence == (
        "Different hosts, alpha / beta: cores: 8 / 16; "
        'memory: {"GiB": 64} / {"GiB": 32}.'
    )


def test_of_many_facts_the_first_are_named_and_the_others_counted():
    compared = compare(other={**FACTS, **{f"fact {at}": at + 1 for at in range(9)}})

    assert len(compared.differing) == 9
    assert compared.sentence.endswith("fact 4: not stated / 5; 4 more facts.")


def test_hosts_of_which_nothing_is_stated_are_not_known_to_be_alike():
    compared = compare({}, {"cpu": ""}, ran((CALM, CALM)))

    assert not compared.is_alike
    assert compared.sentence.endswith("of which no facts are stated.")


@pytest.mark.parametrize(
    "natives", [None, NativeRuns([], *[Rollups.of([], [], [], [])] * 2)]
)
def test_equal_facts_are_not_enough(natives):
    compared = compare(natives=natives)

    assert not compared.is_alike
    assert compared.differing == (Difference("host", "alpha", "beta"),)
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
def test_equal_facts_and_native_runs_that_agree_are_alike(pair):
    compared = compare(natives=ran((CALM, CALM), pair))

    assert compared.is_alike
    assert compared.differing == ()
    assert compared.sentence == (
        "Hosts alpha and beta count as alike: their facts are equal, and so are their "
        "native runs of 2 benchmarks."
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
def test_native_runs_that_differ_tell_two_hosts_apart(pair):
    compared = compare(natives=ran((CALM, CALM), pair))

    assert not compared.is_alike
    assert "but their native runs are not (case 1: " in compared.sentence


def test_it_does_not_depend_on_who_comes_first():
    one, other = {"cores": 8}, {"cores": 16}

    assert [it.name for it in host_differences(one, other)] == ["cores"]
    assert host_differences(one, dict(one)) == ()
