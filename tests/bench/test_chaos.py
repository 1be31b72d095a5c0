"""What chaos counts: acknowledgements, outages, and what is to be called good."""

import random

import pytest

from bench.chaos import FAULTS, ON_A_DISK_OF_OUR_OWN, Figures, Log, _do_faults, _outages

GOOD = {
    **{"seed": 1, "seconds": 9, "faults": 3, "kinds": 3, "acknowledged": 5, "lost": 0},
    **{"doubled": 0, "unprocessed": 0, "wrong": 0, "quarantined": 0, "refused": 0},
    **{"errors": 0, "errors_in_outages": 2, "slowest_s": 1.0, "settled_s": 1.0},
}


def test_it_is_good_only_without_any_loss():
    assert Figures(**GOOD).is_good


@pytest.mark.parametrize(
    "name",
    ["lost", "doubled", "unprocessed", "wrong", "quarantined", "refused", "errors"],
)
def test_one_of_anything_bad_is_told_and_fails(name):
    figures = Figures(**{**GOOD, name: 1})

    assert not figures.is_good
    assert " 1 " in figures.line().partition("acknowledged,")[2]


def test_an_outage_lasts_from_the_fault_to_the_next_acknowledgement():
    log = Log(acked={"a": 1.0, "b": 5.0, "c": 5.5})

    assert _outages([("x", 0.5), ("y", 2.0)], [log]) == [(0.5, 1.0), (2.0, 5.0)]


def test_every_kind_comes_once_before_any_comes_again(monkeypatch):
    monkeypatch.setattr("bench.chaos.PAUSES_S", (0.0, 0.002))
    done = []
    faults = {
        name: lambda world, chance, name=name: done.append(name) for name in "abcd"
    }

    told = _do_faults(None, faults, seed=1, seconds=0.2, verbose=False)

    assert [name for name, _ in told] == done
    assert len(done) >= 8
    assert all(set(done[i : i + 4]) == set("abcd") for i in range(0, len(done) - 3, 4))


def test_what_could_not_be_done_is_not_counted(monkeypatch):
    monkeypatch.setattr("bench.chaos.PAUSES_S", (0.0, 0.002))

    def away(world, chance: random.Random) -> None:
        raise ConnectionRefusedError

    assert _do_faults(None, {"x": away}, seed=1, seconds=0.02, verbose=False) == []


def test_there_are_more_than_sixteen_kinds():
    assert len(FAULTS | ON_A_DISK_OF_OUR_OWN) >= 16
