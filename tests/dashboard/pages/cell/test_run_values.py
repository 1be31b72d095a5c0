"""Values of runs on pages of results: published means and steal time."""

from datetime import timedelta
from html import unescape

import pytest

from benchmarks.models import Cell, Flag, Run
from benchmarks.studies import checking
from tests.upload_documents import published_mean

STUDY_PAGES = ("", "compare/", "runs/", "flags/", "sessions/", "report/", "paper/")


@pytest.fixture
def guest(submit, run_document, xen):
    """A guest of 30 runs, and its baseline of 10 runs without deviation."""
    native, guest = run_document(52.9), run_document(40.7, system=xen)
    submit(published_mean(native, 10), published_mean(guest, 30, 2.5))
    checking.check_due_studies(timedelta(0))
    return Cell.objects.get(system__hypervisor="Xen")


def test_a_published_deviation_above_the_mean_is_flagged(submit, run_document):
    submit(published_mean(run_document(52.9), 10, 60.0))
    checking.check_due_studies(timedelta(0))

    assert "deviation-above-mean" in Flag.objects.values_list("rule", flat=True)


def text_of(client, path):
    answer = client.get(path, follow=True)
    assert answer.status_code == 200
    return " ".join(unescape(answer.content.decode()).split())


def study_path(cell):
    return f"/studies/{cell.study.lab.slug}/{cell.study.slug}/"


def test_the_result_states_what_was_published(client, guest):
    content = text_of(client, f"{study_path(guest)}cells/{guest.pk}/")

    assert "mean of 30 runs, standard deviation 2.5" in content
    assert "mean of 10 runs, standard deviation not published" in content


def test_the_run_states_what_was_published(client, guest):
    run = Run.objects.get(system__hypervisor="Xen")

    assert "mean of 30 runs, standard deviation" in text_of(client, f"/runs/{run.pk}/")
    assert "published mean" in text_of(client, f"{study_path(guest)}runs/")


@pytest.mark.parametrize("page", STUDY_PAGES)
def test_all_pages_of_a_study_with_published_means_are_shown(client, guest, page):
    assert guest.study.title in text_of(client, f"{study_path(guest)}{page}")


def test_runs_show_the_cpu_time_that_the_host_gave_to_others(
    client, submit, run_document
):
    submit(run_document(52.9, facts={"execution": {"steal share": 0.125}}))
    cell = Cell.objects.get()

    for page in ("runs/", f"cells/{cell.pk}/"):
        content = text_of(client, f"{study_path(cell)}{page}")
        assert "Steal" in content
        assert "12.5%" in content
