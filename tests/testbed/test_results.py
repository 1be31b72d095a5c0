from collections import Counter

import pytest

from testbed import TestbedError
from testbed.logged_programs import ClockCheck, ConsoleReport
from testbed.results import (
    SystemResults,
    comparison_summary,
    result_problems,
    result_table,
    system_results,
    wait_until_parsed,
)
from testbed.schedule import CORUN, KVM, NATIVE, NSPAWN, WRONG_CLOCK, ScheduledBoot


class Server:
    """A fake API client that answers from lists."""

    def __init__(self, runs=(), cells=(), waiting=0, checks=0):
        self.lists = {"runs/": runs, "cells/": cells}
        self.waiting, self.checks = waiting, checks

    def get(self, path):
        due = (("check", self.checks), ("email", 7))
        return {
            "outbox": {"waiting": self.waiting},
            "waiting_jobs": [{"kind": kind, "waiting": count} for kind, count in due],
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


def test_runs_are_counted_by_note_if_parsed():
    runs = [
        run(1, "make lab: native", layers=()),
        run(1, "make lab: native", status="rejected"),
    ]

    results = system_results(Server(runs), "lab", [ScheduledBoot(NATIVE, 1)])["native"]

    assert (results.parsed, results.expected) == (1, 5)
    assert results.layers == {()}


def test_two_boots_expect_twice_as_many_runs():
    results = system_results(
        Server(), "lab", [ScheduledBoot(NATIVE, 1), ScheduledBoot(NATIVE, 2)]
    )

    assert results["native"].expected == 15


def test_slots_are_distinguished_from_the_single_system():
    server = Server(
        [run(3, slot="2"), run(4, "make lab: liar")],
        [
            cell(3, "trusted", "parallel", "2"),
            cell(3, "corrected"),
            cell(4, "suspect"),
        ],
    )

    results = system_results(
        server, "lab", [ScheduledBoot(CORUN, 1), ScheduledBoot(WRONG_CLOCK, 1)]
    )

    assert results["slot-2"].trusts == {"trusted": 1}
    assert results["liar"].trusts == {"suspect": 1}
    assert results["slot-1"].parsed == 0


def test_waits_until_all_runs_are_parsed_and_checked(monkeypatch):
    monkeypatch.setattr("testbed.results.READ_TIMEOUT_S", 0)

    wait_until_parsed(Server(cells=[cell(1, "trusted")]), "lab")

    with pytest.raises(TestbedError):
        wait_until_parsed(Server(waiting=1), "lab")
    with pytest.raises(TestbedError):
        wait_until_parsed(Server(checks=1), "lab")
    with pytest.raises(TestbedError):
        wait_until_parsed(Server(cells=[cell(1, "")]), "lab")


def test_waits_while_the_server_progresses(monkeypatch):
    """A busy machine parses slowly, but continues to parse."""
    monkeypatch.setattr("testbed.results.READ_TIMEOUT_S", 0.8)
    server = Server(waiting=4)

    def go_on(path):
        server.waiting -= 1
        return Server.get(server, path)

    server.get = go_on

    wait_until_parsed(server, "lab")  # four polls, half a second each

    assert server.waiting == 0


def row(component, verdict, state="paired", value=1.0, tool="virtlab-memory"):
    return {
        "component": component,
        "verdict": verdict,
        "state": state,
        "value": value,
        "tool": tool,
    }


def test_single_figures_and_verdicts_are_counted_by_component():
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

    summary = comparison_summary(server, "lab")

    assert (summary.single, summary.native) == (1, 2)
    assert summary.verdicts == {"CPU": (0, 1), "memory": (1, 2), "system": (1, 1)}
    assert summary.lines()[0].endswith("1 of 2 cells have a single figure (50%)")


(CONTAINER,), (NESTED,), (LYING,) = (
    boot.systems for boot in (NSPAWN, KVM, WRONG_CLOCK)
)
LIE = [ConsoleReport(0.0, 9.0, [ClockCheck(3.0, 0.003, 3.001, 1.5)])]


def results(*layers, parsed=5, trusts=None):
    return SystemResults(5, parsed, {layers}, {1}, Counter(trusts or {"trusted": 3}))


def test_correct_results_have_no_problems():
    systems = {
        "container": results("kvm", "systemd-nspawn"),
        "kvm": results("kvm"),
        "liar": results("qemu-tcg", trusts={"suspect": 4}),
    }

    assert (
        result_problems([CONTAINER, NESTED, LYING], systems, {"liar": LIE}, ("kvm",))
        == []
    )


def test_missing_results_and_wrong_layers_are_problems():
    systems = {"kvm": results("qemu-tcg", parsed=4)}

    problems = result_problems([NESTED], systems, {}, ())

    assert problems == [
        "kvm: 4 of 5 results are readable on the server.",
        "kvm: the agent detected qemu-tcg.",
    ]


def test_trusted_wrong_clock_is_a_problem():
    systems = {"liar": results("qemu-tcg", trusts={"suspect": 3, "trusted": 1})}

    (problems,) = result_problems([LYING], systems, {"liar": LIE}, ())

    assert problems == ("liar: its clock is 3 suspect, 1 trusted, not suspect.")


def test_correct_clock_and_wrong_time_server_are_problems():
    systems = {"liar": results("qemu-tcg", trusts={"suspect": 4})}
    reports = {"liar": [ConsoleReport(0.0, 9.0, [ClockCheck(3.0, 0.003, 3.3, 3.0)])]}

    assert result_problems([LYING], systems, reports, ()) == [
        "liar: its clock was only +0.0% off.",
        "liar: its time server was +10.0% off.",
    ]


def test_table_has_a_line_per_system():
    lines = result_table(
        [LYING], {"liar": results("qemu-tcg")}, {"liar": LIE}, {"liar": 12.4}
    )

    assert len(lines) == 2
    assert lines[1].split() == [
        *("liar", "qemu-tcg", "5", "of", "5", "3", "trusted"),
        *("-50.00%", "+0.03%", "+-0.10%", "12"),
    ]
