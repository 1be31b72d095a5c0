"""The report as a page and as a file."""

import pytest
from django.utils import timezone

from benchmarks.models import Report, Study
from benchmarks.unattended import queue
from dashboard.exports.report import building
from dashboard.kit import waiting
from dashboard.pages.report import views
from tests.dashboard.exports.conftest import HOSTILE

STUDY = "/studies/alpha-lab/study/"
WAITING_NOTE = 'class="note note-wait section-tight"'


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    """No worker runs here: nobody waits for one."""
    monkeypatch.setattr(waiting, "PATIENCE_S", 0)


@pytest.fixture
def asked(client, monkeypatch, django_capture_on_commit_callbacks):
    """Ask for a report; return the answer and the ids that were sent to be made."""

    def ask(address=f"{STUDY}report.pdf"):
        sent = []
        monkeypatch.setattr(views, "send", lambda task, pk: sent.append(pk))
        with django_capture_on_commit_callbacks(execute=True):
            answer = client.get(address)
        return answer, sent

    return ask


@pytest.fixture
def file_of(client, asked):
    """Ask for a report, make it as the task does, and return the file."""

    def get(address=f"{STUDY}report.pdf"):
        for report_id in asked(address)[1]:
            queue.run("report", report_id)
        return client.get(address)

    return get


def test_the_page_says_what_the_report_says(text, pair):
    page = text(f"{STUDY}report/")

    for title in (
        "About this study",
        "Method",
        "Systems and disclosure",
        "Overhead profile",
        "Findings",
        "The matrix: Single",
        "own tables",
        "Flags",
        "Sources",
    ):
        assert title in page
    assert "Gebhardt 2010: Net Linux" in page
    assert "heat-slow-5" in page
    assert "for anybody." in page
    assert f"{STUDY}report.pdf" in page


def test_it_is_made_once_and_never_shows_what_was_so_before(
    client, pair, submit, run_document, xen, django_assert_num_queries
):
    client.get(f"{STUDY}report/")
    with django_assert_num_queries(2):
        before = client.get(f"{STUDY}report/").content.decode()

    submit(run_document(40.0, system=xen, document="Another thesis", table="2"))
    after = client.get(f"{STUDY}report/").content.decode()

    assert "Another thesis" not in before
    assert "Another thesis" in after


def test_the_file_is_a_pdf_and_kept(client, pair, file_of, asked):
    answer = file_of()
    again, sent = asked()

    assert answer["Content-Type"] == "application/pdf"
    assert answer["Content-Disposition"] == 'inline; filename="study.pdf"'
    assert answer.content.startswith(b"%PDF")
    assert answer.content == again.content
    assert sent == []


def test_who_waits_sees_how_far_it_is_without_reloading(client, pair, asked):
    answer, (report_id,) = asked()
    assert answer.url == f"/reports/{report_id}/"
    waiting = client.get(answer.url).content.decode()
    assert 'hx-trigger="every 500ms"' in waiting
    assert '<progress class="upload-bar" max="3" value="0"' in waiting
    assert client.get(f"/reports/{report_id}.pdf").url == answer.url

    queue.run("report", report_id)

    done = client.get(answer.url).content.decode()
    assert "hx-trigger" not in done
    assert f'href="/reports/{report_id}.pdf"' in done
    assert client.get(f"/reports/{report_id}.pdf").content.startswith(b"%PDF")


def test_what_nobody_takes_says_so_and_what_to_do(client, pair, asked):
    answer, _sent = asked()
    assert WAITING_NOTE not in client.get(answer.url).content.decode()
    Report.objects.update(requested_at=timezone.now() - 2 * waiting.OVERDUE)

    assert WAITING_NOTE in client.get(answer.url).content.decode()


def test_one_that_failed_says_so_and_is_made_when_asked_for_again(
    client, pair, asked, monkeypatch
):
    answer, (report_id,) = asked()
    with monkeypatch.context() as broken:
        broken.setattr(building, "pdf", lambda *given: 1 / 0)
        queue.run("report", report_id)

    page = client.get(answer.url).content.decode()
    assert page.count('class="note note-bad section-tight"') == 1
    assert f'href="{STUDY}report.pdf"' in page
    assert asked()[1] == [report_id]


def test_whoever_did_not_ask_for_it_does_not_find_it(client, pair, asked, person):
    client.force_login(person)
    answer, _sent = asked()
    assert client.get(answer.url).status_code == 200
    client.logout()

    assert client.get(answer.url).status_code == 404
    assert client.get(answer.url[:-1] + ".pdf").status_code == 404


def test_who_signs_in_while_waiting_still_finds_it(client, pair, asked, person):
    answer, _sent = asked()
    client.force_login(person)

    assert client.get(answer.url).status_code == 200


def test_what_is_hidden_meanwhile_is_not_handed_out(client, pair, asked):
    _answer, (report_id,) = asked()
    queue.run("report", report_id)
    Study.objects.update(visibility="private")

    assert client.get(f"/reports/{report_id}.pdf").status_code == 404


@pytest.mark.parametrize("address", ["report/", "report.pdf"])
def test_what_is_private_is_not_there_for_others(
    client, private_study, person, address
):
    private = f"/studies/alpha-lab/secret-study/{address}"
    assert client.get(private).status_code == 404

    client.force_login(person)
    assert client.get(private).status_code in (200, 302)
    assert client.post(private).status_code == 405


def test_the_study_page_leads_to_it(text, study):
    assert f'href="{STUDY}report/"' in text(STUDY)
    assert f'href="{STUDY}report.pdf"' in text(STUDY)


def test_names_are_shown_and_never_run(file_of, text, submit, run_document, xen):
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
