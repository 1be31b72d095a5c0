from collections import Counter

import pytest

from lab import LabError
from lab.boots import KVM, LIAR, NATIVE, NSPAWN, TRIO, Visit
from lab.processes import ClockCheck, ConsoleReport
from lab.results import Found, await_read, found_of, problems, said_of, table


class Server:
    """Answers from lists, as the API's client does."""

    def __init__(self, runs=(), cells=(), waiting=0, checks=0):
        self.lists = {"runs/": runs, "cells/": cells}
        self.waiting, self.checks = waiting, checks

    def get(self, path):
        due = (("check", self.checks), ("letter", 7))
        return {
            "outbox": {"waiting": self.waiting},
            "due": [{"kind": kind, "waiting": count} for kind, count in due],
        }

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


def test_it_waits_until_all_is_read_and_checked(monkeypatch):
    monkeypatch.setattr("lab.results.READ_S", 0)

    await_read(Server(cells=[cell(1, "trusted")]), "lab")

    with pytest.raises(LabError):
        await_read(Server(waiting=1), "lab")
    with pytest.raises(LabError):
        await_read(Server(checks=1), "lab")
    with pytest.raises(LabError):
        await_read(Server(cells=[cell(1, "")]), "lab")


def test_it_waits_as_long_as_the_server_goes_on(monkeypatch):
    """A busy machine reads late, and still reads."""
    monkeypatch.setattr("lab.results.READ_S", 0.8)
    server = Server(waiting=4)

    def go_on(path):
        server.waiting -= 1
        return Server.get(server, path)

    server.get = go_on

    await_read(server, "lab")  # four looks, half a second each

    assert server.waiting == 0


def row(component, verdict, state="paired", value=1.0, tool="virtlab-memory"):
    return {
        "component": component,
        "verdict": verdict,
        "state": state,
        "value": value,
        "tool": tool,
    }


def test_it_counts_single_figures_and_the_verdicts_of_each_component():
    server = Server()
    server.lists["comparisons/"] = [
        row("memory", "baseline", "native"),
        row("memory", "baseline", "native", value=None),
        row("memory", "slower"),
        row("memory", "not_assessed"),
        row("CPU", "equivalent", tool="virtlab-system"),
        row("CPU", "undetermined"),
        row("application", "not_assessed", "no_speed"),
    ]

    said = said_of(server, "lab")

    assert (said.single, said.native) == (1, 2)
    assert said.verdicts == {"CPU": (0, 1), "memory": (1, 2), "system": (1, 1)}
    assert said.lines()[0].endswith("1 of 2 cells have a single figure (50%)")


(CONTAINER,), (NESTED,), (LYING,) = (boot.systems for boot in (NSPAWN, KVM, LIAR))
LIE = [ConsoleReport(0.0, 9.0, [ClockCheck(3.0, 0.003, 3.001, 1.5)])]


def found(*layers, parsed=5, trusts=None):
    return Found(5, parsed, {layers}, {1}, Counter(trusts or {"trusted": 3}))


def test_a_lab_in_which_all_is_as_it_should_be_has_no_problems():
    systems = {
        "container": found("kvm", "systemd-nspawn"),
        "kvm": found("kvm"),
        "liar": found("qemu-tcg", trusts={"suspect": 4}),
    }

    assert problems([CONTAINER, NESTED, LYING], systems, {"liar": LIE}, ("kvm",)) == []


def test_results_that_are_missing_and_layers_that_are_wrong_are_told():
    systems = {"kvm": found("qemu-tcg", parsed=4)}

    told = problems([NESTED], systems, {}, ())

    assert told == [
        "kvm: 4 of 5 results are readable on the server.",
        "kvm: the agent detected qemu-tcg.",
    ]


def test_a_lie_that_the_page_believes_is_told():
    systems = {"liar": found("qemu-tcg", trusts={"suspect": 3, "trusted": 1})}

    (told,) = problems([LYING], systems, {"liar": LIE}, ())

    assert told == ("liar: the page calls its clock 3 suspect, 1 trusted, not suspect.")


def test_a_liar_that_told_the_truth_and_a_wrong_time_server_are_told():
    systems = {"liar": found("qemu-tcg", trusts={"suspect": 4})}
    said = {"liar": [ConsoleReport(0.0, 9.0, [ClockCheck(3.0, 0.003, 3.3, 3.0)])]}

    assert problems([LYING], systems, said, ()) == [
        "liar: its clock was only +0.0% off.",
        "liar: its time server was +10.0% off.",
    ]


def test_the_table_has_a_line_for_each_system():
    lines = table([LYING], {"liar": found("qemu-tcg")}, {"liar": LIE}, {"liar": 12.4})

    assert len(lines) == 2
    assert lines[1].split() == [
        *("liar", "qemu-tcg", "5", "of", "5", "3", "trusted"),
        *("-50.00%", "+0.03%", "+-0.10%", "12"),
    ]
