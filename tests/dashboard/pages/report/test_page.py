"""The report as a page and as a file."""

import pytest
from django.utils import timezone

from benchmarks.jobs import queue
from benchmarks.models import Report, Study
from dashboard.exports.report import builder
from dashboard.kit import generation_progress
from dashboard.pages.report import views
from tests.dashboard.exports.conftest import HOSTILE

STUDY = "/studies/alpha-lab/study/"
WAITING_NOTE = 'class="note note-wait section-tight"'


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for reports, because no worker runs."""
    monkeypatch.setattr(generation_progress, "MAX_GENERATION_WAIT_S", 0)


@pytest.fixture
def request_report(client, monkeypatch, django_capture_on_commit_callbacks):
    """Return a function that requests a report: it returns response and queued IDs."""

    def ask(address=f"{STUDY}report.pdf"):
        sent = []
        monkeypatch.setattr(views, "dispatch_jobs", lambda task, pk: sent.append(pk))
        with django_capture_on_commit_callbacks(execute=True):
            answer = client.get(address)
        return answer, sent

    return ask


@pytest.fixture
def file_of(client, request_report):
    """Request a report, create it like the task, and return the file."""

    def get(address=f"{STUDY}report.pdf"):
        for report_id in request_report(address)[1]:
            queue.run_due_jobs("report", report_id)
        return client.get(address)

    return get


def test_page_has_text_of_report(text, pair):
    page = text(f"{STUDY}report/")

    for title in (
        "About this study",
        "Method",
        "Systems and metadata",
        "Overhead profile",
        "Findings",
        "Result matrix: Single",
        "own tables",
        "Flags",
        "Sources",
    ):
        assert title in page
    assert "Gebhardt 2010: Net Linux" in page
    assert "heat-slow-5" in page
    assert "for anyone." in page
    assert f"{STUDY}report.pdf" in page


def test_report_is_cached_and_never_outdated(
    client, pair, submit, run_document, xen, django_assert_num_queries
):
    client.get(f"{STUDY}report/")
    with django_assert_num_queries(2):
        before = client.get(f"{STUDY}report/").content.decode()

    submit(run_document(40.0, system=xen, document="Another thesis", table="2"))
    after = client.get(f"{STUDY}report/").content.decode()

    assert "Another thesis" not in before
    assert "Another thesis" in after


def test_pdf_is_created_and_stored(client, pair, file_of, request_report):
    answer = file_of()
    again, sent = request_report()

    assert answer["Content-Type"] == "application/pdf"
    assert answer["Content-Disposition"] == 'inline; filename="study.pdf"'
    assert answer.content.startswith(b"%PDF")
    assert answer.content == again.content
    assert sent == []


def test_progress_updates_without_reload(client, pair, request_report):
    answer, (report_id,) = request_report()
    assert answer.url == f"/reports/{report_id}/"
    waiting = client.get(answer.url).content.decode()
    assert 'hx-trigger="every 500ms"' in waiting
    assert '<progress class="upload-bar" max="3" value="0"' in waiting
    assert client.get(f"/reports/{report_id}.pdf").url == answer.url

    queue.run_due_jobs("report", report_id)

    done = client.get(answer.url).content.decode()
    assert "hx-trigger" not in done
    assert f'href="/reports/{report_id}.pdf"' in done
    assert client.get(f"/reports/{report_id}.pdf").content.startswith(b"%PDF")


def test_request_without_worker_is_reported(client, pair, request_report):
    answer, _sent = request_report()
    assert WAITING_NOTE not in client.get(answer.url).content.decode()
    Report.objects.update(
        requested_at=timezone.now() - 2 * generation_progress.OVERDUE_AFTER
    )

    assert WAITING_NOTE in client.get(answer.url).content.decode()


def test_failed_report_can_be_requested_again(
    client, pair, request_report, monkeypatch
):
    answer, (report_id,) = request_report()
    with monkeypatch.context() as broken:
        broken.setattr(builder, "render_pdf", lambda *given: 1 / 0)
        queue.run_due_jobs("report", report_id)

    page = client.get(answer.url).content.decode()
    assert page.count('class="note note-bad section-tight"') == 1
    assert f'href="{STUDY}report.pdf"' in page
    assert request_report()[1] == [report_id]


def test_report_of_another_reader_is_404(client, pair, request_report, person):
    client.force_login(person)
    answer, _sent = request_report()
    assert client.get(answer.url).status_code == 200
    client.logout()

    assert client.get(answer.url).status_code == 404
    assert client.get(answer.url[:-1] + ".pdf").status_code == 404


def test_sign_in_keeps_access_to_requested_report(client, pair, request_report, person):
    answer, _sent = request_report()
    client.force_login(person)

    assert client.get(answer.url).status_code == 200


def test_report_of_hidden_study_is_404(client, pair, request_report):
    _answer, (report_id,) = request_report()
    queue.run_due_jobs("report", report_id)
    Study.objects.update(visibility="private")

    assert client.get(f"/reports/{report_id}.pdf").status_code == 404


@pytest.mark.parametrize("address", ["report/", "report.pdf"])
def test_private_study_is_404_for_others(client, private_study, person, address):
    private = f"/studies/alpha-lab/secret-study/{address}"
    assert client.get(private).status_code == 404

    client.force_login(person)
    assert client.get(private).status_code in (200, 302)
    assert client.post(private).status_code == 405


def test_study_page_links_to_report(text, study):
    assert f'href="{STUDY}report/"' in text(STUDY)
    assert f'href="{STUDY}report.pdf"' in text(STUDY)


def test_names_are_escaped(file_of, text, submit, run_document, xen):
    name = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    submit(
        run_document(system={"guest_os": name}, document=name, table=name),
        run_document(system={**xen, "guest_os": name, "options": {"swap": name}}),
    )
    Study.objects.update(title=name, note=HOSTILE[10], author=HOSTILE[1])

    page = text(f"{STUDY}report/")

    assert "<script>alert" not in page
    assert "<img" not in page
    assert file_of().content.startswith(b"%PDF")
