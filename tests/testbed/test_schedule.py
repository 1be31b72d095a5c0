from argparse import ArgumentParser
from collections import Counter
from random import Random

import pytest

from agents.commands.run import add_arguments
from testbed import TestbedError
from testbed.schedule import (
    FULL_SETUPS,
    KVM,
    NATIVE,
    QEMU,
    SHORT_SETUPS,
    UNBOOTED_KINDS,
    WRONG_CLOCK,
    ScheduledBoot,
    boot_schedule,
    expected_runs,
    plan_document,
    run_arguments,
    select_boots,
    system_arguments,
)

WHOLE = boot_schedule(3, 10, Random("monday"), is_short=False)
ONCE = ("trio", "liar")


def test_systems_have_ten_repetitions_in_each_of_three_sessions():
    counted = Counter()
    for visit in WHOLE:
        for system in visit.systems:
            if visit.setup.kind not in ONCE:
                counted[visit.session, system.name] += visit.repetitions

    systems = {system.name for boot in FULL_SETUPS for system in boot.systems}
    assert set(counted) == {(n, name) for n in (1, 2, 3) for name in systems}
    assert set(counted.values()) == {10}


def test_each_session_boots_every_guest_and_returns_to_this_machine():
    for number in (1, 2, 3):
        kinds = Counter(
            visit.setup.kind
            for visit in WHOLE
            if visit.session == number and visit.setup.kind not in ONCE
        )
        assert kinds == {
            boot.kind: 2 if boot.kind in UNBOOTED_KINDS else 1 for boot in FULL_SETUPS
        }


def test_sessions_are_consecutive_with_random_orders():
    numbers = [visit.session for visit in WHOLE]
    orders = {
        tuple(
            system.name
            for visit in WHOLE
            if visit.session == number and visit.setup.kind not in ONCE
            for system in visit.systems
        )
        for number in (1, 2, 3)
    }

    assert numbers == sorted(numbers)
    assert len(orders) == 3


def test_seed_determines_the_schedule():
    assert boot_schedule(3, 10, Random("monday"), is_short=False) == WHOLE
    assert boot_schedule(3, 10, Random("tuesday"), is_short=False) != WHOLE


def test_corun_and_wrong_clock_run_once_after_the_single_guest():
    kinds = [visit.setup.kind for visit in WHOLE]

    assert [kinds.count(kind) for kind in ONCE] == [1, 1]
    assert kinds.index("qemu") < kinds.index("trio") < kinds.index("liar")
    assert {visit.session for visit in WHOLE if visit.setup.kind in ONCE} == {1}


def test_single_repetition_is_one_boot():
    kinds = [
        visit.setup.kind for visit in boot_schedule(1, 1, Random(1), is_short=False)
    ]

    assert len(kinds) == len(set(kinds))


def test_short_schedule_has_guest_container_and_wrong_clock():
    visits = boot_schedule(1, 1, Random(1), is_short=True)

    kinds = [visit.setup.kind for visit in visits]
    assert sorted(kinds[:-1]) == sorted(boot.kind for boot in SHORT_SETUPS)
    assert kinds[-1] == "liar"


def test_kinds_of_boots_can_be_selected():
    kinds = {visit.setup.kind for visit in select_boots(WHOLE, ["kvm", "trio"])}

    assert kinds == {"kvm", "trio"}
    with pytest.raises(
        TestbedError, match=r"no esxi in the testbed\. Choose from native, "
    ):
        select_boots(WHOLE, ["kvm", "esxi"])


def test_system_names_are_unique():
    visits = boot_schedule(1, 1, Random(1), is_short=False)
    systems = [system for visit in visits for system in visit.systems]

    assert len({system.name for system in systems}) == len(systems)


def words_of(boot, beneath=(), versions=None):
    (system,) = boot.systems
    return system_arguments(system, beneath, versions or {})


def asked_of(boot, repetitions=3, session=2):
    (system,) = boot.systems
    visit = ScheduledBoot(boot, repetitions, session)
    words = run_arguments(
        visit, system, peer="198.18.0.2:5099", host_layers=("kvm",), versions={}
    )
    parser = ArgumentParser()
    add_arguments(parser)
    assert words[0] == "run"
    return parser.parse_args(words[1:])


def test_agent_accepts_the_arguments():
    options = asked_of(KVM)

    assert options.option == ["layers=kvm > qemu-tcg > kvm"]
    assert (options.repetitions, options.session) == (3, "session 2")
    assert options.note == "make lab: kvm"
    assert options.tools[-1] == "sysbench:cpu,memory"
    assert options.order == "random"


def test_linpack_has_size_500_and_system_kernel_a_peer_and_disk():
    options = asked_of(QEMU)

    assert "virtlab-system" in options.tools
    assert (options.sizes, options.peer) == ("500", "198.18.0.2:5099")
    assert options.folder == "disk"


def test_iterations_are_the_same_everywhere():
    assert asked_of(NATIVE).iterations == asked_of(QEMU).iterations == 1


def test_corun_plan_has_more_time_on_a_slow_machine():
    quiet = plan_document("monday", 7, 3, 10, 1.0)
    slow = plan_document("monday", 7, 3, 10, 4.0)

    assert slow["budget_s"] == 4 * quiet["budget_s"]
    assert quiet["systems"] == [{"system": 7, "slots": 3}]


def test_native_is_stated_because_the_machine_may_be_a_guest():
    assert words_of(NATIVE, beneath=("kvm",)) == [
        *("--hypervisor", "native", "--confirm-native")
    ]


def test_versions_are_of_the_innermost_layer():
    assert words_of(QEMU, versions={"qemu-tcg": "7.2"})[-2:] == [
        "--hypervisor-version",
        "7.2",
    ]
    assert "--hypervisor-version" not in words_of(KVM, versions={"qemu-tcg": "7.2"})


def test_wrong_clock_is_a_separate_system():
    assert "clock=counts instructions" in words_of(WRONG_CLOCK)


def test_each_start_of_a_program_is_a_run():
    assert expected_runs(QEMU.systems[0], 2) == 10
    assert expected_runs(WRONG_CLOCK.systems[0], 2) == 6
