"""Results without a single value have none on pages, in files and in the API."""

import csv
import io

import pytest
from django.core.cache import cache

from benchmarks.models import Cell
from benchmarks.studies import checking

STUDY = "/studies/alpha-lab/inqbus-2008-io"
SPEEDS = "59 MB/s (64%) and 109 MB/s (36%)"
BIMODAL = f"two speeds, {SPEEDS}, in a pattern that repeats every 3 runs"


@pytest.fixture
def server_b(load_study):
    """Load the eleven bimodal hdparm readings of inqbus-server-b."""
    study = load_study("inqbus-2008-io")
    checking.check_study(study)
    cache.clear()
    return Cell.objects.exclude(shape_codes="").get(system__host__slug__contains="-b")


@pytest.mark.parametrize("page", ["compare/", "compare/?show=value", "report/"])
def test_pages_show_both_modes_without_a_mean(page, server_b, text):
    shown = text(f"{STUDY}/{page}")

    assert "59 | 109" in shown
    assert "77.23" not in shown


def test_the_cell_page_states_the_reason(server_b, text):
    card = text(f"{STUDY}/compare/cell/?cell={server_b.pk}")

    assert "No single value: two speeds, 59" in card
    assert "77.2" not in card


def test_csv_and_json_have_a_reason_instead_of_a_value(server_b, client):
    rows = csv.DictReader(
        io.StringIO(client.get(f"{STUDY}/compare.csv").content.decode())
    )
    [row] = [row for row in rows if row["id"] == str(server_b.pk)]
    cells = client.get(f"{STUDY}/compare.json").json()["cells"]
    [cell] = [cell for cell in cells if cell["id"] == server_b.pk]

    assert (row["value"], row["ratio"]) == ("", "")
    assert (
        row["state_message"] == cell["state_message"] == f"No single value: {BIMODAL}."
    )
    assert (cell["value"], cell["ratio"]) == (None, None)
    assert [round(median) for median in cell["mode_medians"]] == [59, 109]


def test_latex_shows_both_modes_with_a_note(server_b, text):
    table = text(f"{STUDY}/compare.tex")

    assert r"\itshape 59{\rlap{\textsuperscript{a}}}" in table
    assert r"{{{\virtlabsmall \textbar{} \textit{109}}}}" in table
    assert "no single mean describes" in table
    assert "77.2" not in table


def test_the_api_returns_null_with_reason_codes(server_b, client):
    cells = client.get("/api/v1/cells/?study=alpha-lab/inqbus-2008-io").json()
    rows = client.get("/api/v1/comparisons/?study=alpha-lab/inqbus-2008-io").json()
    [cell] = [result for result in cells["results"] if result["id"] == server_b.pk]
    [row] = [result for result in rows["results"] if result["id"] == server_b.pk]

    assert (cell["mean"], row["value"]) == (None, None)
    assert cell["shape_codes"] == row["shape_codes"] == ["bimodal", "periodic"]
    assert row["state_message"] == f"No single value: {BIMODAL}."
    assert "bimodal" in row["reason_codes"] or row["state"] == "native"


@pytest.fixture
def noisy_native(submit, run_document, xen):
    """Submit a bimodal native cell, and a guest that is compared with it."""
    fast_and_slow = [run_document(value) for value in (50, 51, 50, 100, 101, 100, 51)]
    submit(*fast_and_slow, *(run_document(40, system=xen) for _ in range(5)))
    guest = Cell.objects.get(system__hypervisor="Xen")
    checking.check_study(guest.study)
    return guest


def test_bimodal_baselines_give_no_ratio(noisy_native, client):
    rows = client.get("/api/v1/comparisons/?study=alpha-lab/study").json()
    [row] = [result for result in rows["results"] if result["id"] == noisy_native.pk]

    assert (row["value"], row["relative_performance"]) == (40, None)
    assert row["baseline_value"] is None
    assert (row["low"], row["high"]) == (None, None)
    assert "bimodal" in row["baseline_shape_codes"]
    assert row["state_message"] == "No single value describes the runs of the baseline."
