"""The page "For a paper" and its files: what is chosen, and nothing of others."""

import io
import zipfile

import pytest

from benchmarks.comparing.cell_evidence import runs_behind
from benchmarks.models import Case, Cell, Picture, Study, System
from benchmarks.studies.saving import update_study
from benchmarks.unattended import queue
from dashboard.kit import waiting

PAPER = "/studies/alpha-lab/study/paper/"
NATIVE, SLOW = (100, 101, 99, 100.5, 99.5, 100.2), (80, 81, 79, 80.5, 79.5, 80.2)


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    """Nobody waits for a chart: no worker runs here."""
    monkeypatch.setattr(waiting, "PATIENCE_S", 0)


@pytest.fixture
def measured(submit, run_document, xen):
    """A Xen guest beside its machine, six runs a side."""
    submit(
        *(run_document(value, tool_version="1.2") for value in NATIVE),
        *(run_document(value, system=xen, tool_version="1.2") for value in SLOW),
    )


def file(client, name, **query):
    answer = client.get(f"{PAPER}{name}", query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_page_shows_the_numbers_and_leads_to_every_file(measured, text):
    page = text(f"{PAPER}?digits=3")

    assert "0.800" in page
    for name in ("table.tex", "methods.tex", "study.bib", "numbers.csv", "paper.zip"):
        assert f'{PAPER}{name}?digits=3"' in page
    for form in ("pdf", "svg", "pgf"):
        assert f"chart-3.33in.{form}?" in page
        assert f"chart-7in.{form}?" in page


def test_compare_leads_here_with_what_is_filtered(measured, text):
    page = text("/studies/alpha-lab/study/compare/?bits=32")

    assert f'href="{PAPER}?bits=32"' in page


def test_columns_and_digits_are_those_of_the_address(client, measured):
    guest = System.objects.get(hypervisor="Xen")

    table = file(client, "table.tex", system=guest.pk, digits=2)

    assert "0.80{" in table
    assert "Xen" in table
    assert r"native} \\" not in table
    assert f"system={guest.pk}" in table.replace(r"\allowbreak{}", "")


def test_rows_are_those_of_the_address(client, measured, submit, run_document):
    other = {"metric": "network throughput", "value": 7.5, "unit": "MB/s"}
    submit(run_document(samples=[{**other, "parameters": {"operation": "read"}}]))
    case = Case.objects.get(parameters__operation="read")

    numbers = file(client, "numbers.csv", case=case.pk)

    assert "7.5" in numbers
    assert "80." not in numbers


def test_methods_say_runs_tools_interval_margin_and_rules(client, measured, study):
    update_study(study=study, equivalence_margin_percent=3.0)

    told = file(client, "methods.txt")

    for part in (
        " 1.2.",
        "12 runs",
        "6 runs",
        "Welch",
        " 3 %",
        "rule set 2",
        "Virtlab",
    ):
        assert part in told, part


def test_what_is_not_here_is_told(measured, text):
    assert "case=999999" in text(f"{PAPER}?case=999999")


def test_a_worker_draws_charts_and_packs_everything(client, measured):
    waits = client.get(f"{PAPER}paper.zip").content.decode()
    assert "Packing" in waits

    queue.run("picture", Picture.objects.get().pk)

    packed = client.get(f"{PAPER}paper.zip")
    assert packed["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        names = set(archive.namelist())
        assert archive.read("chart-7in.pdf").startswith(b"%PDF")
        assert b"0.80" in archive.read("table.tex")
    assert {"methods.tex", "study.bib", "chart-3.33in.pgf", "example.tex"} <= names


def test_a_single_chart_is_drawn_too(client, measured):
    client.get(f"{PAPER}chart-3.33in.svg")
    queue.run("picture", Picture.objects.get().pk)

    chart = client.get(f"{PAPER}chart-3.33in.svg")
    assert chart["Content-Type"] == "image/svg+xml"
    assert "relative performance" in chart.content.decode()


def test_nothing_of_a_private_study_leaves_it(client, measured, study, person):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    for name in ("", "table.tex", "methods.txt", "paper.zip", "chart-7in.pdf"):
        assert client.get(f"{PAPER}{name}").status_code == 404
    assert not Picture.objects.exists()
    client.force_login(person)
    assert client.get(f"{PAPER}table.tex").status_code == 200


@pytest.mark.parametrize("name", ["table.exe", "chart-5in.pdf"])
def test_a_file_that_there_is_not_is_not_found(client, study, name):
    assert client.get(f"{PAPER}{name}").status_code == 404


def test_runs_behind_cells_count_once(measured):
    behind = runs_behind(Cell.objects.values_list("pk", flat=True))

    assert (behind.runs, behind.versions) == (12, {"iometer": ("1.2",)})
    assert runs_behind([]).runs == 0
