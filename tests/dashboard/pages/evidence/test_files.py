"""Files of evidence: permissions and content."""

import csv
import io
import json
from datetime import timedelta

import pytest

from benchmarks.jobs import queue
from benchmarks.models import ChartFile, Study
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from dashboard.kit import generation_progress
from tests.dashboard.pages.evidence.test_pages import FOREST, NATIVE, SLOW, WORK
from tests.upload_documents import interleaved

ASKED = {"hypervisor": "Xen", "work": WORK}


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure a Xen guest and its machine, six runs each."""
    submit(
        *interleaved(
            (run_document(value) for value in NATIVE),
            (run_document(value, system=xen) for value in SLOW),
        )
    )
    checking.check_due_studies(timedelta(0))


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for charts, because no worker runs."""
    monkeypatch.setattr(generation_progress, "MAX_GENERATION_WAIT_S", 0)


@pytest.mark.parametrize(
    ("address", "query"), [("/evidence", {}), (FOREST[:-1], ASKED)]
)
def test_every_format_has_numbers_of_page(client, measured, address, query):
    files = {
        form: client.get(f"{address}.{form}", query)
        for form in ("csv", "json", "tex", "md")
    }

    assert {answer.status_code for answer in files.values()} == {200}
    for form in ("tex", "md"):
        assert "0.800" in files[form].content.decode(), form
    (pool,) = [
        line
        for line in csv.DictReader(io.StringIO(files["csv"].content.decode()))
        if line["section"] == "pool"
    ]
    record = json.loads(files["json"].content)["questions"][0]
    assert (
        float(pool["ratio"]) == record["pool"]["mean"] == pytest.approx(0.8, rel=0.01)
    )
    assert files["csv"]["Content-Disposition"].endswith('.csv"')


def test_page_links_to_files(client, measured, text):
    page = client.get(FOREST, ASKED).content.decode()

    for form in ("csv", "json", "tex", "md", "svg", "pdf", "png"):
        assert f"/evidence/question.{form}?hypervisor=Xen&amp;work={WORK}" in page
    assert 'href="/evidence.csv"' in client.get("/evidence/").content.decode()


def test_private_results_are_in_no_file_of_others(client, measured, study, person):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    for form in ("csv", "json", "tex", "md"):
        for address in (f"/evidence.{form}", f"/evidence/question.{form}"):
            assert study.title not in client.get(address, ASKED).content.decode()
    assert client.get("/evidence/question.svg", ASKED).status_code == 404
    client.force_login(person)
    assert study.slug in client.get("/evidence.csv").content.decode()


def test_worker_draws_plot_for_download(client, measured):
    waits = client.get("/evidence/question.svg", ASKED)
    assert "Drawing the forest plot" in waits.content.decode()

    queue.run_due_jobs("chart", ChartFile.objects.get().pk)

    file = client.get("/evidence/question.svg", ASKED)
    assert file["Content-Type"] == "image/svg+xml"
    assert "0.80013 (" in file.content.decode()
    assert ChartFile.objects.count() == 1


def test_progress_page_redirects_to_plot(client, measured):
    client.get("/evidence/question.png", ASKED)
    queue.run_due_jobs("chart", ChartFile.objects.get().pk)

    part = client.get("/evidence/question.png", ASKED, headers={"HX-Request": "true"})

    assert part["HX-Redirect"].startswith("/evidence/question.png?")


@pytest.mark.parametrize("address", ["/evidence.exe", "/evidence.svg"])
def test_unknown_format_is_404(client, db, address):
    assert client.get(address, ASKED).status_code == 404
