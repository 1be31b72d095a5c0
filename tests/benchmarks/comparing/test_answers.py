"""What platforms kept of native speed: ranges, what stands apart, what is refused."""

from math import exp, log

import pytest

from benchmarks.comparing.answers import Effects, answers, indirect, telling

WORK = "disk-random-write"
NAMES = {
    (1, 1): ("Xen", "Xen 3.3", "LMU"),
    (1, 2): ("Xen", "Xen 3.3", "LMU"),
    (2, 3): ("VMware ESXi", "VMware ESXi 3.5", "LMU"),
}
ASKED = ("KVM", "Xen", "VMware ESXi")


def effects(study, system, *ratios, work=WORK, host=1, runs=(1, 1), flagged=0):
    logs = [log(ratio) for ratio in ratios]
    ends = (min(logs), max(logs), sum(logs)) if logs else ()
    known = Effects(study, system, host, work, 4, len(logs), *ends)
    if not logs:
        return known
    return Effects(
        *(study, system, host, work, 4, len(logs)),
        *ends,
        fewest=runs[0],
        most=runs[1],
        flagged=flagged,
    )


def test_a_platform_has_the_range_of_its_systems():
    found = answers(
        [effects(1, 1, 0.54, 0.6), effects(1, 2, 0.7), effects(2, 3, 0.67, 0.89)],
        NAMES,
        ASKED,
    )[WORK]

    esxi, xen = found.standings
    assert (xen.name, xen.systems) == ("Xen 3.3", 2)
    assert (xen.low, xen.high) == pytest.approx((0.54, 0.70))
    assert (esxi.low, esxi.high) == pytest.approx((0.67, 0.89))
    assert (found.kind, found.is_same_host, found.missing) == (
        "compared",
        True,
        ("KVM",),
    )


def test_single_runs_are_weak_and_so_are_few_labs():
    single = answers([effects(1, 1, 0.5), effects(2, 3, 0.6)], NAMES, ASKED)[WORK]
    often = answers(
        [effects(1, 1, 0.5, runs=(5, 5)), effects(2, 3, 0.6, runs=(5, 9))], NAMES, ASKED
    )[WORK]

    assert (single.are_single_runs, single.is_weak) == (True, True)
    assert (often.are_single_runs, often.is_weak) == (False, True)


def test_platforms_of_two_machines_are_not_on_the_same_host():
    found = answers(
        [effects(1, 1, 0.5, host=1), effects(2, 3, 0.6, host=2)], NAMES, ASKED
    )[WORK]

    assert not found.is_same_host


def test_a_platform_without_a_ratio_that_counts_is_told_and_is_not_missing():
    found = answers([effects(1, 1, 0.5), effects(2, 3)], NAMES, ASKED)[WORK]

    assert found.kind == "alone"
    assert found.unusable == ("VMware ESXi 3.5",)
    assert found.missing == ("KVM",)


def test_what_cannot_be_is_left_out_and_counted():
    some, none = effects(1, 1, 0.5), effects(2, 3)

    found = answers(
        [some._replace(impossible=1), none._replace(impossible=2)], NAMES, ASKED
    )[WORK]

    assert found.left_out == {"Xen 3.3": 1, "VMware ESXi 3.5": 2}
    assert [it.name for it in found.standings] == ["Xen 3.3"]


def test_nothing_that_counts_is_no_answer():
    assert answers([effects(1, 1)], NAMES, ASKED)[WORK].kind == "nothing"


def test_what_has_no_class_of_work_answers_nothing():
    assert answers([effects(1, 1, 0.5, work="")], NAMES, ASKED) == {}


def test_it_begins_where_platforms_stand_apart():
    other = "memory-read"
    found = answers(
        [
            effects(1, 1, 0.5, 0.6),
            effects(2, 3, 0.8, 0.9),
            effects(1, 1, 0.2, 1.1, work=other),
            effects(2, 3, 0.3, 1.2, work=other),
        ],
        NAMES,
        ASKED,
    )

    assert telling(found).work == WORK
    assert found[WORK].apart > 1 > found[other].apart


def test_platforms_within_the_margin_do_not_stand_apart():
    found = answers([effects(1, 1, 0.99), effects(2, 3, 1.0)], NAMES, ASKED)[WORK]

    assert found.apart == 0


def test_of_nothing_there_is_no_answer_to_begin_with():
    assert telling({}) is None


def test_an_indirect_ratio_has_both_variances():
    found = indirect((log(0.6), 0.0003), (log(0.8), 0.0001))

    assert found.ratio == pytest.approx(0.75)
    assert found.interval == pytest.approx(
        (0.75 * exp(-1.959964 * 0.02), 0.75 * exp(1.959964 * 0.02))
    )


def test_an_indirect_ratio_of_a_single_run_has_no_interval():
    assert indirect((log(0.6), None), (log(0.8), 0.0001)).interval is None
