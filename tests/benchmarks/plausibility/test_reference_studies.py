"""The published studies contain real mistakes.

The rules find them, with few other findings.
"""

import json
from collections import Counter

import pytest

from benchmarks.plausibility.rules import apply_rules
from tests.benchmarks.plausibility.published_studies import (
    published as reference_studies,
)
from tests.benchmarks.plausibility.published_studies import recorded

ESXI, XEN = "lmu-2010-esxi", "lmu-2010-xen"
HEIDELBERG, UOC, INQBUS = "heidelberg-2007-xen", "uoc-2012-kvm", "inqbus-2008-io"


@pytest.fixture(scope="module")
def flagged():
    """Return the findings of each study by rule."""
    studies = reference_studies()
    flagged = {slug: {} for slug in studies}
    for slug, study in studies.items():
        for finding in apply_rules(study):
            flagged[slug].setdefault(finding.rule, []).append(finding)
    return flagged


def cells_of(findings, slug):
    cells = {cell.id: cell for cell in reference_studies()[slug].cells}
    subjects = [subject for finding in findings for subject in finding.subjects]
    return [cells[subject.id] for subject in subjects if subject.kind == "cell"]


def test_two_native_values_of_the_esxi_study_are_a_thousand_times_too_large(flagged):
    unit_errors = flagged[ESXI]["unit-slip"]

    assert {finding.evidence["value"] for finding in unit_errors} == {3108035, 3403235}
    assert all(cell.is_native for cell in cells_of(unit_errors, ESXI))
    assert "unit-slip" not in flagged[XEN]


def test_twenty_seven_values_of_parallel_guests_are_in_both_lmu_studies(flagged):
    copies = [e for e in flagged[ESXI]["pasted-values"] if e.severity == "impossible"]

    assert sum(len(finding.subjects) for finding in copies) == 27
    cells = cells_of(copies, ESXI)
    assert {(cell.tool, cell.scenario) for cell in cells} == {("ramspeed", "parallel")}
    assert all(finding.evidence["other_study"] == XEN for finding in copies)


def test_the_shared_native_measurement_is_a_check(flagged):
    shared = [e for e in flagged[XEN]["pasted-values"] if e.severity == "check"]

    assert len(shared) == 4
    assert all(cell.is_native for cell in cells_of(shared, XEN))


def test_two_systems_of_the_xen_study_have_the_same_four_disk_throughputs(flagged):
    copies = [e for e in flagged[XEN]["pasted-values"] if e.severity == "impossible"]
    [own] = [e for e in copies if e.evidence["other_study"] == XEN]

    assert own.evidence["readings"] == [[27.12], [26.4], [8.11], [18.68]]
    kinds = {cell.virtualization for cell in cells_of([own], XEN)}
    assert kinds == {"paravirtual", "full"}


def test_three_native_values_of_the_esxi_study_are_beaten_by_all_guests(flagged):
    slow = flagged[ESXI]["baseline-too-slow"]

    assert sorted(e.evidence["native"] for e in slow) == [48.91, 5635.32, 6613.25]
    assert all(finding.evidence["median_percent"] > 7 for finding in slow)


def test_sums_show_that_the_pasted_slots_are_not_those_of_esxi(flagged):
    sums = flagged[ESXI]["slots-do-not-add-up"]
    wrong = [e.evidence["printed"] for e in sums if e.severity == "impossible"]

    assert sorted(wrong) == [
        *(3350.7, 5430.31, 10707.99, 10888.15),
        *(12846.8, 13224.91, 28996.11, 34209.22),
    ]


def test_the_network_sums_of_the_xen_study_are_off_by_a_tenth_of_a_percent(flagged):
    sums = flagged[XEN]["slots-do-not-add-up"]

    assert [finding.severity for finding in sums] == ["check"] * 4
    assert all(abs(finding.evidence["off_percent"]) < 0.14 for finding in sums)


@pytest.mark.parametrize("slug", [ESXI, XEN])
def test_the_native_windows_network_of_the_lmu_studies_disagrees(flagged, slug):
    disagreements = flagged[slug]["baselines-disagree"]
    differences = [abs(finding.evidence["off_percent"]) for finding in disagreements]
    cells = cells_of(disagreements, slug)

    assert all(5 < percent < 6 for percent in differences)
    assert {cell.guest_os[:7] for cell in cells} == {"Windows"}
    assert {cell.metric for cell in cells} == {"network throughput"}
    assert len(cells) == 4


def test_six_cpu_utilizations_of_the_xen_study_were_not_measured(flagged):
    assert len(flagged[XEN]["zero-reading"]) == 2
    zeros = cells_of(flagged[XEN]["zero-reading"], XEN)
    assert len(zeros) == 6
    assert {cell.options["guest_tools"] for cell in zeros} == {"pv drivers"}


def test_64_bit_windows_on_xen_has_a_slow_clock(flagged):
    slow = flagged[XEN]["common-clock-factor"]

    assert [finding.evidence["factor"] for finding in slow] == pytest.approx(
        [1.085, 1.090], abs=0.001
    )
    assert all(max(finding.evidence["outside"]) < 1 for finding in slow)
    assert {(c.guest_os[:7], c.guest_bits) for c in cells_of(slow, XEN)} == {
        ("Windows", 64)
    }


