"""Rule set 1: what a study may be published as."""

import re
from pathlib import Path

import pytest

from agents.detection.facts import cpu_facts, kernel_facts
from benchmarks.analysis.publishing import DISCLOSURE, MeasuredCell, assess, undisclosed
from benchmarks.platforms import BENEATH

EVERYTHING = {
    group: frozenset(thing.facts[0] for thing in things)
    for group, things in DISCLOSURE.items()
}


def cell(n=5, mean=100.0, variance=1.0, component="CPU"):
    return MeasuredCell(
        id=1, label="LINPACK", component=component, n=n, mean=mean, variance=variance
    )


def test_enough_quiet_and_disclosed_runs_are_a_labs():
    assessment = assess([cell()], EVERYTHING)

    assert (assessment.level, assessment.rule_set) == ("lab", 2)
    assert (assessment.few_runs, assessment.dispersed, assessment.undisclosed) == (
        (),
        (),
        {},
    )


def test_another_lab_reproduces_what_is_a_labs_only():
    assert assess([cell()], EVERYTHING).reproduced(["beta"]).level == "reproduced"
    assert assess([cell()], EVERYTHING).reproduced([]).level == "lab"
    assert assess([cell(n=1)], EVERYTHING).reproduced(["beta"]).level == "draft"


def test_few_runs_are_a_draft():
    assessment = assess([cell(n=4), cell()], EVERYTHING)

    assert (assessment.level, len(assessment.few_runs)) == ("draft", 1)


def test_each_component_may_vary_by_its_own_limit():
    noisy = 2.5**2  # 2.5 % of 100

    assert len(assess([cell(variance=noisy)], EVERYTHING).dispersed) == 1
    disk = cell(variance=noisy, component="disk")
    assert assess([disk], EVERYTHING).level == "lab"


def test_one_fact_that_nobody_states_is_named():
    stated = {**EVERYTHING, "host": EVERYTHING["host"] - {"turbo"}}

    assessment = assess([cell()], stated)

    assert (assessment.level, assessment.undisclosed) == ("draft", {"host": ("turbo",)})


def test_nothing_measured_is_a_draft():
    assert assess([], EVERYTHING).level == "draft"
    assert cell(n=1, variance=None).dispersion is None


ROOT = Path(__file__).resolve().parents[3]
# Facts of the run, of the agent and of the file, which say nothing about the machine.
OF_THE_UPLOAD = {"platform", "evidence", "agent", "file"}
# What `telemetry hyper-v` sends of a host, which is no run.
OF_A_HOST = {"virtual machines"}
# `sent` looks at a Linux; tests/agents/detection/test_windows.py at a Windows.
OF_WINDOWS = {"cpu nominal MHz", "power plan", BENEATH}


def documented():
    """Return the names in the agent's table of facts."""
    text = (ROOT / "docs/agents.md").read_text()
    table = text.partition("\n## Facts\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.fixture
def sent(tmp_path):
    """What the agent looks for on a machine, found or not."""
    root = str(tmp_path)
    parts = {"disks", "networks", "architecture"}
    return {*cpu_facts(root), *kernel_facts(root), *parts}


def test_the_agents_table_has_every_fact_that_it_sends(sent):
    assert documented() == sent | OF_THE_UPLOAD | OF_WINDOWS | OF_A_HOST


def test_what_is_detected_is_asked_for_by_the_name_the_agent_sends(sent):
    detected = {
        name
        for things in DISCLOSURE.values()
        for each in things
        for name in each.detected
    }

    assert detected
    assert detected <= sent


def test_each_thing_has_one_name_in_its_group_and_something_that_states_it():
    for things in DISCLOSURE.values():
        assert len({each.name for each in things}) == len(things)
        assert all(each.facts for each in things)


def test_one_name_is_enough_and_what_has_none_is_missing():
    everything = {
        group: frozenset(each.facts[-1] for each in things)
        for group, things in DISCLOSURE.items()
    }

    assert undisclosed(everything) == {}
    assert undisclosed({**everything, "host": everything["host"] - {"turbo"}}) == {
        "host": ("turbo",)
    }
    assert set(undisclosed({})) == set(DISCLOSURE)
