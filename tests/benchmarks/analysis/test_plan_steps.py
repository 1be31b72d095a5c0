"""The order of a plan's steps, and the spread and overlap of slots."""

from collections import Counter

import pytest

from agents.measuring import command_lines
from agents.measuring.command_lines import Program, ToolOptions
from benchmarks.analysis.plan_steps import (
    MAX_STEPS,
    OPTION_NAMES,
    PROGRAMS,
    PlanDesign,
    PlannedSystem,
    PlannedWork,
    Scenario,
    expand_design,
    fits_budget,
    further_round,
    overlap_fraction,
    start_spread_us,
    validate_options,
)
from benchmarks.errors import InvalidError, UnknownNameError

A, B = PlannedSystem(1), PlannedSystem(2)
HACKBENCH = PlannedWork("hackbench")


def design(**changes):
    asked = {"systems": (A, B), "tools": (HACKBENCH,), "warm_up": 0, "repetitions": 2}
    return PlanDesign(**{**asked, **changes})


def systems(planned):
    return "".join("AB"[each.treatment.system - 1] for each in planned)


def test_abba_alternates_the_direction():
    assert systems(expand_design(design(order="abba", repetitions=4))) == "ABBAABBA"


def test_listed_order_is_kept():
    assert systems(expand_design(design(order="listed", repetitions=3))) == "ABABAB"


def test_random_rounds_are_complete_and_reproducible():
    columns = tuple(map(PlannedSystem, range(1, 9)))
    asked = design(systems=columns, order="random", repetitions=5, seed=7)

    planned = expand_design(asked)

    rounds = [planned[start : start + 8] for start in range(0, 40, 8)]
    orders = [[each.treatment.system for each in one] for one in rounds]
    assert all(sorted(order) == list(range(1, 9)) for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    assert planned == expand_design(asked)
    assert planned != expand_design(design(systems=columns, repetitions=5, seed=8))


def test_the_first_rounds_are_warm_up():
    planned = expand_design(design(warm_up=2, repetitions=3))

    assert Counter(each.repetition for each in planned) == dict.fromkeys(
        (-1, 0, 1, 2, 3), 2
    )


def test_every_program_of_a_tool_is_a_step():
    planned = expand_design(
        design(systems=(A,), tools=(PlannedWork("sysbench"),), repetitions=1)
    )

    programs = {each.treatment.parts[0].program for each in planned}
    assert programs == {"cpu", "memory", "threads"}


def test_only_the_named_programs_run():
    work = PlannedWork("fio", {"seconds": 3}, ("read 4k",))

    (step,) = expand_design(design(systems=(A,), tools=(work,), repetitions=1))

    assert step.treatment.parts[0].options == {"seconds": 3}


def test_parallel_slots_run_the_same_program():
    asked = design(systems=(PlannedSystem(1, 3),), scenarios=(Scenario("parallel", 3),))

    treatment = expand_design(asked)[0].treatment

    assert (treatment.scenario, treatment.vms, treatment.load) == ("parallel", 3, "")
    assert [part.slot for part in treatment.parts] == [1, 2, 3]
    assert {part.role for part in treatment.parts} == {"measured"}


def test_one_slot_is_measured_under_load():
    scenario = Scenario("under load", 3, load=PlannedWork("virtlab-linpack"))

    treatment = expand_design(
        design(systems=(PlannedSystem(1, 3),), scenarios=(scenario,))
    )[0].treatment

    assert treatment.scenario == "under CPU load"
    assert treatment.load == "virtlab-linpack in 2 further VMs"
    assert [(part.role, part.tool) for part in treatment.parts] == [
        ("measured", "hackbench"),
        ("load", "virtlab-linpack"),
        ("load", "virtlab-linpack"),
    ]


def test_combined_slots_run_different_tools():
    mix = (
        PlannedWork("fio", {}, ("read 4k",)),
        PlannedWork("iperf3", {"peer": "10.0.0.1"}),
    )
    scenario = Scenario("combined", 2, slot_works=mix)

    (step,) = expand_design(
        design(systems=(PlannedSystem(1, 2),), scenarios=(scenario,), repetitions=1)
    )

    assert step.treatment.load == "VM 1: fio read 4k, VM 2: iperf3 to the peer"
    assert [part.tool for part in step.treatment.parts] == ["fio", "iperf3"]


def test_a_further_round_has_the_chosen_treatments_only():
    asked = design(systems=tuple(map(PlannedSystem, range(1, 6))), order="listed")

    more = further_round(asked, [3, 1], 6)

    assert [(each.repetition, each.treatment.system) for each in more] == [
        (6, 4),
        (6, 2),
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scenarios": (Scenario("parallel", 3),)}, "needs 3 slots"),
        ({"tools": ()}, "at least one tool"),
        ({"tools": (PlannedWork("fio", {}, ("erase",)),)}, 'no program "erase"'),
        ({"repetitions": MAX_STEPS}, "the maximum is 5,000"),
    ],
)
def test_an_invalid_plan_raises(changes, sentence):
    with pytest.raises(InvalidError, match=sentence):
        expand_design(design(**changes))


