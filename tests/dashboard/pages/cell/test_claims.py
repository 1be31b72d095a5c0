"""What may be quoted of a cell, and what not."""

from dataclasses import replace

import pytest

from dashboard.pages.cell.claims import Claim, NoClaim, claim
from tests.comparison_rows import MEASURED, NATIVE, SLOWER, XEN, changed

LINK = "/studies/alpha-lab/study/runs/?cell=2"


def test_a_verdict_is_a_sentence_with_interval_host_tool_runs_and_link():
    assert claim(MEASURED, link=LINK) == Claim(
        "On host alpha, Xen 3.3 full Ubuntu 32-bit gives 0.960 [0.940, 0.980] of native"
        " in Iometer (Network throughput · write · target iSCSI), 6 runs against 5"
        " runs, 95 % interval: it is slower by more than 2\N{NO-BREAK SPACE}%.",
        LINK,
    )


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("faster", "it is faster by more than 5 %."),
        ("equivalent", "the two are equivalent within 5 %."),
        ("undetermined", "whether they differ by more than 5 % is undetermined."),
    ],
)
def test_each_verdict_is_said_as_what_it_is_and_with_its_margin(verdict, words):
    judged = replace(SLOWER, verdict=verdict, direction=verdict)
    sentence = claim(
        changed(MEASURED, judgement=judged), equivalence_margin_percent=5.0
    ).sentence

    assert sentence.replace("\N{NO-BREAK SPACE}", " ").endswith(words)


def test_a_verdict_that_is_lost_among_many_says_why_its_interval_looks_decided():
    lost = "Decided by itself, but not as one of 40 results that were tested together."
    judged = replace(SLOWER, verdict="undetermined", sentences=(lost,))

    assert "is undetermined (decided by itself, but not as one of 40 results" in (
        claim(changed(MEASURED, judgement=judged)).sentence
    )


def test_a_vm_among_others_is_never_quoted_as_if_it_ran_alone():
    row = changed(MEASURED, scenario="parallel", vms=3, slot="2", load="CPU 100 %")

    assert "write · target iSCSI · Parallel · 3 VMs · load: CPU 100 % · VM 2)" in (
        claim(row).sentence
    )


def test_what_else_differs_is_said_with_the_claim():
    quoted = claim(MEASURED, provisos=("More than what is studied differs: x.",))

    assert quoted.sentence.endswith("%. More than what is studied differs: x.")


def test_a_ratio_to_a_reference_names_it_and_not_native():
    row = changed(MEASURED, efficiency=None, relative=0.96)

    assert "0.980] of KVM on HDD in" in claim(row, against="KVM on HDD").sentence
    assert "of the reference system in" in claim(row).sentence


def test_what_is_not_assessed_is_never_a_claim():
    judged = replace(
        SLOWER,
        verdict="not_assessed",
        codes=("few_runs",),
        sentences=("3 runs are few.",),
        advice="About 5 runs a side would decide it.",
    )

    assert claim(changed(MEASURED, judgement=judged)) == NoClaim(
        ("3 runs are few.",), "About 5 runs a side would decide it."
    )


def test_without_an_interval_nothing_is_claimed():
    row = changed(MEASURED, judgement=replace(SLOWER, low=None))

    assert isinstance(claim(row), NoClaim)


@pytest.mark.parametrize("row", [NATIVE, XEN])
def test_what_was_not_judged_is_refused_with_its_state(row):
    assert isinstance(claim(row), NoClaim)
    assert claim(NATIVE).reasons == ("the machine without hypervisor",)


def test_percent_signs_in_names_are_only_signs():
    assert "%(host)s 100 %" in claim(changed(MEASURED, host="%(host)s 100 %")).sentence
