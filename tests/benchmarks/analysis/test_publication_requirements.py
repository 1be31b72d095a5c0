"""Rule set 1: publication levels of studies."""

import re
from pathlib import Path

import pytest

from agents.detection.facts import cpu_facts, kernel_facts
from benchmarks.analysis.publication_requirements import (
    REQUIRED_FACTS,
    CellPrecision,
    assess_publication_level,
    missing_facts,
)
from benchmarks.hypervisor_names import VBS_FACT

EVERYTHING = {
    group: frozenset(thing.facts[0] for thing in things)
    for group, things in REQUIRED_FACTS.items()
}


def cell(n=5, mean=100.0, variance=1.0, component="CPU"):
    return CellPrecision(
        id=1, label="LINPACK", component=component, n=n, mean=mean, variance=variance
    )


def test_enough_precise_and_documented_runs_reach_the_lab_level():
    assessment = assess_publication_level([cell()], EVERYTHING)

    assert (assessment.level, assessment.rule_set) == ("lab", 3)
    assert (
        assessment.cells_with_few_runs,
        assessment.cells_with_high_dispersion,
        assessment.missing_facts,
    ) == (
        (),
        (),
        {},
    )


def test_only_the_lab_level_can_become_reproduced():
    assert (
        assess_publication_level([cell()], EVERYTHING)
        .with_reproducing_labs(["beta"])
        .level
        == "reproduced"
    )
    assert (
        assess_publication_level([cell()], EVERYTHING).with_reproducing_labs([]).level
        == "lab"
    )
    assert (
        assess_publication_level([cell(n=1)], EVERYTHING)
        .with_reproducing_labs(["beta"])
        .level
        == "draft"
    )


def test_few_runs_are_a_draft():
    assessment = assess_publication_level([cell(n=4), cell()], EVERYTHING)

    assert (assessment.level, len(assessment.cells_with_few_runs)) == ("draft", 1)


def test_each_component_has_its_own_dispersion_limit():
    noisy = 2.5**2  # 2.5 % of 100

    assert (
        len(
            assess_publication_level(
                [cell(variance=noisy)], EVERYTHING
            ).cells_with_high_dispersion
        )
        == 1
    )
    disk = cell(variance=noisy, component="disk")
    assert assess_publication_level([disk], EVERYTHING).level == "lab"


def test_a_missing_fact_is_named():
    stated = {**EVERYTHING, "host": EVERYTHING["host"] - {"turbo"}}

    assessment = assess_publication_level([cell()], stated)

    assert (assessment.level, assessment.missing_facts) == (
        "draft",
        {"host": ("turbo",)},
    )


def test_a_study_without_cells_is_a_draft():
    assert assess_publication_level([], EVERYTHING).level == "draft"
    assert cell(n=1, variance=None).dispersion is None


ROOT = Path(__file__).resolve().parents[3]
# Facts of the run, the agent and the file, not of the machine.
OF_THE_UPLOAD = {"platform", "evidence", "agent", "file"}
# Facts of a host from `telemetry hyper-v`, which is not a run.
OF_A_HOST = {"virtual machines"}
# `sent` covers Linux; tests/agents/detection/test_windows.py covers Windows.
OF_WINDOWS = {"cpu nominal MHz", "power plan", VBS_FACT}


def documented():
    """Return the names in the agent's table of facts."""
    text = (ROOT / "docs/agents.md").read_text()
    table = text.partition("\n## Facts\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.fixture
def sent(tmp_path):
    """Return the facts that the agent looks for on a machine."""
    root = str(tmp_path)
    parts = {"disks", "networks", "architecture"}
    return {*cpu_facts(root), *kernel_facts(root), *parts}


def test_the_agents_documentation_lists_every_fact(sent):
    assert documented() == sent | OF_THE_UPLOAD | OF_WINDOWS | OF_A_HOST


def test_required_facts_use_the_agents_names(sent):
    detected = {
        name
        for things in REQUIRED_FACTS.values()
        for each in things
        for name in each.agent_facts
    }

    assert detected
    assert detected <= sent


def test_each_required_fact_has_a_unique_name_and_a_source():
    for things in REQUIRED_FACTS.values():
        assert len({each.name for each in things}) == len(things)
        assert all(each.facts for each in things)


def test_one_name_is_enough_for_a_fact():
    everything = {
        group: frozenset(each.facts[-1] for each in things)
        for group, things in REQUIRED_FACTS.items()
    }

    assert missing_facts(everything) == {}
    assert missing_facts({**everything, "host": everything["host"] - {"turbo"}}) == {
        "host": ("turbo",)
    }
    assert set(missing_facts({})) == set(REQUIRED_FACTS)
