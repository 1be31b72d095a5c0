"""What no single figure describes gets none, wherever it is shown or handed out."""

import csv
import io

import pytest
from django.core.cache import cache

from benchmarks.models import Cell
from benchmarks.studies import checking

STUDY = "/studies/alpha-lab/inqbus-2008-io"
SPEEDS = "59 MB/s (64 %) and 109 MB/s (36 %)"
BIMODAL = f"two speeds, {SPEEDS}, alternating with period 3"


@pytest.fixture
def server_b(load_study):
    """The eleven hdparm readings of inqbus-server-b, which alternate."""
    study = load_study("inqbus-2008-io")
    checking.check_study(study)
    cache.clear()
    return Cell.objects.exclude(shape_codes="").get(system__host__slug__contains="-b")


@pytest.mark.parametrize("page", ["compare/", "compare/?show=value", "report/"])
def test_a_page_shows_both_speeds_and_no_mean(page, server_b, text):
    shown = text(f"{STUDY}/{page}")

    assert "59 | 109" in shown
    assert "77.23" not in shown


def test_its_card_says_why(server_b, text):
    card = text(f"{STUDY}/compare/cell/?cell={server_b.pk}")

    assert "No single figure: two speeds, 59" in card
    assert "77.2" not in card


def test_csv_and_json_leave_the_value_empty_with_its_reason(server_b, client):
    rows = csv.DictReader(
        io.StringIO(client.get(f"{STUDY}/compare.csv").content.decode())
    )
    [row] = [row for row in rows if row["id"] == str(server_b.pk)]
    cells = client.get(f"{STUDY}/compare.json").json()["cells"]
    [cell] = [cell for cell in cells if cell["id"] == server_b.pk]

    assert (row["value"], row["ratio"]) == ("", "")
    assert row["reason"] == cell["reason"] == f"No single figure: {BIMODAL}."
    assert (cell["value"], cell["ratio"]) == (None, None)
    assert [round(each) for each in cell["speeds"]] == [59, 109]


def test_latex_says_both_and_explains_the_mark(server_b, text):
    table = text(f"{STUDY}/compare.tex")

    assert r"\itshape 59{\rlap{\textsuperscript{a}}}" in table
    assert r"{{{\virtlabsmall \textbar{} \textit{109}}}}" in table
    assert "are not described by one mean" in table
    assert "77.2" not in table


def test_the_api_answers_null_and_the_codes(server_b, client):
    cells = client.get("/api/v1/cells/?study=alpha-lab/inqbus-2008-io").json()
    rows = client.get("/api/v1/comparisons/?study=alpha-lab/inqbus-2008-io").json()
    [cell] = [each for each in cells["results"] if each["id"] == server_b.pk]
    [row] = [each for each in rows["results"] if each["id"] == server_b.pk]

    assert (cell["mean"], row["value"]) == (None, None)
    assert cell["doubts"] == row["doubts"] == ["bimodal", "periodic"]
    assert row["reason"] == f"No single figure: {BIMODAL}."
    assert "bimodal" in row["reasons"] or row["state"] == "native"


@pytest.fixture
def noisy_native(submit, run_document, xen):
    """A native cell of two speeds, and a guest that is compared with it."""
    fast_and_slow = [run_document(value) for value in (50, 51, 50, 100, 101, 100, 51)]
    submit(*fast_and_slow, *(run_document(40, system=xen) for _ in range(5)))
    guest = Cell.objects.get(system__hypervisor="Xen")
    checking.check_study(guest.study)
    return guest


def test_a_ratio_to_a_baseline_of_two_speeds_does_not_exist(noisy_native, client):
    rows = client.get("/api/v1/comparisons/?study=alpha-lab/study").json()
    [row] = [each for each in rows["results"] if each["id"] == noisy_native.pk]

    assert (row["value"], row["efficiency"], row["baseline_value"]) == (40, None, None)
    assert (row["low"], row["high"]) == (None, None)
    assert "bimodal" in row["baseline_doubts"]
    assert row["reason"] == "No single figure describes the runs of the baseline."
