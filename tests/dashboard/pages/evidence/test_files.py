"""The files of the evidence's pages: who gets which, and what is in them."""

import csv
import io
import json
from datetime import timedelta

import pytest

from benchmarks.models import Picture, Study
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.unattended import queue
from dashboard.kit import waiting
from tests.dashboard.pages.evidence.test_pages import FOREST, NATIVE, SLOW, WORK

ASKED = {"hypervisor": "Xen", "work": WORK}


@pytest.fixture
def measured(submit, run_document, xen):
    """A Xen guest beside its machine, six runs a side."""
    submit(
        *(run_document(value) for value in NATIVE),
        *(run_document(value, system=xen) for value in SLOW),
    )
    checking.check_due_studies(timedelta(0))


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    """Nobody waits for a plot: no worker runs here."""
    monkeypatch.setattr(waiting, "PATIENCE_S", 0)


@pytest.mark.parametrize(
    ("address", "query"), [("/evidence", {}), (FOREST[:-1], ASKED)]
)
def test_every_form_has_the_number_of_the_page(client, measured, address, query):
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
        if line["part"] == "pool"
    ]
    record = json.loads(files["json"].content)["questions"][0]
    assert (
        float(pool["ratio"]) == record["pool"]["mean"] == pytest.approx(0.8, rel=0.01)
    )
    assert files["csv"]["Content-Disposition"].endswith('.csv"')


def test_the_page_leads_to_each_of_its_files(client, measured, text):
    page = client.get(FOREST, ASKED).content.decode()

    for form in ("csv", "json", "tex", "md", "svg", "pdf", "png"):
        assert f"/evidence/forest.{form}?hypervisor=Xen&amp;work={WORK}" in page
    assert 'href="/evidence.csv"' in client.get("/evidence/").content.decode()


def test_what_is_private_is_in_no_file_of_others(client, measured, study, person):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    for form in ("csv", "json", "tex", "md"):
        for address in (f"/evidence.{form}", f"/evidence/forest.{form}"):
            assert study.title not in client.get(address, ASKED).content.decode()
    assert client.get("/evidence/forest.svg", ASKED).status_code == 404
    client.force_login(person)
    assert study.slug in client.get("/evidence.csv").content.decode()


def test_a_plot_is_drawn_by_a_worker_and_handed_out_then(client, measured):
    waits = client.get("/evidence/forest.svg", ASKED)
    assert "Drawing the forest plot" in waits.content.decode()

    queue.run("picture", Picture.objects.get().pk)

    file = client.get("/evidence/forest.svg", ASKED)
    assert file["Content-Type"] == "image/svg+xml"
    assert "0.8001 (" in file.content.decode()
    assert Picture.objects.count() == 1


def test_who_waits_is_led_to_the_plot_once_it_is_there(client, measured):
    client.get("/evidence/forest.png", ASKED)
    queue.run("picture", Picture.objects.get().pk)

    part = client.get("/evidence/forest.png", ASKED, headers={"HX-Request": "true"})

    assert part["HX-Redirect"].startswith("/evidence/forest.png?")


@pytest.mark.parametrize("address", ["/evidence.exe", "/evidence.svg"])
def test_a_form_that_there_is_not_is_not_found(client, db, address):
    assert client.get(address, ASKED).status_code == 404
