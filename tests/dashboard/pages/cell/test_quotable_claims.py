"""Claims about cells."""

from dataclasses import replace

import pytest

from dashboard.pages.cell.quotable_claims import NoClaim, QuotableClaim, build_claim
from tests.comparison_rows import MEASURED, NATIVE, SLOWER, XEN, changed

LINK = "/studies/alpha-lab/study/runs/?cell=2"


def test_claim_has_interval_host_tool_runs_and_link():
    assert build_claim(MEASURED, link=LINK) == QuotableClaim(
        "On host alpha, Xen 3.3 full Ubuntu 32-bit reaches 0.960 of native performance "
        "in Iometer (Network throughput · write · target iSCSI) (95% confidence "
        "interval [0.940, 0.980]; 6 runs compared with 5 runs): slower by more than "
        "2%.",
        LINK,
    )


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("faster", "): faster by more than 5%."),
        ("equivalent", "): equivalent within 5%."),
        ("undetermined", "): it is undetermined whether the difference exceeds 5%."),
    ],
)
def test_claim_states_verdict_and_margin(verdict, words):
    judged = replace(SLOWER, verdict=verdict, direction=verdict)
    sentence = build_claim(
        changed(MEASURED, assessment=judged), equivalence_margin_percent=5.0
    ).sentence

    assert sentence.replace("\N{NO-BREAK SPACE}", " ").endswith(words)


def test_claim_explains_verdict_lost_by_correction():
    lost = (
        "This result alone would have a verdict, but not after correction for the 40 "
        "results that were tested together."
    )
    judged = replace(SLOWER, verdict="undetermined", sentences=(lost,))

    assert (
        "(this result alone would have a verdict, but not after correction for the "
        "40 results"
    ) in (build_claim(changed(MEASURED, assessment=judged)).sentence)


def test_claim_states_concurrent_vms():
    row = changed(MEASURED, scenario="parallel", vms=3, slot="2", load="CPU 100 %")

    assert "write · target iSCSI · Parallel · 3 VMs · load: CPU 100 % · VM 2)" in (
        build_claim(row).sentence
    )


def test_claim_states_other_differences():
    quoted = build_claim(
        MEASURED, provisos=(("Differences outside the studied factors: x."),)
    )

    assert quoted.sentence.endswith("%. Differences outside the studied factors: x.")


def test_claim_names_reference_instead_of_native():
    row = changed(MEASURED, efficiency=None, relative=0.96)

    assert (
        "0.960 of the performance of KVM on HDD in"
        in build_claim(row, against="KVM on HDD").sentence
    )
    assert "of the reference system" in build_claim(row).sentence


def test_no_claim_without_assessment():
    judged = replace(
        SLOWER,
        verdict="not_assessed",
        reason_codes=("few_runs",),
        sentences=("3 runs are few.",),
        advice="A verdict needs about 5 runs per side.",
    )

    assert build_claim(changed(MEASURED, assessment=judged)) == NoClaim(
        ("3 runs are few.",), "A verdict needs about 5 runs per side."
    )


def test_no_claim_without_interval():
    row = changed(MEASURED, assessment=replace(SLOWER, low=None))

    assert isinstance(build_claim(row), NoClaim)


@pytest.mark.parametrize("row", [NATIVE, XEN])
def test_refusal_states_reason(row):
    assert isinstance(build_claim(row), NoClaim)
    assert build_claim(NATIVE).reasons == ("the machine without a hypervisor",)


def test_percent_signs_in_names_are_literal():
    assert (
        "%(host)s 100 %"
        in build_claim(changed(MEASURED, host="%(host)s 100 %")).sentence
    )
