"""Results with a suspect clock on the compare page."""

import pytest

from benchmarks.models import Cell, Run
from benchmarks.studies import checking

PAGE = "/studies/alpha-lab/study/compare/"
FAST_CLOCK = {
    "local_us": 277 * 10**6,
    "offset_start_us": 0,
    "offset_end_us": 177 * 10**6,
    "external_us": 10**8,
    "interval_bound_us": 1000,
}


@pytest.fixture
def liar(study, submit, run_document, xen):
    """A Xen guest whose clock ran 2.8 times as fast as real time."""
    submit(
        *(run_document(50 + n / 10, clock="local") for n in range(5)),
        *(run_document(80 + n / 10, clock="local", system=xen) for n in range(5)),
    )
    Run.objects.filter(system__hypervisor="Xen").update(facts={"clock": FAST_CLOCK})
    Cell.objects.update(shaped_at=None)
    checking.check_study(study)


def test_page_names_the_system_and_how_wrong_its_clock_was(text, liar):
    page = text(PAGE)

    note = page.partition("data-suspect-clock")[2].partition("</p>")[0]
    assert "Xen" in note
    assert "2.8 times as fast" in note or "180% fast" in note
    assert ">suspect clock</span>" in page


def test_answer_leaves_out_suspect_results(text, liar):
    assert "data-answer" not in text(PAGE)


def test_page_of_trusted_clocks_has_no_note(text, pair):
    assert "suspect" not in text(PAGE)
