"""The compare page while uploads are processed."""

from benchmarks.models import Run
from benchmarks.uploads.intake import submit_runs

PAGE = "/studies/alpha-lab/study/compare/"


def test_first_results_are_announced_before_they_are_processed(
    text, agent, run_document, study
):
    submit_runs(agent=agent, documents=[run_document(50)])

    page = text(PAGE)

    assert Run.objects.get().status == Run.Status.RECEIVED
    assert "data-being-compared" in page
    assert 'hx-trigger="every 1s"' in page


def test_table_says_that_new_results_are_being_compared(
    text, pair, agent, run_document
):
    submit_runs(agent=agent, documents=[run_document(51)])

    assert "data-being-compared" in text(PAGE)


def test_processed_study_is_not_being_compared(text, pair):
    assert "data-being-compared" not in text(PAGE)
