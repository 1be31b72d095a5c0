"""Warnings about software emulators."""

import pytest

from benchmarks.models import Cell, Run
from benchmarks.studies.lookup import page_annotations
from dashboard.wording import emulation_note
from tests.dashboard.routes import TABS

STUDY = "/studies/alpha-lab/study/"
WARNING = "The results were measured on an emulated processor."

EMULATED = (
    {"hypervisor": "QEMU TCG"},
    {"hypervisor": "KVM", "options": {"layers": "kvm > qemu-tcg > kvm"}},
)


@pytest.fixture(params=EMULATED, ids=["an emulator", "a guest above one"])
def emulated(request, submit, run_document):
    submit(run_document(50.0), run_document(5.0, system=request.param))
    return Cell.objects.exclude(system__hypervisor="native").get()


@pytest.mark.parametrize("tab", TABS)
def test_every_page_of_an_emulated_study_has_the_warning(text, emulated, tab):
    page = text(STUDY + tab)

    assert WARNING in page
    assert str(emulation_note()) in page


def test_pages_of_cells_and_runs_have_the_warning(text, emulated):
    run = Run.objects.get(system=emulated.system)

    assert WARNING in text(f"{STUDY}cells/{emulated.pk}/")
    assert WARNING in text(f"/runs/{run.pk}/")


def test_the_report_has_the_warning(text, emulated):
    assert str(emulation_note()) in text(f"{STUDY}report/")


def test_other_studies_have_no_warning(text, pair, study):
    assert not type(study).objects.annotate(**page_annotations()).get().has_emulation
    for page in (STUDY, f"{STUDY}cells/{pair.pk}/", f"{STUDY}report/"):
        assert "emulat" not in text(page)


def test_the_detected_platform_overrides_the_name(text, submit, run_document):
    detected = {"platform": {"layers": ["qemu-tcg"], "conflict": False}}
    kvm = {"hypervisor": "KVM", "virtualization": "full"}
    submit(run_document(50.0), run_document(5.0, system=kvm))
    assert WARNING not in text(STUDY)

    submit(run_document(5.1, system=kvm, facts=detected))

    assert WARNING in text(STUDY)


def test_runs_on_unknown_platforms_have_the_warning(text, submit, run_document):
    submit(run_document(5.0, system={"hypervisor": "Foovisor"}))

    page = text(f"/runs/{Run.objects.get().pk}/")

    assert "is not a known platform" in page


def test_only_emulated_systems_of_a_study_have_the_warning(
    text, emulated, submit, run_document
):
    submit(run_document(40.0, system={"hypervisor": "Xen"}))
    xen = Cell.objects.get(system__hypervisor="Xen")

    assert WARNING not in text(STUDY)
    assert "Some systems ran on an emulated processor." in text(STUDY)
    assert WARNING in text(f"{STUDY}cells/{emulated.pk}/")
    assert WARNING not in text(f"{STUDY}cells/{xen.pk}/")
