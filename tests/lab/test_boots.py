from argparse import ArgumentParser
from collections import Counter

import pytest

from agents.commands.run import add_arguments
from lab.boots import (
    KVM,
    LIAR,
    NATIVE,
    QEMU,
    SHORT,
    chosen,
    itinerary,
    measure_words,
    runs_of,
    system_words,
)
from lab.errors import LabError


def test_many_repetitions_go_there_and_back_again():
    visits = itinerary(10, is_short=False)

    kinds = [visit.boot.kind for visit in visits]
    assert kinds[:2] == ["native", "container"]
    assert kinds[5:7] == ["trio", "liar"]
    names = [system.name for visit in visits for system in visit.systems]
    assert names[:6] == names[-6:][::-1]
    counted = Counter()
    for visit in (*visits[:5], *visits[7:]):
        for system in visit.systems:
            counted[system.name] += visit.repetitions
    assert set(counted.values()) == {10}


def test_an_odd_number_is_shared_out_whole():
    visits = itinerary(5, is_short=False)

    assert sum(v.repetitions for v in visits if v.boot.kind == "native") == 5


def test_few_repetitions_are_one_pass():
    kinds = [visit.boot.kind for visit in itinerary(3, is_short=False)]

    assert len(kinds) == len(set(kinds))


def test_the_short_form_has_a_guest_a_container_and_a_liar():
    visits = itinerary(1, is_short=True)

    assert [visit.boot for visit in visits] == [*SHORT, LIAR]


def test_some_of_the_boots_can_be_chosen():
    visits = itinerary(4, is_short=False)

    kinds = [visit.boot.kind for visit in chosen(visits, ["kvm", "trio"])]

    assert kinds == ["kvm", "trio", "kvm"]
    with pytest.raises(LabError, match="no esxi in the lab; there are native, "):
        chosen(visits, ["kvm", "esxi"])


def test_no_two_systems_have_one_name():
    systems = [s for visit in itinerary(1, is_short=False) for s in visit.systems]

    assert len({system.name for system in systems}) == len(systems)


def words_of(boot, beneath=(), versions=None):
    (system,) = boot.systems
    return system_words(system, beneath, versions or {})


def test_the_agent_understands_what_it_is_told():
    parser = ArgumentParser()
    add_arguments(parser)
    (system,) = KVM.systems

    words = measure_words(system, 3, session="today", beneath=("kvm",), versions={})
    options = parser.parse_args(words[1:])

    assert words[0] == "run"
    assert options.option == ["layers=kvm > qemu-tcg > kvm"]
    assert (options.repetitions, options.session) == (3, "today")
    assert options.note == "make lab: kvm"


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
    assert runs_of(LIAR.systems[0], 2) == 8
