"""How far two sides may be compared: the light of each pair, and what it refuses."""

import pytest

from benchmarks.comparing.lights import hosts_beside
from benchmarks.comparing.rows import Reference, comparison_rows, facets
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.models import Cell, Host, Study, System

CALM = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
FAST = tuple(value * 3.4 for value in CALM)


@pytest.fixture
def rows(study):
    """The study's rows, by hypervisor and host, against native or a chosen system."""

    def read(chosen=None):
        found = comparison_rows(
            study,
            systems=facets(study).systems,
            filters={},
            reference=Reference.of(study, chosen) if chosen else None,
            verdicts=study_verdicts(study, chosen),
        )
        return {
            (row.system.hypervisor, row.system.host.slug): row.shown for row in found
        }

    return read


@pytest.fixture
def two_hosts(submit, run_document, lab, host, xen):
    """Measure alpha natively, and a Xen guest and its machine on beta."""

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


def test_a_guest_beside_its_machine_is_green(submit, run_document, xen, rows):
    submit(run_document(50.0), run_document(25.0, system=xen))

    guest, native = rows()["Xen", "alpha"], rows()["native", "alpha"]

    assert guest.light == "green"
    assert "hypervisor: Xen / native" in guest.light_sentence
    assert (native.light, native.light_sentence) == ("", "")


def test_another_os_than_the_hosts_is_amber_and_judged(
    submit, run_document, xen, rows, study
):
    """Although the study studies guests: its machine runs one system only."""
    study.factors = ["guest OS"]
    study.save()
    debian = {**xen, "guest_os": "Debian 12"}
    submit(*(run_document(value) for value in CALM))
    submit(*(run_document(value, system=debian) for value in FAST))

    guest = rows()["Xen", "alpha"]

    assert guest.light == "amber"
    assert guest.light_sentence == (
        "Another operating system: guest Debian 12, host Ubuntu Server 9.04."
    )
    assert (guest.state, guest.judgement.verdict) == ("paired", "faster")


def test_a_guest_is_not_unlike_its_machine_by_what_a_machine_has_not(
    submit, run_document, xen, rows
):
    """Of 337 cells of a study 160 were amber, for native has no vCPUs to state."""
    guest = {**xen, "vcpus": 4, "memory_bytes": 2**30, "options": {"layers": "xen-pv"}}
    submit(run_document(50.0), run_document(25.0, system=guest))

    assert rows()["Xen", "alpha"].light == "green"
    native = System.objects.get(hypervisor="native")
    assert rows(native)["Xen", "alpha"].light == "green"


def test_a_machine_that_was_limited_is_unlike_a_larger_guest(
    submit, run_document, xen, rows
):
    submit(run_document(50.0, system={"vcpus": 1}))
    submit(run_document(25.0, system={**xen, "vcpus": 4}))

    guest = rows()["Xen", "alpha"]

    assert guest.light == "amber"
    assert "vcpus: 4 / 1" in guest.light_sentence


def test_two_guests_differ_in_what_one_of_them_does_not_state(
    submit, run_document, xen, rows
):
    submit(run_document(50.0, system=xen))
    submit(run_document(25.0, system={**xen, "hypervisor": "KVM", "vcpus": 4}))

    guest = rows(System.objects.get(hypervisor="Xen"))["KVM", "alpha"]

    assert guest.light == "amber"
    assert "vcpus: 4 / not stated" in guest.light_sentence


def test_what_else_differs_is_said_beside_another_os(submit, run_document, xen, rows):
    submit(run_document(50.0, system={"vcpus": 2}))
    submit(run_document(25.0, system={**xen, "guest_os": "Debian 12", "vcpus": 4}))

    guest = rows()["Xen", "alpha"]

    assert guest.light == "amber"
    assert guest.light_sentence.startswith("Another operating system: guest Debian 12")
    assert "vcpus: 4 / 2" in guest.light_sentence


def test_a_baseline_of_another_study_has_a_light(submit, run_document, xen, rows, lab):
    Study.objects.create(lab=lab, slug="before", title="Before", visibility="public")
    submit(run_document(50.0, study="before", system={"vcpus": 2}))
    submit(run_document(25.0, system={**xen, "vcpus": 4}))

    assert rows()["Xen", "alpha"].light == "amber"


def test_a_guest_beside_another_hosts_native_run_is_refused(two_hosts, rows):
    """3.4 "faster" is what two machines differ by."""
    native = two_hosts({"cores": 16})

    guest = rows(native)["Xen", "beta"]

    assert guest.judgement.verdict == "not_assessed"
    assert guest.judgement.codes == ("other_host",)
    assert (guest.state, guest.light) == ("other_host", "red")
    assert guest.light_sentence == "Different hosts, beta / alpha: cores: 16 / 2."
    assert "cores: 16 / 2" in guest.reason
    assert guest.ratio == pytest.approx(3.4)


def test_its_own_machine_is_no_other_host(two_hosts, rows):
    two_hosts({"cores": 16})

    guest = rows()["Xen", "beta"]

    assert (guest.light, guest.judgement.verdict) == ("green", "faster")


def test_hosts_whose_facts_are_equal_and_whose_native_runs_agree_are_alike(
    two_hosts, rows
):
    native = two_hosts()

    guest = rows(native)["Xen", "beta"]

    assert (guest.state, guest.judgement.verdict) == ("relative", "faster")
    assert guest.light == "green"
    assert "beta and alpha count as alike" in guest.light_sentence


@pytest.mark.parametrize(
    ("facts", "native", "said"),
    [
        ({"cores": 2}, [value * 1.1 for value in CALM], "native runs are not"),
        ({"cores": 2}, [], "no benchmark was run natively on both"),
        ({}, CALM, "cores: not stated / 2"),
    ],
)
def test_equal_facts_or_native_runs_alone_are_not_alike(
    two_hosts, study, host, facts, native, said
):
    two_hosts(facts, native)

    (compared,) = hosts_beside(study, host.pk).values()

    assert not compared.is_alike
    assert said in compared.sentence


def test_one_host_is_compared_with_none(
    submit, run_document, host, study, django_assert_num_queries
):
    submit(run_document())

    with django_assert_num_queries(1):
        assert hosts_beside(study, host.pk) == {}


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
            "The baseline ran it with record=64 KiB, this system with record=4 KiB",
        ),
        (
            "unit_mismatch",
            {"metric": "operation rate", "unit": "1/s"},
            "The baseline was measured in 1/s, this system in MB/s",
        ),
    ],
)
def test_what_a_chosen_system_ran_otherwise_is_named(
    submit, run_document, xen, rows, kind, changes, said
):
    kvm = {"hypervisor": "KVM"}
    submit(run_document(tool="iozone", system=xen, samples=written(25.0)))
    submit(run_document(tool="iozone", system=kvm, samples=written(50.0, **changes)))

    guest = rows(System.objects.get(hypervisor="KVM"))["Xen", "alpha"]

    assert (guest.state, guest.light, guest.ratio) == (kind, "red", None)
    assert guest.judgement.codes == (kind,)
    assert guest.light_sentence.startswith(said)


def test_a_chosen_system_without_anything_near_is_missing(
    submit, run_document, xen, rows
):
    submit(run_document(tool="iozone", system=xen, samples=written(25.0)))
    submit(run_document(system={"hypervisor": "KVM"}))

    guest = rows(System.objects.get(hypervisor="KVM"))["Xen", "alpha"]

    assert (guest.state, guest.light) == ("missing", "")
    assert guest.judgement.codes == ("no_baseline",)
    assert Cell.objects.count() == 2
