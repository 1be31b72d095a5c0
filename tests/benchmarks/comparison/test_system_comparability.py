"""Comparability of two systems, and the verdicts that it withholds."""

import pytest
from django.db.models import F

from benchmarks.comparison.row_queries import (
    ReferenceCells,
    comparison_rows,
    study_facets,
)
from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.comparison.system_comparability import compare_study_hosts
from benchmarks.models import Cell, Host, Job, Study, System

CALM = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
FAST = tuple(value * 3.4 for value in CALM)


@pytest.fixture
def rows(study):
    """Return the study's rows by hypervisor and host, relative to native or a chosen
    system."""

    def read(chosen=None):
        # As after a check, but without its flags.
        Cell.objects.update(shaped_at=F("updated_at"))
        Job.objects.all().delete()
        found = comparison_rows(
            study,
            systems=study_facets(study).systems,
            filters={},
            reference=ReferenceCells.load(study, chosen) if chosen else None,
            verdicts=study_verdicts(study, chosen),
        )
        return {
            (row.system.hypervisor, row.system.host.slug): row.result for row in found
        }

    return read


@pytest.fixture
def two_hosts(submit, run_document, lab, host, xen):
    """Measure alpha natively, and beta natively and as a Xen guest."""

    def measure(facts=None, native=CALM):
        stated = {"cores": 2} if facts is None else facts
        Host.objects.create(lab=lab, slug="beta", facts=stated)
        submit(
            *(run_document(value) for value in CALM),
            *(run_document(value, system={"host": "beta"}) for value in native),
            *(run_document(value, system={**xen, "host": "beta"}) for value in FAST),
        )
        return System.objects.get(hypervisor="native", host=host)

    return measure


def test_a_guest_and_its_machine_are_green(submit, run_document, xen, rows):
    submit(run_document(50.0), run_document(25.0, system=xen))

    guest, native = rows()["Xen", "alpha"], rows()["native", "alpha"]

    assert guest.comparability == "full"
    assert "hypervisor: Xen / native" in guest.comparability_reason
    assert (native.comparability, native.comparability_reason) == ("", "")


def test_a_different_os_is_amber_and_assessed(submit, run_document, xen, rows, study):
    """Although guests are studied, the machine runs one system only."""
    study.factors = ["guest OS"]
    study.save()
    debian = {**xen, "guest_os": "Debian 12"}
    submit(*(run_document(value) for value in CALM))
    submit(*(run_document(value, system=debian) for value in FAST))

    guest = rows()["Xen", "alpha"]

    assert guest.comparability == "limited"
    assert guest.comparability_reason == (
        "Different operating systems: guest Debian 12, host Ubuntu Server 9.04."
    )
    assert (guest.state, guest.assessment.verdict) == ("paired", "faster")


def test_guest_only_facts_are_not_differences_to_native(
    submit, run_document, xen, rows
):
    """Regression: native has no vCPUs, which made 160 of 337 cells limited."""
    guest = {**xen, "vcpus": 4, "memory_bytes": 2**30, "options": {"layers": "xen-pv"}}
    submit(run_document(50.0), run_document(25.0, system=guest))

    assert rows()["Xen", "alpha"].comparability == "full"
    native = System.objects.get(hypervisor="native")
    assert rows(native)["Xen", "alpha"].comparability == "full"


def test_a_limited_machine_differs_from_a_larger_guest(submit, run_document, xen, rows):
    submit(run_document(50.0, system={"vcpus": 1}))
    submit(run_document(25.0, system={**xen, "vcpus": 4}))

    guest = rows()["Xen", "alpha"]

    assert guest.comparability == "limited"
    assert "vcpus: 4 / 1" in guest.comparability_reason


def test_an_unreported_fact_is_a_difference_between_guests(
    submit, run_document, xen, rows
):
    submit(run_document(50.0, system=xen))
    submit(run_document(25.0, system={**xen, "hypervisor": "KVM", "vcpus": 4}))

    guest = rows(System.objects.get(hypervisor="Xen"))["KVM", "alpha"]

    assert guest.comparability == "limited"
    assert "vcpus: 4 / not reported" in guest.comparability_reason


