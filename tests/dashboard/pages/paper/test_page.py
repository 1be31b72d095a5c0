"""The page "For a paper" and its files."""

import io
import zipfile
from datetime import timedelta

import pytest

from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.comparison.cell_details import count_runs
from benchmarks.jobs import queue
from benchmarks.models import Case, Cell, ChartFile, Study, System
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from dashboard.kit import generation_progress

PAPER = "/studies/alpha-lab/study/paper/"
NATIVE, SLOW = (100, 101, 99, 100.5, 99.5, 100.2), (80, 81, 79, 80.5, 79.5, 80.2)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for charts, because no worker runs."""
    monkeypatch.setattr(generation_progress, "MAX_GENERATION_WAIT_S", 0)


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure a Xen guest and its machine, six runs each."""
    shared = {"tool_version": "1.2", "session": "Monday"}
    submit(
        *(run_document(value, **shared) for value in NATIVE),
        *(run_document(value, system=xen, **shared) for value in SLOW),
    )


def file(client, name, **query):
    answer = client.get(f"{PAPER}{name}", query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_page_shows_numbers_and_links_to_files(measured, text):
    page = text(f"{PAPER}?digits=3")

    assert "0.800" in page
    for name in ("table.tex", "methods.tex", "study.bib", "numbers.csv", "paper.zip"):
        assert f'{PAPER}{name}?digits=3"' in page
    for form in ("pdf", "svg", "pgf"):
        assert f"chart-3.33in.{form}?" in page
        assert f"chart-7in.{form}?" in page


def test_compare_page_links_here_with_filters(measured, text):
    page = text("/studies/alpha-lab/study/compare/?bits=32")

    assert f'href="{PAPER}?bits=32"' in page


def test_columns_and_digits_follow_query(client, measured):
    guest = System.objects.get(hypervisor="Xen")

    table = file(client, "table.tex", system=guest.pk, digits=2)

    assert "0.80{" in table
    assert "Xen" in table
    assert r"native} \\" not in table
    assert f"system={guest.pk}" in table.replace(r"\allowbreak{}", "")


def test_rows_follow_query(client, measured, submit, run_document):
    other = {"metric": "network throughput", "value": 7.5, "unit": "MB/s"}
    submit(run_document(samples=[{**other, "parameters": {"operation": "read"}}]))
    case = Case.objects.get(parameters__operation="read")

    numbers = file(client, "numbers.csv", case=case.pk)

    assert "7.5" in numbers
    assert "80." not in numbers


def test_methods_state_runs_tools_interval_margin_and_rules(client, measured, study):
    update_study(study=study, equivalence_margin_percent=3.0)
    checking.check_due_studies(timedelta(0))

    told = file(client, "methods.txt")

    for part in (
        " 1.2.",
        "12 runs",
        "6 runs",
        "Welch",
        " 3%",
        f"rule set {RULE_SET}",
        "Virtlab",
    ):
        assert part in told, part


def test_methods_do_not_attribute_facts_of_guests_to_native(client, measured):
    methods = file(client, "methods.txt")

    common, guests = methods.split("All systems except native:")
    assert "full" in guests.partition(".")[0]
    assert "full" not in common.partition("Common to all systems:")[2]


def test_missing_results_are_reported(measured, text):
    assert "case=999999" in text(f"{PAPER}?case=999999")


def test_worker_draws_charts_and_packs_archive(client, measured):
    waits = client.get(f"{PAPER}paper.zip").content.decode()
    assert "Packing" in waits

    queue.run_due_jobs("chart", ChartFile.objects.get().pk)

    packed = client.get(f"{PAPER}paper.zip")
    assert packed["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        names = set(archive.namelist())
        assert archive.read("chart-7in.pdf").startswith(b"%PDF")
        assert b"0.80" in archive.read("table.tex")
    assert {"methods.tex", "study.bib", "chart-3.33in.pgf", "example.tex"} <= names


def test_single_chart_is_drawn(client, measured):
    client.get(f"{PAPER}chart-3.33in.svg")
    queue.run_due_jobs("chart", ChartFile.objects.get().pk)

    chart = client.get(f"{PAPER}chart-3.33in.svg")
    assert chart["Content-Type"] == "image/svg+xml"
    assert "relative performance" in chart.content.decode()


def test_private_study_is_404(client, measured, study, person):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    for name in ("", "table.tex", "methods.txt", "paper.zip", "chart-7in.pdf"):
        assert client.get(f"{PAPER}{name}").status_code == 404
    assert not ChartFile.objects.exists()
    client.force_login(person)
    assert client.get(f"{PAPER}table.tex").status_code == 200


@pytest.mark.parametrize("name", ["table.exe", "chart-5in.pdf"])
def test_unknown_file_is_404(client, study, name):
    assert client.get(f"{PAPER}{name}").status_code == 404


def test_runs_of_cells_count_once(measured):
    behind = count_runs(Cell.objects.values_list("pk", flat=True))

    assert (behind.runs, behind.tool_versions) == (12, {"iometer": ("1.2",)})
    assert count_runs([]).runs == 0
