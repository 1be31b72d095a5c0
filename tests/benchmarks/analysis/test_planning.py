"""The order of a plan's steps, and what its starts and windows say."""

from collections import Counter

import pytest

from agents.measuring import runners
from agents.measuring.runners import Program, Wishes
from benchmarks.analysis.planning import (
    KNOWN,
    MOST_STEPS,
    PROGRAMS,
    Design,
    PlannedSystem,
    PlannedWork,
    Scenario,
    checked_options,
    expand,
    fits_budget,
    further_round,
    shared_part,
    spread_us,
)
from benchmarks.errors import InvalidError, UnknownNameError

A, B = PlannedSystem(1), PlannedSystem(2)
HACKBENCH = PlannedWork("hackbench")


def design(**changes):
    asked = {"columns": (A, B), "tools": (HACKBENCH,), "warm_up": 0, "repetitions": 2}
    return Design(**{**asked, **changes})


def systems(planned):
    return "".join("AB"[each.treatment.system - 1] for each in planned)


def test_it_goes_there_and_back_again():
    assert systems(expand(design(order="abba", repetitions=4))) == "ABBAABBA"


def test_it_goes_as_listed():
    assert systems(expand(design(order="listed", repetitions=3))) == "ABABAB"


def test_a_random_order_is_whole_in_every_round_and_the_same_for_a_seed():
    columns = tuple(map(PlannedSystem, range(1, 9)))
    asked = design(columns=columns, order="random", repetitions=5, seed=7)

    planned = expand(asked)

    rounds = [planned[start : start + 8] for start in range(0, 40, 8)]
    orders = [[each.treatment.system for each in one] for one in rounds]
    assert all(sorted(order) == list(range(1, 9)) for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    assert planned == expand(asked)
    assert planned != expand(design(columns=columns, repetitions=5, seed=8))


def test_the_first_rounds_warm_up():
    planned = expand(design(warm_up=2, repetitions=3))

    assert Counter(each.repetition for each in planned) == dict.fromkeys(
        (-1, 0, 1, 2, 3), 2
    )


def test_every_program_of_a_tool_is_a_step():
    planned = expand(
        design(columns=(A,), tools=(PlannedWork("sysbench"),), repetitions=1)
    )

    programs = {each.treatment.parts[0].program for each in planned}
    assert programs == {"cpu", "memory", "threads"}


def test_only_the_programs_that_were_named():
    work = PlannedWork("fio", {"seconds": 3}, ("read 4k",))

    (step,) = expand(design(columns=(A,), tools=(work,), repetitions=1))

    assert step.treatment.parts[0].options == {"seconds": 3}


def test_slots_in_parallel_do_the_same():
    asked = design(columns=(PlannedSystem(1, 3),), scenarios=(Scenario("parallel", 3),))

    treatment = expand(asked)[0].treatment

    assert (treatment.scenario, treatment.vms, treatment.load) == ("parallel", 3, "")
    assert [part.slot for part in treatment.parts] == [1, 2, 3]
    assert {part.role for part in treatment.parts} == {"measured"}


def test_one_slot_is_measured_beside_the_load_of_others():
    scenario = Scenario("under load", 3, load=PlannedWork("virtlab-linpack"))

    treatment = expand(design(columns=(PlannedSystem(1, 3),), scenarios=(scenario,)))[
        0
    ].treatment

    assert treatment.scenario == "under CPU load"
    assert treatment.load == "virtlab-linpack in 2 further VMs"
    assert [(part.role, part.tool) for part in treatment.parts] == [
        ("measured", "hackbench"),
        ("load", "virtlab-linpack"),
        ("load", "virtlab-linpack"),
    ]


def test_each_slot_does_its_own_work_at_once():
    mix = (
        PlannedWork("fio", {}, ("read 4k",)),
        PlannedWork("iperf3", {"peer": "10.0.0.1"}),
    )
    scenario = Scenario("combined", 2, mix=mix)

    (step,) = expand(
        design(columns=(PlannedSystem(1, 2),), scenarios=(scenario,), repetitions=1)
    )

    assert step.treatment.load == "VM 1: fio read 4k, VM 2: iperf3 to the peer"
    assert [part.tool for part in step.treatment.parts] == ["fio", "iperf3"]


def test_a_further_round_has_the_chosen_treatments_only():
    asked = design(columns=tuple(map(PlannedSystem, range(1, 6))), order="listed")

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
        ({"repetitions": MOST_STEPS}, "at most 5,000"),
    ],
)
def test_a_plan_nobody_could_follow_is_refused(changes, sentence):
    with pytest.raises(InvalidError, match=sentence):
        expand(design(**changes))


def test_an_unknown_tool_is_refused_with_the_closest():
    with pytest.raises(UnknownNameError, match="Did you mean hackbench"):
        expand(design(tools=(PlannedWork("hackbrench"),)))


def test_its_programs_are_those_of_the_agents_runners(monkeypatch):
    monkeypatch.setattr(Program, "path", "/usr/bin/true")
    monkeypatch.setattr(runners, "kernel_argv", lambda *_: ["true"])
    wishes = runners.Wishes(peer="10.0.0.1", device="/dev/vda")

    known = {
        tool: tuple(step.name for step in runner(wishes))
        for tool, runner in runners.RUNNERS.items()
    }

    assert known == PROGRAMS


def test_a_spread_needs_every_start():
    assert spread_us([100, 250, 130]) == 150
    assert spread_us([100, None, 130]) is None
    assert spread_us([100]) is None


def test_the_common_window_is_a_part_of_the_longest():
    assert shared_part([(0, 100), (10, 110), (5, 80)]) == pytest.approx(0.7)
    assert shared_part([(0, 10), (20, 30)]) == 0
    assert shared_part([(0, 10), (None, 30)]) is None


def test_what_takes_longer_than_is_left_does_not_fit():
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


def test_it_takes_what_the_runners_take():
    assert checked_options(GOOD) == GOOD
    assert set(KNOWN) == set(Wishes._fields) - {"time_server", "probe"}


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
def test_it_refuses_everything_else_in_words(name, value):
    with pytest.raises(InvalidError, match=name):
        checked_options({name: value})


def test_it_asks_whether_another_option_was_meant():
    with pytest.raises(InvalidError, match="Did you mean seconds"):
        checked_options({"second": 3})