def test_an_unknown_tool_raises_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean hackbench"):
        expand_design(design(tools=(PlannedWork("hackbrench"),)))


def test_programs_match_the_agents_runners(monkeypatch):
    monkeypatch.setattr(Program, "path", "/usr/bin/true")
    monkeypatch.setattr(command_lines, "kernel_argv", lambda *_: ["true"])
    wishes = command_lines.ToolOptions(peer="10.0.0.1", device="/dev/vda")

    known = {
        tool: tuple(step.name for step in runner(wishes))
        for tool, runner in command_lines.RUNNERS.items()
    }

    assert known == PROGRAMS


def test_a_start_spread_needs_every_start():
    assert start_spread_us([100, 250, 130]) == 150
    assert start_spread_us([100, None, 130]) is None
    assert start_spread_us([100]) is None


def test_overlap_is_relative_to_the_longest_window():
    assert overlap_fraction([(0, 100), (10, 110), (5, 80)]) == pytest.approx(0.7)
    assert overlap_fraction([(0, 10), (20, 30)]) == 0
    assert overlap_fraction([(0, 100)], [(20, 300)]) == pytest.approx(0.8)
    assert overlap_fraction([(0, 100)]) is None
    assert overlap_fraction([(0, 10), (None, 30)]) is None


def test_steps_longer_than_the_rest_do_not_fit():
    assert fits_budget(None, 1.0)
    assert fits_budget(9.0, 9.0)
    assert not fits_budget(9.1, 9.0)
    assert not fits_budget(None, 0.0)


GOOD = {
    "seconds": 30,
    "threads": 2,
    "file_mib": 256,
    "budget_s": 60,
    "bits": 32,
    "folder": "/mnt/disk",
    "peer": "192.168.1.7",
    "device": "/dev/vda",
    "sizes": "200,1000",
    "array_mib": 4,
    "iterations": 2,
    "blocks_kib": "1,32",
}


def test_options_match_the_agents_runners():
    assert validate_options(GOOD) == GOOD
    assert set(OPTION_NAMES) == set(ToolOptions._fields) - {"time_server", "probe"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seconds", 0),
        ("seconds", True),
        ("seconds", "10"),
        ("bits", 33),
        ("iterations", 0),
        ("folder", "relative"),
        ("folder", "/mnt\n"),
        ("peer", "--file=/etc/passwd"),
        ("peer", "a b"),
        ("device", "/etc/passwd"),
        ("sizes", "1000,"),
        ("sizes", "1\N{DEVANAGARI DIGIT TWO}"),
        ("blocks_kib", "1,3\N{DEVANAGARI DIGIT TWO}"),
        ("folder", "/mnt/\N{DEVANAGARI DIGIT TWO}"),
        ("device", "/dev/vd\N{DEVANAGARI DIGIT TWO}"),
        ("argv", "rm"),
    ],
)
def test_other_options_raise(name, value):
    with pytest.raises(InvalidError, match=name):
        validate_options({name: value})


def test_an_unknown_option_raises_with_a_suggestion():
    with pytest.raises(InvalidError, match="Did you mean seconds"):
        validate_options({"second": 3})