def test_other_differences_are_listed_with_a_different_os(
    submit, run_document, xen, rows
):
    submit(run_document(50.0, system={"vcpus": 2}))
    submit(run_document(25.0, system={**xen, "guest_os": "Debian 12", "vcpus": 4}))

    guest = rows()["Xen", "alpha"]

    assert guest.comparability == "limited"
    assert guest.comparability_reason.startswith(
        "Different operating systems: guest Debian 12"
    )
    assert "vcpus: 4 / 2" in guest.comparability_reason


def test_a_baseline_of_another_study_has_comparability(
    submit, run_document, xen, rows, lab
):
    Study.objects.create(lab=lab, slug="before", title="Before", visibility="public")
    submit(run_document(50.0, study="before", system={"vcpus": 2}))
    submit(run_document(25.0, system={**xen, "vcpus": 4}))

    assert rows()["Xen", "alpha"].comparability == "limited"


def test_a_native_run_of_another_host_is_red(two_hosts, rows):
    """The ratio 3.4 is the difference between two machines."""
    native = two_hosts({"cores": 16})

    guest = rows(native)["Xen", "beta"]

    assert guest.assessment.verdict == "not_assessed"
    assert "other_host" in guest.assessment.reason_codes
    assert (guest.state, guest.comparability) == ("other_host", "none")
    assert guest.comparability_reason == (
        "Different hosts (beta, alpha): cores: 16 / 2."
    )
    assert "cores: 16 / 2" in guest.reason
    assert guest.ratio == pytest.approx(3.4)


def test_the_same_machine_is_not_another_host(two_hosts, rows):
    two_hosts({"cores": 16})

    guest = rows()["Xen", "beta"]

    assert (guest.comparability, guest.assessment.verdict) == ("full", "faster")


def test_hosts_with_equal_facts_and_native_runs_are_comparable(two_hosts, rows):
    native = two_hosts()

    guest = rows(native)["Xen", "beta"]

    assert (guest.state, guest.assessment.verdict) == ("relative", "faster")
    assert guest.comparability == "full"
    assert "beta and alpha are treated as equal" in guest.comparability_reason


@pytest.mark.parametrize(
    ("facts", "native", "said"),
    [
        ({"cores": 2}, [value * 1.1 for value in CALM], "native results differ"),
        ({"cores": 2}, [], "no benchmark was run natively on both"),
        ({}, CALM, "cores: not reported / 2"),
    ],
)
def test_equal_facts_or_native_runs_are_not_sufficient(
    two_hosts, study, host, facts, native, said
):
    two_hosts(facts, native)

    (compared,) = compare_study_hosts(study, host.pk).values()

    assert not compared.is_alike
    assert said in compared.sentence


def test_a_single_host_has_no_comparisons(
    submit, run_document, host, study, django_assert_num_queries
):
    submit(run_document())

    with django_assert_num_queries(1):
        assert compare_study_hosts(study, host.pk) == {}


def written(value, **changes):
    sample = {
        "metric": "throughput",
        "parameters": {"operation": "write", "record": "4 KiB"},
        "value": value,
        "unit": "MB/s",
    }
    return [{**sample, **changes}]


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        (
            "other_parameters",
            {"parameters": {"operation": "write", "record": "64 KiB"}},
            "Parameters differ: baseline record=64 KiB, this system record=4 KiB",
        ),
        (
            "unit_mismatch",
            {"metric": "operation rate", "unit": "1/s"},
            "Units differ: baseline 1/s, this system MB/s",
        ),
    ],
)
def test_the_nearest_case_of_a_chosen_system_is_named(
    submit, run_document, xen, rows, kind, changes, said
):
    kvm = {"hypervisor": "KVM"}
    submit(run_document(tool="iozone", system=xen, samples=written(25.0)))
    submit(run_document(tool="iozone", system=kvm, samples=written(50.0, **changes)))

    guest = rows(System.objects.get(hypervisor="KVM"))["Xen", "alpha"]

    assert (guest.state, guest.comparability, guest.ratio) == (kind, "none", None)
    assert guest.assessment.reason_codes == (kind,)
    assert guest.comparability_reason.startswith(said)


def test_a_chosen_system_without_a_near_case_is_missing(
    submit, run_document, xen, rows
):
    submit(run_document(tool="iozone", system=xen, samples=written(25.0)))
    submit(run_document(system={"hypervisor": "KVM"}))

    guest = rows(System.objects.get(hypervisor="KVM"))["Xen", "alpha"]

    assert (guest.state, guest.comparability) == ("missing", "")
    assert guest.assessment.reason_codes == ("no_baseline",)
    assert Cell.objects.count() == 2
