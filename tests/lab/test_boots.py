from argparse import ArgumentParser
from collections import Counter
from random import Random

import pytest

from agents.commands.run import add_arguments
from lab import LabError
from lab.boots import (
    HERE,
    KVM,
    LIAR,
    MEASURED,
    NATIVE,
    QEMU,
    SHORT,
    Visit,
    chosen,
    itinerary,
    measure_words,
    plan_document,
    runs_of,
    system_words,
)

WHOLE = itinerary(3, 10, Random("monday"), is_short=False)
ONCE = ("trio", "liar")


def test_every_system_has_ten_repetitions_in_each_of_three_sessions():
    counted = Counter()
    for visit in WHOLE:
        for system in visit.systems:
            if visit.boot.kind not in ONCE:
                counted[visit.session, system.name] += visit.repetitions

    systems = {system.name for boot in MEASURED for system in boot.systems}
    assert set(counted) == {(n, name) for n in (1, 2, 3) for name in systems}
    assert set(counted.values()) == {10}


def test_each_session_boots_every_guest_anew_and_comes_back_to_this_machine():
    for number in (1, 2, 3):
        kinds = Counter(
            visit.boot.kind
            for visit in WHOLE
            if visit.session == number and visit.boot.kind not in ONCE
        )
        assert kinds == {boot.kind: 2 if boot.kind in HERE else 1 for boot in MEASURED}


def test_sessions_stand_one_behind_the_other_in_orders_of_their_own():
    numbers = [visit.session for visit in WHOLE]
    orders = {
        tuple(
            system.name
            for visit in WHOLE
            if visit.session == number and visit.boot.kind not in ONCE
            for system in visit.systems
        )
        for number in (1, 2, 3)
    }

    assert numbers == sorted(numbers)
    assert len(orders) == 3


def test_a_seed_gives_the_same_plan_again():
    assert itinerary(3, 10, Random("monday"), is_short=False) == WHOLE
    assert itinerary(3, 10, Random("tuesday"), is_short=False) != WHOLE


def test_guests_together_and_the_liar_come_once_behind_the_guest_that_was_alone():
    kinds = [visit.boot.kind for visit in WHOLE]

    assert [kinds.count(kind) for kind in ONCE] == [1, 1]
    assert kinds.index("qemu") < kinds.index("trio") < kinds.index("liar")
    assert {visit.session for visit in WHOLE if visit.boot.kind in ONCE} == {1}


def test_a_single_repetition_is_one_visit():
    kinds = [visit.boot.kind for visit in itinerary(1, 1, Random(1), is_short=False)]

    assert len(kinds) == len(set(kinds))


def test_the_short_form_has_a_guest_a_container_and_a_liar():
    visits = itinerary(1, 1, Random(1), is_short=True)

    kinds = [visit.boot.kind for visit in visits]
    assert sorted(kinds[:-1]) == sorted(boot.kind for boot in SHORT)
    assert kinds[-1] == "liar"


def test_some_of_the_boots_can_be_chosen():
    kinds = {visit.boot.kind for visit in chosen(WHOLE, ["kvm", "trio"])}

    assert kinds == {"kvm", "trio"}
    with pytest.raises(LabError, match="no esxi in the lab; there are native, "):
        chosen(WHOLE, ["kvm", "esxi"])


def test_no_two_systems_have_one_name():
    visits = itinerary(1, 1, Random(1), is_short=False)
    systems = [system for visit in visits for system in visit.systems]

    assert len({system.name for system in systems}) == len(systems)


def words_of(boot, beneath=(), versions=None):
    (system,) = boot.systems
    return system_words(system, beneath, versions or {})


def asked_of(boot, repetitions=3, session=2):
    (system,) = boot.systems
    visit = Visit(boot, repetitions, session)
    words = measure_words(
        visit, system, peer="198.18.0.2:5099", beneath=("kvm",), versions={}
    )
    parser = ArgumentParser()
    add_arguments(parser)
    assert words[0] == "run"
    return parser.parse_args(words[1:])


def test_the_agent_understands_what_it_is_told():
    options = asked_of(KVM)

    assert options.option == ["layers=kvm > qemu-tcg > kvm"]
    assert (options.repetitions, options.session) == (3, "session 2")
    assert options.note == "make lab: kvm"
    assert options.tools[-1] == "sysbench:cpu,memory"
    assert options.order == "random"


def test_linpack_has_size_500_and_the_system_kernel_a_peer_and_a_disk():
    options = asked_of(QEMU)

    assert "virtlab-system" in options.tools
    assert (options.sizes, options.peer) == ("500", "198.18.0.2:5099")
    assert options.folder == "disk"


def test_rows_are_as_often_everywhere():
    assert asked_of(NATIVE).iterations == asked_of(QEMU).iterations == 1


def test_the_plan_of_guests_together_has_more_time_on_a_slow_machine():
    quiet = plan_document("monday", 7, 3, 10, 1.0)
    slow = plan_document("monday", 7, 3, 10, 4.0)

    assert slow["budget_s"] == 4 * quiet["budget_s"]
    assert quiet["systems"] == [{"system": 7, "slots": 3}]


def test_native_is_said_because_the_machine_itself_may_be_a_guest():
    assert words_of(NATIVE, beneath=("kvm",)) == ["--hypervisor", "native"]


def test_versions_are_said_of_the_innermost_layer():
    assert words_of(QEMU, versions={"qemu-tcg": "7.2"})[-2:] == [
        "--hypervisor-version",
        "7.2",
    ]
    assert "--hypervisor-version" not in words_of(KVM, versions={"qemu-tcg": "7.2"})


def test_the_liar_is_a_system_of_its_own():
    assert "clock=counts instructions" in words_of(LIAR)


def test_each_start_of_a_program_is_a_run():
    assert runs_of(QEMU.systems[0], 2) == 10
    assert runs_of(LIAR.systems[0], 2) == 6
