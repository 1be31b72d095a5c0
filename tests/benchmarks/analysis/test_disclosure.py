"""What must be disclosed: one list, in the words that the agent really sends."""

import re
from pathlib import Path

import pytest

from agents.detection.facts import facts_of_linux
from benchmarks.analysis.disclosure import DISCLOSURE, undisclosed

ROOT = Path(__file__).resolve().parents[3]
# Facts of the run, of the agent and of the file, which say nothing of the machine.
OF_THE_UPLOAD = {"platform", "evidence", "agent", "file"}


def documented():
    """Return the names in the agent's table of facts."""
    text = (ROOT / "docs/agents.md").read_text()
    table = text.partition("\n## Facts\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.fixture
def sent(tmp_path):
    """What the agent looks for on a machine, found or not."""
    return {*facts_of_linux(str(tmp_path)), "architecture"}


def test_the_agents_table_has_every_fact_that_it_sends(sent):
    assert documented() == sent | OF_THE_UPLOAD | {"cpu nominal MHz"}


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
