"""The report as a page and as a file."""

import pytest

from benchmarks.models import Campaign
from tests.dashboard.exports.conftest import HOSTILE

STUDY = "/campaigns/alpha-lab/study/"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.VAR = tmp_path
    return tmp_path / "reports"


def test_the_page_says_what_the_report_says(text, pair):
    page = text(f"{STUDY}report/")

    for title in (
        "What this is",
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


def test_the_file_is_a_pdf_and_kept(client, pair, folder):
    answer = client.get(f"{STUDY}report.pdf")
    again = client.get(f"{STUDY}report.pdf")

    assert answer["Content-Type"] == "application/pdf"
    assert answer["Content-Disposition"] == 'inline; filename="study.pdf"'
    assert answer.content.startswith(b"%PDF")
    assert answer.content == again.content
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("address", ["report/", "report.pdf"])
def test_what_is_private_is_not_there_for_others(
    client, private_campaign, person, address
):
    private = f"/campaigns/alpha-lab/secret-study/{address}"
    assert client.get(private).status_code == 404

    client.force_login(person)
    assert client.get(private).status_code == 200
    assert client.post(private).status_code == 405


def test_the_campaign_page_leads_to_it(text, campaign):
    assert f'href="{STUDY}report/"' in text(STUDY)
    assert f'href="{STUDY}report.pdf"' in text(STUDY)


def test_names_are_shown_and_never_run(client, text, submit, run_document, xen):
    name = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    submit(
        run_document(system={"guest_os": name}, document=name, table=name),
        run_document(system={**xen, "guest_os": name, "options": {"swap": name}}),
    )
    Campaign.objects.update(title=name, note=HOSTILE[10], author=HOSTILE[1])

    page = text(f"{STUDY}report/")

    assert "<script>alert" not in page
    assert "<img" not in page
    assert client.get(f"{STUDY}report.pdf").content.startswith(b"%PDF")
