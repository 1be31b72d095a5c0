from argparse import ArgumentParser

from agents.commands.run import add_arguments
from lab.boots import KVM, LIAR, NATIVE, QEMU
from lab.commands import measure_words, runs_of, system_words


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
