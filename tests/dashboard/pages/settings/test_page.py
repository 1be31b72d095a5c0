"""The pages on settings."""

import csv
import io
import json
from datetime import timedelta

import pytest

from benchmarks.models import Study
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from tests.upload_documents import interleaved

WITHOUT = [100.0, 100.2, 99.8, 100.1, 99.9, 100.3]
WITH = [120.1, 119.8, 120.2, 120.0, 119.9, 120.3]


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure a guest with and without huge pages, six runs each."""
    with_pages = {**xen, "options": {"hugepages": "2 MiB"}}
    submit(
        *interleaved(
            (run_document(value, system=xen) for value in WITHOUT),
            (run_document(value, system=with_pages) for value in WITH),
        )
    )
    checking.check_due_studies(timedelta(0))


def test_page_of_a_setting_answers_with_verdict_and_ratio(client, measured, study):
    page = client.get("/settings/hugepages/").content.decode()

    assert "1.2" in page
    assert "faster in 1" in page
    assert study.title in page


def test_list_of_settings_links_to_measured_and_unmeasured_ones(client, measured):
    page = client.get("/settings/").content.decode()

    assert 'href="/settings/hugepages/"' in page
    assert 'href="/settings/ksm/"' in page


def test_a_setting_without_data_tells_how_to_measure_it(client, db):
    page = client.get("/settings/mitigations/")

    assert page.status_code == 200
    assert "<code>mitigations</code>" in page.content.decode()


def test_other_names_lead_to_the_setting_and_unknown_ones_are_404(client, db):
    assert client.get("/settings/aio/")["Location"] == "/settings/disk-io/"
    assert client.get("/settings/nonsense/").status_code == 404
    assert client.get("/settings/nonsense.csv").status_code == 404
    assert client.get("/settings.exe").status_code == 404


def test_files_have_the_effect_with_all_digits(client, measured):
    text = client.get("/settings/hugepages.csv").content.decode()
    (line,) = csv.DictReader(io.StringIO(text))
    record = json.loads(client.get("/settings.json").content)["effects"][0]

    assert (line["option"], line["before"], line["after"]) == ("hugepages", "", "2 MiB")
    assert float(line["ratio"]) == record["ratio"] == pytest.approx(1.2, abs=0.001)
    assert record["low"] < 1.2 < record["high"]
    assert line["verdict"] == "faster"


def test_private_studies_are_in_no_page_of_others(client, measured, study, person):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    assert "faster in 1" not in client.get("/settings/hugepages/").content.decode()
    client.force_login(person)
    assert "faster in 1" in client.get("/settings/hugepages/").content.decode()
