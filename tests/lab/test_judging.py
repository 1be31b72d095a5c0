from collections import Counter

from lab.boots import KVM, LIAR, NSPAWN
from lab.console import ClockCheck, Said
from lab.judging import problems, table
from lab.results import Found

(CONTAINER,), (NESTED,), (LYING,) = (boot.systems for boot in (NSPAWN, KVM, LIAR))
LIE = [Said(0.0, 9.0, [ClockCheck(3.0, 0.003, 3.001, 1.5)])]


def found(*layers, parsed=5, trusts=None):
    return Found(5, parsed, {layers}, {1}, Counter(trusts or {"trusted": 3}))


def test_a_lab_in_which_all_is_as_it_should_be_has_no_problems():
    systems = {
        "container": found("kvm", "systemd-nspawn"),
        "kvm": found("kvm"),
        "liar": found("qemu-tcg", trusts={"suspect": 4}),
    }

    assert problems([CONTAINER, NESTED, LYING], systems, {"liar": LIE}, ("kvm",)) == []


def test_results_that_are_missing_and_layers_that_are_wrong_are_told():
    systems = {"kvm": found("qemu-tcg", parsed=4)}

    told = problems([NESTED], systems, {}, ())

    assert told == [
        "kvm: 4 of 5 results are readable on the server.",
        "kvm: the agent detected qemu-tcg.",
    ]


def test_a_lie_that_the_page_believes_is_told():
    systems = {"liar": found("qemu-tcg", trusts={"suspect": 3, "trusted": 1})}

    (told,) = problems([LYING], systems, {"liar": LIE}, ())

    assert told == ("liar: the page calls its clock 3 suspect, 1 trusted, not suspect.")


def test_a_liar_that_told_the_truth_and_a_wrong_time_server_are_told():
    systems = {"liar": found("qemu-tcg", trusts={"suspect": 4})}
    said = {"liar": [Said(0.0, 9.0, [ClockCheck(3.0, 0.003, 3.3, 3.0)])]}

    assert problems([LYING], systems, said, ()) == [
        "liar: its clock was only +0.0% off.",
        "liar: its time server was +10.0% off.",
    ]


def test_the_table_has_a_line_for_each_system():
    lines = table([LYING], {"liar": found("qemu-tcg")}, {"liar": LIE}, {"liar": 12.4})

    assert len(lines) == 2
    assert lines[1].split() == [
        *("liar", "qemu-tcg", "5", "of", "5", "3", "trusted"),
        *("-50.00%", "+0.03%", "+-0.10%", "12"),
    ]