def test_three_guests_of_the_esxi_study_exceed_their_disk(flagged):
    [faster] = flagged[ESXI]["faster-than-native"]

    assert sorted(faster.evidence["pairs"]) == [[48.46, 20.03], [79.6, 30.46]]


def test_a_path_between_two_guests_may_be_faster_than_the_wire(flagged):
    assert not any("beyond-the-medium" in rules for rules in flagged.values())


def test_the_parallel_esxi_guests_have_no_single_run(flagged):
    [reference] = flagged[ESXI]["corun-reference"]

    assert reference.evidence["differs"].keys() == {"hw_virt", "guest_tools"}


def test_the_megabytes_of_the_heidelberg_netperf_are_mebibytes(flagged):
    [mebi, other] = flagged[HEIDELBERG]["netperf-service-demand"]

    assert mebi.sentence.startswith("The throughput of 31 runs is in MiB/s, not MB/s")
    assert other.evidence == {"implied_cpus": 1, "elsewhere": 2, "place": "node7"}
    throughput = cells_of([other], HEIDELBERG)[0]
    assert (throughput.parameters["from"], throughput.mean) == ("vm4", 293.56)


def test_two_netperf_runs_took_far_longer_than_the_others(flagged):
    lengths = [e.evidence for e in flagged[HEIDELBERG]["elapsed-not-requested"]]

    assert [evidence["elapsed_s"] for evidence in lengths] == [137.9, 78.82]


def test_the_repetitions_of_the_mpi_io_test_may_be_its_iterations(flagged):
    [iterations] = flagged[HEIDELBERG]["iterations-as-runs"]

    assert len(iterations.subjects) == 4


def test_netperf_ran_five_times_as_long_before_the_tuning(flagged):
    [lengths] = flagged[HEIDELBERG]["length-differs"]

    assert sorted(lengths.evidence["lengths_s"].values())[0] == 20.01


def test_four_meters_of_the_uoc_study_ran_too_long(flagged):
    excesses = [
        finding.evidence["off_percent"] for finding in flagged[UOC]["meter-window"]
    ]

    assert excesses == pytest.approx([17.3, 39.7, 6.0, 5.9], abs=0.06)


def test_the_headers_of_b_eff_io_differ_between_the_storages(flagged):
    cells = cells_of(flagged[UOC]["parameters-differ"], UOC)

    assert len(cells) == 24
    assert {cell.options["storage"] for cell in cells} == {"ssd", "iodrive"}


def test_the_uoc_clients_ran_busy_loops(flagged):
    [busy] = flagged[UOC]["client-busy-loop"]

    assert len(busy.subjects) == 4
    assert min(busy.evidence["shares"]) > 0.98


def test_the_uoc_web_test_measured_its_own_pauses(flagged):
    [pauses] = flagged[UOC]["client-think-time"]

    assert pauses.evidence["pauses_s"] == 560


def test_nothing_in_the_inqbus_talk_is_flagged(flagged):
    assert flagged[INQBUS] == {}


def test_only_changing_speeds_and_coarse_displays_are_flagged_in_our_own_lab():
    [own] = recorded().values()

    rules = Counter(finding.rule for finding in apply_rules(own))

    assert rules == {"coarse-clock": 1, "level-changes": 1, "two-speeds": 1}


def test_the_lists_are_complete(flagged):
    counts = {
        slug: {rule: len(members) for rule, members in rules.items()}
        for slug, rules in flagged.items()
    }

    assert counts == {
        ESXI: {
            "baseline-too-slow": 3,
            "baselines-disagree": 2,
            "corun-reference": 1,
            "faster-than-native": 1,
            "pasted-values": 9,
            "slots-do-not-add-up": 10,
            "unit-slip": 2,
        },
        XEN: {
            "baselines-disagree": 2,
            "common-clock-factor": 2,
            "faster-than-native": 1,
            "pasted-values": 10,
            "saturated-reading": 2,
            "slots-do-not-add-up": 4,
            "zero-reading": 2,
        },
        HEIDELBERG: {
            "coarse-clock": 1,
            "elapsed-not-requested": 2,
            "iterations-as-runs": 1,
            "length-differs": 1,
            "netperf-service-demand": 2,
            "saturated-reading": 2,
        },
        UOC: {
            "client-busy-loop": 1,
            "client-think-time": 1,
            "meter-window": 4,
            "parameters-differ": 3,
        },
        INQBUS: {},
        "ufcg-2026-power9": {"failed-work": 1, "faster-than-native": 4},
        "oulu-2021-microvm": {
            "at-the-ceiling": 1,
            "failed-work": 4,
            "faster-than-native": 2,
            "level-changes": 7,
            "parameters-differ": 3,
            "two-speeds": 2,
        },
        "ibm-2014-docker-kvm": {},
        "memfault-2024-wsl2": {},
        "poliquin-2023-wsl2": {},
        "friedman-2018-hyperv": {"corun-reference": 2},
    }


def test_every_finding_has_json_evidence_and_a_unique_fingerprint(flagged):
    every = [
        e for rules in flagged.values() for members in rules.values() for e in members
    ]

    assert all(json.loads(json.dumps(finding.evidence)) for finding in every)
    assert len({finding.fingerprint for finding in every}) == len(every)
    assert all(
        finding.subjects and finding.sentence.endswith((".", "?")) for finding in every
    )
