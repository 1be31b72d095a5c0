from lab.console import ClockCheck, read_console
from lab.processes import Line


def lines(*texts):
    return [Line(float(at), text) for at, text in enumerate(texts)]


def test_each_system_of_a_console_has_its_own_words():
    found = read_console(
        lines(
            "[    0.1] booting",
            "lab: xen-pv is up",
            "lab: clock opens",
            "lab: clock begins",
            "lab: clock ends",
            "lab: clock closes",
            "lab: clock external 2000000 local 500000",
            "lab: xen-pv is done",
            "lab: xen-pvh is up",
        )
    )

    assert found["xen-pv"].clocks == [ClockCheck(2.0, 1.0, 2.0, 0.5)]
    assert (found["xen-pv"].up_s, found["xen-pv"].done_s) == (1.0, 7.0)
    assert found["xen-pvh"].done_s is None


def test_errors_are_of_the_truth():
    check = ClockCheck(truth_s=4.0, bound_s=0.1, external_s=4.04, local_s=1.0)

    assert round(check.external_error, 6) == 0.01
    assert check.local_error == -0.75
    assert check.bound == 0.025


def test_a_check_that_was_cut_is_none():
    found = read_console(
        lines(
            "lab: kvm is up",
            "lab: clock begins",
            "lab: clock external 2000000 local 500000",
        )
    )

    assert found["kvm"].clocks == []


def test_who_said_nothing_is_not_there():
    assert read_console(lines("Kernel panic")) == {}
