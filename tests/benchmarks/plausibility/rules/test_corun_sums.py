import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings


def corun(*values, **totals):
    facts = {"system": "xen", "scenario": "parallel", "vms": len(values)}
    slots = {str(slot): value for slot, value in enumerate(values, 1)} | totals
    return [cell(value, slot=slot, **facts) for slot, value in slots.items()]


def severities(members):
    return [finding.severity for finding in findings("slots-do-not-add-up", *members)]


def test_slots_that_match_their_sum_exactly_are_not_flagged():
    assert severities(corun(3.99, 4.28, 4.28, sum=12.53)) == []


def test_a_wrong_printed_sum_is_reported_with_both_numbers():
    [finding] = findings(
        "slots-do-not-add-up", *corun(1124.97, 1127.45, 1129.85, sum=3350.7)
    )

    assert finding.severity == "impossible"
    assert finding.evidence["printed"] == 3350.7
    assert finding.evidence["recomputed"] == pytest.approx(3382.27)
    assert len(finding.subjects) == 4


def test_a_mean_is_compared_with_its_parts():
    assert severities(corun(200.0, 210.0, mean=205.0)) == []
    assert severities(corun(200.0, 210.0, mean=215.5)) == ["impossible"]


def test_a_difference_of_a_tenth_of_a_percent_is_a_check():
    assert severities(corun(30.85, 30.40, sum=61.31)) == ["check"]


def test_a_part_above_the_sum_is_found_if_another_part_is_missing():
    incomplete = (
        corun(50.25, 20.11, 7.55, sum=40.03)[:1] + corun(1.0, 2.0, sum=40.03)[2:]
    )
    slots, total = (
        incomplete[0],
        cell(40.03, system="xen", scenario="parallel", vms=3, slot="sum"),
    )

    assert severities([slots, total]) == ["impossible"]


def test_missing_parts_are_no_contradiction():
    total = cell(40.03, system="xen", scenario="parallel", vms=3, slot="sum")
    part = cell(13.1, system="xen", scenario="parallel", vms=3, slot="1")

    assert severities([part, total]) == []


def test_three_significant_digits_are_rounded():
    assert severities(corun(12500.0, 8330.0, 4150.0, sum=25000.0)) == []


def test_slots_with_different_numbers_of_runs_may_scatter():
    facts = {"system": "xen", "scenario": "parallel", "vms": 2}
    slots = [cell(100.0, 104.0, slot="1", **facts), cell(99.0, slot="2", **facts)]

    assert severities([*slots, cell(203.0, 199.0, slot="sum", **facts)]) == []
    assert severities([*slots, cell(263.0, 259.0, slot="sum", **facts)]) == [
        "impossible"
    ]
