"""Relative performance of platforms: ranges, separation, exclusions."""

from math import exp, log

import pytest

from benchmarks.comparison.work_class_summaries import (
    SystemEffects,
    clearest_summary,
    indirect_ratio,
    work_class_summaries,
)

WORK = "disk-random-write"
NAMES = {
    (1, 1): ("Xen", "Xen 3.3", "LMU"),
    (1, 2): ("Xen", "Xen 3.3", "LMU"),
    (2, 3): ("VMware ESXi", "VMware ESXi 3.5", "LMU"),
}
ASKED = ("KVM", "Xen", "VMware ESXi")


def effects(study, system, *ratios, work=WORK, host=1, runs=(1, 1), doubtful=0, sure=0):
    logs = [log(ratio) for ratio in ratios]
    ends = (min(logs), max(logs), sum(logs)) if logs else ()
    known = SystemEffects(study, system, host, work, 4, len(logs), *ends)
    if not logs:
        return known
    return SystemEffects(
        *(study, system, host, work, 4, len(logs)),
        *ends,
        min_runs=runs[0],
        max_runs=runs[1],
        doubtful_count=doubtful,
        sure_min_log_ratio=sure and log(sure[0]),
        sure_max_log_ratio=sure and log(sure[1]),
    )


def test_a_platform_has_the_range_of_its_systems():
    found = work_class_summaries(
        [effects(1, 1, 0.54, 0.6), effects(1, 2, 0.7), effects(2, 3, 0.67, 0.89)],
        NAMES,
        ASKED,
    )[WORK]

    esxi, xen = found.ranges
    assert (xen.name, xen.systems) == ("Xen 3.3", 2)
    assert (xen.low, xen.high) == pytest.approx((0.54, 0.70))
    assert (esxi.low, esxi.high) == pytest.approx((0.67, 0.89))
    assert (found.kind, found.is_same_host, found.not_measured) == (
        "compared",
        True,
        ("KVM",),
    )


def test_single_runs_are_weak_and_so_are_few_labs():
    single = work_class_summaries(
        [effects(1, 1, 0.5), effects(2, 3, 0.6)], NAMES, ASKED
    )[WORK]
    often = work_class_summaries(
        [effects(1, 1, 0.5, runs=(5, 5)), effects(2, 3, 0.6, runs=(5, 9))], NAMES, ASKED
    )[WORK]

    assert (single.are_single_runs, single.is_weak) == (True, True)
    assert (often.are_single_runs, often.is_weak) == (False, True)


def test_platforms_of_two_machines_are_on_different_hosts():
    found = work_class_summaries(
        [effects(1, 1, 0.5, host=1), effects(2, 3, 0.6, host=2)], NAMES, ASKED
    )[WORK]

    assert not found.is_same_host


def test_a_platform_without_a_usable_ratio_is_listed():
    found = work_class_summaries([effects(1, 1, 0.5), effects(2, 3)], NAMES, ASKED)[
        WORK
    ]

    assert found.kind == "alone"
    assert found.without_ratio == ("VMware ESXi 3.5",)
    assert found.not_measured == ("KVM",)


def test_impossible_results_are_excluded_and_counted():
    some, none = effects(1, 1, 0.5), effects(2, 3)

    found = work_class_summaries(
        [
            some._replace(
                screened_count=1,
                screened_min_log_ratio=log(0.001),
                screened_max_log_ratio=log(0.001),
            ),
            none._replace(screened_count=2),
        ],
        NAMES,
        ASKED,
    )[WORK]

    assert found.screened_by_platform == {"Xen 3.3": 1, "VMware ESXi 3.5": 2}
    [xen] = found.ranges
    assert (xen.name, xen.low, xen.screened) == ("Xen 3.3", pytest.approx(0.5), 1)
    assert xen.with_screened == pytest.approx((0.001, 0.5))


def test_a_range_counts_its_results_and_systems_only():
    only_screened = effects(1, 2)._replace(screened_count=3)
    doubtful = effects(1, 1, 0.5, 0.9, 1.0, doubtful=1, sure=(0.9, 1.0))

    [xen] = work_class_summaries([doubtful, only_screened], NAMES, ASKED)[WORK].ranges

    assert (xen.results, xen.systems, xen.doubtful) == (3, 1, 1)
    assert (xen.low, xen.high) == pytest.approx((0.5, 1.0))
    assert xen.sure == pytest.approx((0.9, 1.0))


def test_a_range_of_doubtful_results_has_no_range_without_them():
    doubtful = effects(1, 1, 0.5, doubtful=1)

    assert work_class_summaries([doubtful], NAMES, ASKED)[WORK].ranges[0].sure is None


def test_without_usable_ratios_there_are_no_ranges():
    assert work_class_summaries([effects(1, 1)], NAMES, ASKED)[WORK].kind == "nothing"


def test_effects_without_a_work_class_are_ignored():
    assert work_class_summaries([effects(1, 1, 0.5, work="")], NAMES, ASKED) == {}


def test_the_clearest_summary_has_the_largest_separation():
    other = "memory-read"
    found = work_class_summaries(
        [
            effects(1, 1, 0.5, 0.6),
            effects(2, 3, 0.8, 0.9),
            effects(1, 1, 0.2, 1.1, work=other),
            effects(2, 3, 0.3, 1.2, work=other),
        ],
        NAMES,
        ASKED,
    )

    assert clearest_summary(found).work_class == WORK
    assert found[WORK].separation > 1 > found[other].separation


def test_platforms_within_the_margin_have_no_separation():
    found = work_class_summaries(
        [effects(1, 1, 0.99), effects(2, 3, 1.0)], NAMES, ASKED
    )[WORK]

    assert found.separation == 0


def test_no_summaries_have_no_clearest_one():
    assert clearest_summary({}) is None


def test_an_indirect_ratio_has_both_variances():
    found = indirect_ratio((log(0.6), 0.0003), (log(0.8), 0.0001))

    assert found.ratio == pytest.approx(0.75)
    assert found.interval == pytest.approx(
        (0.75 * exp(-1.959964 * 0.02), 0.75 * exp(1.959964 * 0.02))
    )


def test_an_indirect_ratio_of_a_single_run_has_no_interval():
    assert indirect_ratio((log(0.6), None), (log(0.8), 0.0001)).interval is None
