"""What a reader is told where a software emulator stands below a system."""

import pytest

from benchmarks.models import Cell, Run
from benchmarks.studies.lookup import has_pages
from dashboard.wording import emulation_words
from tests.dashboard.routes import TABS

STUDY = "/studies/alpha-lab/study/"
WARNING = "Measured on an emulated processor."

EMULATED = (
    {"hypervisor": "QEMU TCG"},
    {"hypervisor": "KVM", "options": {"layers": "kvm > qemu-tcg > kvm"}},
)


@pytest.fixture(params=EMULATED, ids=["an emulator", "a guest above one"])
def emulated(request, submit, run_document):
    submit(run_document(50.0), run_document(5.0, system=request.param))
    return Cell.objects.exclude(system__hypervisor="native").get()


@pytest.mark.parametrize("tab", TABS)
def test_every_page_of_its_study_says_so(text, emulated, tab):
    page = text(STUDY + tab)

    assert WARNING in page
    assert str(emulation_words()) in page


def test_the_pages_of_a_cell_and_of_a_run_say_so(text, emulated):
    run = Run.objects.get(system=emulated.system)

    assert WARNING in text(f"{STUDY}cells/{emulated.pk}/")
    assert WARNING in text(f"/runs/{run.pk}/")


def test_the_report_says_so(text, emulated):
    assert str(emulation_words()) in text(f"{STUDY}report/")


def test_a_study_without_an_emulator_has_no_such_words(text, pair, study):
    assert not type(study).objects.annotate(**has_pages()).get().has_emulation
    for page in (STUDY, f"{STUDY}cells/{pair.pk}/", f"{STUDY}report/"):
        assert "emulat" not in text(page)


def test_what_an_agent_detected_outweighs_the_name(text, submit, run_document):
    detected = {"platform": {"layers": ["qemu-tcg"], "conflict": False}}
    kvm = {"hypervisor": "KVM", "virtualization": "full"}
    submit(run_document(50.0), run_document(5.0, system=kvm))
    assert WARNING not in text(STUDY)

    submit(run_document(5.1, system=kvm, facts=detected))

    assert WARNING in text(STUDY)


def test_a_run_on_an_unknown_platform_says_so(text, submit, run_document):
    submit(run_document(5.0, system={"hypervisor": "Foovisor"}))

    page = text(f"/runs/{Run.objects.get().pk}/")

    assert "is not a platform known here" in page


def test_beside_real_guests_only_the_emulated_ones_are_warned_of(
    text, emulated, submit, run_document
):
    submit(run_document(40.0, system={"hypervisor": "Xen"}))
    xen = Cell.objects.get(system__hypervisor="Xen")

    assert WARNING not in text(STUDY)
    assert "Some systems ran on an emulated processor." in text(STUDY)
    assert WARNING in text(f"{STUDY}cells/{emulated.pk}/")
    assert WARNING not in text(f"{STUDY}cells/{xen.pk}/")
