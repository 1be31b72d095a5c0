import pytest

from lab.boots import LIAR, NATIVE, TRIO, Visit
from lab.errors import LabError
from lab.results import await_read, found_of


class Server:
    """Answers from lists, as the API's client does."""

    def __init__(self, runs=(), cells=(), waiting=0):
        self.lists = {"runs/": runs, "cells/": cells}
        self.waiting = waiting

    def get(self, path):
        return {"outbox": {"waiting": self.waiting}}

    def get_all(self, path, study):
        return iter(self.lists[path])


def run(system, note="", slot="1", status="parsed", layers=("qemu-tcg",)):
    return {
        "note": note,
        "slot": slot,
        "status": status,
        "system_id": system,
        "facts": {"platform": {"layers": list(layers)}},
    }


def cell(system, trust, scenario="single", slot="1"):
    return {
        "system_id": system,
        "clock_trust": trust,
        "scenario": scenario,
        "slot": slot,
    }


def test_runs_are_counted_by_their_note_and_only_if_they_could_be_read():
    runs = [
        run(1, "make lab: native", layers=()),
        run(1, "make lab: native", status="rejected"),
    ]

    found = found_of(Server(runs), "lab", [Visit(NATIVE, 1)])["native"]

    assert (found.parsed, found.wanted) == (1, 5)
    assert found.layers == {()}


def test_two_visits_want_twice_as_much():
    found = found_of(Server(), "lab", [Visit(NATIVE, 1), Visit(NATIVE, 2)])

    assert found["native"].wanted == 15


def test_slots_are_told_from_the_same_system_alone():
    server = Server(
        [run(3, slot="2"), run(4, "make lab: liar")],
        [
            cell(3, "trusted", "parallel", "2"),
            cell(3, "corrected"),
            cell(4, "suspect"),
        ],
    )

    found = found_of(server, "lab", [Visit(TRIO, 1), Visit(LIAR, 1)])

    assert found["slot-2"].trusts == {"trusted": 1}
    assert found["liar"].trusts == {"suspect": 1}
    assert found["slot-1"].parsed == 0


def test_it_waits_until_all_is_read_and_every_clock_is_judged(monkeypatch):
    monkeypatch.setattr("lab.results.READ_S", 0)

    await_read(Server(cells=[cell(1, "trusted")]), "lab")

    with pytest.raises(LabError):
        await_read(Server(waiting=1), "lab")
    with pytest.raises(LabError):
        await_read(Server(cells=[cell(1, "")]), "lab")
