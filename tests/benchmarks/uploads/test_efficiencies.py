"""Native baselines are found by themselves, and what leans on them follows."""

import pytest

from benchmarks.models import Efficiency
from benchmarks.studies.saving import update_study


def stored_efficiency(run_id: int) -> Efficiency:
    """The efficiency of the only cell of a run."""
    return Efficiency.objects.get(cell__system__runs=run_id)


def test_it_finds_the_native_partner_of_a_vm(submit, run_document, xen):
    _, vm = submit(run_document(52.97), run_document(13.08, system=xen))

    efficiency = stored_efficiency(vm.run_id)

    assert efficiency.state == "paired"
    assert efficiency.ratio == pytest.approx(13.08 / 52.97)
    assert (efficiency.baseline_mean, efficiency.baseline_n) == (52.97, 1)


def test_it_says_what_it_looked_for_when_there_is_no_partner(submit, run_document, xen):
    (vm,) = submit(run_document(13.08, system=xen))

    efficiency = stored_efficiency(vm.run_id)

    assert (efficiency.state, efficiency.ratio) == ("missing", None)
    assert "No native run of" in efficiency.reason


def test_it_recomputes_what_leans_on_a_native_run(submit, run_document, xen):
    _, vm = submit(run_document(50.0), run_document(25.0, system=xen))

    submit(run_document(100.0))

    efficiency = stored_efficiency(vm.run_id)
    assert efficiency.ratio == pytest.approx(25 / 75)
    assert efficiency.baseline_n == 2


def test_a_native_run_that_comes_late_completes_the_comparison(
    submit, run_document, xen
):
    (vm,) = submit(run_document(25.0, system=xen))

    submit(run_document(50.0))

    assert stored_efficiency(vm.run_id).ratio == 0.5


def test_a_study_without_native_runs_is_set_against_its_reference(
    submit, run_document, xen, study
):
    hdd = {**xen, "options": {"storage": "HDD"}}
    ssd = {**xen, "options": {"storage": "SSD"}}
    slow, fast = submit(run_document(10.0, system=hdd), run_document(15.0, system=ssd))
    reference = stored_efficiency(slow.run_id).cell.system

    update_study(study=study, reference_system=reference.pk)

    assert stored_efficiency(slow.run_id).state == "reference"
    against = stored_efficiency(fast.run_id)
    assert (against.state, against.ratio) == ("relative", 1.5)


@pytest.mark.parametrize("fact", ["host_kernel", "host_firmware"])
def test_a_machine_with_another_kernel_or_firmware_is_stale(
    submit, run_document, xen, fact
):
    submit(
        run_document(50.0, facts={fact: "4.19"}),
        run_document(25.0, system=xen, facts={fact: "6.12"}),
    )

    against = Efficiency.objects.get(cell__system__hypervisor="Xen")
    assert (against.state, against.ratio) == ("stale", 0.5)
    assert "4.19, now 6.12" in against.reason


def test_what_only_one_side_states_is_no_difference(submit, run_document, xen):
    submit(
        run_document(50.0, facts={"host_kernel": "4.19"}),
        run_document(25.0, system=xen),
    )

    assert Efficiency.objects.get(cell__system__hypervisor="Xen").state == "paired"
