"""Every visible pair at its ratio."""

import pytest

from benchmarks.comparing.spectrum import spectrum
from benchmarks.models import Cell, Flag, Study
from benchmarks.viewer import ANYONE, Viewer


def test_it_has_a_band_for_each_component_and_hypervisor(submit, run_document, xen):
    submit(run_document(), run_document(13.08, system=xen))

    (band,) = spectrum(ANYONE)

    assert (band.component, band.hypervisor, band.pairs) == ("network", "Xen 3.3", 1)
    assert band.lowest == band.highest == pytest.approx(13.08 / 52.97)
    assert band.lines == (pytest.approx(13.08 / 52.97, rel=0.02),)


def test_ratios_that_nearly_agree_are_one_line(submit, run_document, xen):
    others = [
        run_document(value, system={**xen, "options": {"swap": str(value)}})
        for value in (13.08, 13.09, 26.0)
    ]
    submit(run_document(), *others)

    (band,) = spectrum(ANYONE)

    assert band.pairs == 3
    assert len(band.lines) == 2


@pytest.mark.parametrize(
    ("status", "is_doubted"), [("open", True), ("dismissed", False)]
)
def test_it_says_of_which_end_a_flag_doubts_the_pair(
    status, is_doubted, submit, run_document, xen
):
    other = {**xen, "options": {"swap": "on"}}
    submit(
        run_document(), run_document(0.1, system=xen), run_document(50, system=other)
    )
    slow = Cell.objects.order_by("mean").first()
    flag = Flag.objects.create(
        lab=slow.study.lab, study=slow.study, severity="impossible", status=status
    )
    flag.cells.add(slow)

    (band,) = spectrum(ANYONE)

    assert band.is_lowest_doubted is is_doubted
    assert not band.is_highest_doubted


def test_a_doubted_baseline_makes_its_pairs_doubtful(submit, run_document, xen):
    submit(run_document(), run_document(13.08, system=xen))
    native = Cell.objects.get(system__hypervisor="native")
    flag = Flag.objects.create(
        lab=native.study.lab, study=native.study, severity="impossible"
    )
    flag.cells.add(native)

    (band,) = spectrum(ANYONE)

    assert (band.is_lowest_doubted, band.is_highest_doubted) == (True, True)


def test_it_leaves_out_what_is_private(submit, run_document, xen, lab):
    submit(run_document(), run_document(13.08, system=xen))
    Study.objects.update(visibility=Study.Visibility.PRIVATE)

    assert spectrum(ANYONE) == []
    assert len(spectrum(Viewer(frozenset({lab.pk})))) == 1


def test_it_leaves_out_shares_and_cells_without_a_pair(submit, run_document, xen):
    share = {"metric": "CPU utilization (network)", "value": 20, "unit": "%"}
    submit(
        run_document(samples=[share]),
        run_document(system=xen, samples=[share]),
        run_document(system={**xen, "guest_os": "Windows"}),
    )

    assert spectrum(ANYONE) == []


def test_it_keeps_the_bands_with_the_most_pairs(submit, run_document, xen):
    twice = {**xen, "options": {"swap": "on"}}
    kvm = {"hypervisor": "KVM", "virtualization": "full"}
    submit(
        run_document(),
        run_document(13.08, system=xen),
        run_document(15.0, system=twice),
        run_document(40.0, system=kvm),
    )

    assert [band.hypervisor for band in spectrum(ANYONE)] == ["KVM", "Xen 3.3"]
    assert [band.hypervisor for band in spectrum(ANYONE, limit=1)] == ["Xen 3.3"]


def test_it_asks_twice(submit, run_document, xen, django_assert_num_queries):
    submit(run_document(), run_document(13.08, system=xen))

    with django_assert_num_queries(2):
        spectrum(ANYONE)


def test_what_runs_on_an_emulated_processor_is_left_out(submit, run_document, xen):
    layers = {"layers": "qemu-tcg > xen-pv"}
    submit(
        run_document(),
        run_document(13.08, system=xen),
        run_document(1.0, system={**xen, "options": layers}),
        run_document(1.0, system={**xen, "hypervisor": "QEMU TCG"}),
    )

    (band,) = spectrum(ANYONE)

    assert (band.hypervisor, band.pairs) == ("Xen 3.3", 1)
