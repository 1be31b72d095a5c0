"""The page on start-up times."""

import csv
import io
import json
from datetime import timedelta

import pytest

from benchmarks.models import Study
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from tests.custom_tools import boot_sample, declare

FAST = [round(0.1 + n / 1000, 3) for n in range(30)]
SLOW = [round(0.2 + n / 1000, 3) for n in range(30)]


@pytest.fixture
def measured(lab, agent, submit, run_document, xen):
    """Measure 30 serial starts of two systems, and 30 parallel ones of the first."""
    declare(lab)
    container = {**xen, "hypervisor": "Docker", "virtualization": "container"}

    def start(value, system, **changes):
        samples = [boot_sample(value)]
        return run_document(system=system, tool="boot-time", samples=samples, **changes)

    together = {"scenario": "parallel", "vms": 10}
    submit(
        *(start(value, xen) for value in SLOW),
        *(start(value, container) for value in FAST),
        *(start(value * 2, xen, **together) for value in SLOW),
    )
    checking.check_due_studies(timedelta(0))


def test_page_shows_quantiles_with_intervals_and_the_containers_note(client, measured):
    page = client.get("/start-up/").content.decode()

    assert "214.5" in page  # the median of the slower system, in ms
    assert "209" in page  # rank 10 of 30
    assert "start no kernel" in page


def test_serial_and_parallel_starts_are_different_groups(client, measured):
    records = json.loads(client.get("/start-up.json").content)["quantiles"]

    medians = {
        (record["system"].split()[0], record["started_at_once"]): record["value"]
        for record in records
        if record["quantile"] == 0.5
    }
    assert medians["Docker", 1] == pytest.approx(0.1145)
    assert medians["Xen", 1] == pytest.approx(0.2145)
    assert medians["Xen", 10] == pytest.approx(0.429)


def test_csv_leaves_out_the_end_that_a_small_sample_does_not_have(client, measured):
    text = client.get("/start-up.csv").content.decode()
    tails = [
        line for line in csv.DictReader(io.StringIO(text)) if line["quantile"] == "0.99"
    ]

    assert {line["high"] for line in tails} == {""}
    assert client.get("/start-up.exe").status_code == 404


def test_page_without_data_and_of_private_studies(client, measured, study):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    page = client.get("/start-up/")
    assert page.status_code == 200
    assert study.title not in page.content.decode()
