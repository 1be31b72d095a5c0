"""/data/: tables as files."""

import base64
import csv
import errno
import hashlib
import io
import json
import os
import subprocess
import sys
from datetime import date

import pytest
from django.conf import settings
from pyarrow import parquet

from api import datasets
from benchmarks.datasets import files
from benchmarks.datasets.tables import TABLES
from benchmarks.models import Case, Run, Study, System

ROWS = {"studies": 1, "systems": 2, "cells": 2, "runs": 2, "samples": 2}


def read(answer, form):
    """Return the rows of a file as dictionaries."""
    assert answer.status_code == 200, answer.getvalue()
    content = answer.getvalue()
    if form == "ndjson":
        return [json.loads(line) for line in content.splitlines()]
    if form == "parquet":
        return parquet.read_table(io.BytesIO(content)).to_pylist()
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


@pytest.fixture
def rows(anyone):
    """Return a function that returns the rows of a table for query parameters."""

    def asked(table, form="ndjson", token=None, **query):
        return read(anyone.get(f"data/{table}/{form}/", token=token, **query), form)

    return asked


@pytest.mark.parametrize("form", files.FILE_FORMATS)
@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_every_format(rows, measured, table, form):
    found = rows(table, form)

    assert len(found) == ROWS[table]
    assert list(found[0]) == [column.name for column in TABLES[table].columns]


@pytest.mark.parametrize("form", files.FILE_FORMATS)
def test_samples_equal_the_upload(rows, submit, run_document, form):
    at = "2026-03-14T09:26:53.500000Z"
    submit(run_document(0.1 + 0.2, started_at=at))

    (sample,) = rows("samples", form)

    assert float(sample["value"]) == 0.1 + 0.2
    assert (sample["unit"], sample["metric"]) == ("MB/s", "network throughput")
    parameters = sample["parameters"]
    assert (parameters if form == "ndjson" else json.loads(parameters)) == {
        "operation": "write"
    }
    moment = sample["started_at"]
    assert (moment if form != "parquet" else f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}") == at
    assert sample["is_derived"] in (False, "f")


def test_cells_have_statistics_and_the_comparison(rows, measured):
    cells = {cell["hypervisor"]: cell for cell in rows("cells")}

    assert cells["Xen"]["mean"] == 13.08
    assert cells["Xen"]["relative_performance"] == pytest.approx(13.08 / 52.97)
    assert cells["Xen"]["baseline_cell_id"] == cells["native"]["id"]
    assert cells["Xen"]["baseline_state"] == "paired"


def test_bimodal_cells_have_no_mean(rows, measured):
    native = Study.objects.get().cells.get(system__hypervisor="native")
    native.shape_codes = "bimodal"
    native.save()

    cells = {cell["hypervisor"]: cell for cell in rows("cells")}

    assert (cells["native"]["mean"], cells["native"]["shape_codes"]) == (
        None,
        "bimodal",
    )
    assert cells["Xen"]["relative_performance"] is None


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_null_differs_from_an_empty_text(anyone, submit, run_document, form):
    submit(run_document(load=""))
    content = anyone.get(f"data/runs/{form}/").getvalue()

    if form == "parquet":
        (row,) = parquet.read_table(io.BytesIO(content)).to_pylist()
        assert (row["load"], row["corun"], row["started_at"]) == ("", None, None)
    else:
        head, row = csv.reader(io.StringIO(content.decode()))
        assert row[head.index("load")] == row[head.index("corun")] == ""
        assert b',"",' in content


def test_multiline_notes_are_one_value(rows, submit, run_document):
    note = 'said "fast"\\n\nthen\u2028"slow", \t \\'
    submit(run_document(note=note))

    for form in files.FILE_FORMATS:
        assert [run["note"] for run in rows("runs", form)] == [note], form


def test_texts_are_not_spreadsheet_formulas(rows, submit, run_document):
    submit(run_document(note="=cmd()"))

    assert rows("runs", "csv")[0]["note"] == "'=cmd()"
    assert rows("runs")[0]["note"] == "=cmd()"


@pytest.mark.parametrize("form", files.FILE_FORMATS)
def test_digests_are_correct_and_reproducible(anyone, measured, form):
    first, again = (anyone.get(f"data/cells/{form}/") for _ in range(2))
    content = first.getvalue()

    digest = hashlib.sha256(content)
    packed = base64.b64encode(digest.digest()).decode()
    assert first["Repr-Digest"] == f"sha-256=:{packed}:"
    assert first["X-SHA256"] == digest.hexdigest() == again["X-SHA256"]
    assert int(first["Content-Length"]) == len(content)
    again.close()


def test_every_table_can_be_filtered(rows, measured):
    xen, case = System.objects.get(hypervisor="Xen"), Case.objects.get()

    for table in ("systems", "cells", "runs", "samples"):
        assert len(rows(table, hypervisor="xen")) == 1, table
        assert len(rows(table, study="alpha-lab/study", host="alpha")) == 2, table
        assert len(rows(table, tool="Iometer", metric="network throughput")) == 2, table
        assert len(rows(table, case=case.pk, scenario="single")) == 2, table
        assert rows(table, case=999_999) == rows(table, scenario="parallel") == [], (
            table
        )
        assert rows(table, host="beta") == rows(table, metric="time") == [], table
    assert [item["system_id"] for item in rows("cells", hypervisor="Xen")] == [xen.pk]
    assert len(rows("studies", hypervisor="Xen")) == 1
    assert rows("studies", hypervisor="KVM") == []


def test_days_filter_by_the_start_of_runs(rows, submit, run_document):
    for day in ("2026-03-13T23:59:59Z", "2026-03-14T23:59:59Z", None):
        submit(run_document(started_at=day))

    def count(**query):
        return len(rows("samples", **query))

    assert count() == 3
    assert count(since="2026-03-14") == count(until="2026-03-13") == 1
    assert count(since="2026-03-13", until="2026-03-14") == 2
    assert count(since="2026-03-15") == 0


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"since": "yesterday"}, "since"),
        ({"until": "9999-12-31"}, "until"),
        ({"case": "x"}, "case"),
        ({"sice": "2026-03-14"}, "sice"),
        ({"study": ""}, "study"),
    ],
)
def test_invalid_parameters_are_rejected(anyone, measured, query, field):
    answer = anyone.get("data/cells/csv/", **query)

    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]


@pytest.mark.parametrize("path", ["data/tables/csv/", "data/cells/xlsx/"])
def test_unknown_tables_and_formats_are_404(anyone, db, path):
    answer = anyone.get(path)

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_tables_are_listed_with_row_counts_and_urls(anyone, measured):
    listed = anyone.get("data/", hypervisor="Xen").json()

    found = {table["name"]: table["row_count"] for table in listed["results"]}
    assert found == dict.fromkeys(TABLES, 1)
    address = listed["results"][2]["files"]["parquet"]
    assert address.endswith("/api/v1/data/cells/parquet/?hypervisor=Xen")
    assert listed["schema"].endswith("/api/v1/data/schema/")


def test_schema_has_names_types_units_and_descriptions(anyone, measured):
    resources = anyone.get("data/schema/").json()["resources"]

    tables = {item["name"]: item["schema"] for item in resources}
    assert list(tables) == list(TABLES)
    fields = {field["name"]: field for field in tables["samples"]["fields"]}
    assert fields["value"]["type"] == "number"
    assert fields["value"]["unitField"] == "unit"
    assert tables["samples"]["primaryKey"] == ["run_id", "sequence"]
    for table in tables.values():
        names = {field["name"] for field in table["fields"]}
        assert {
            *table["primaryKey"],
            *(item["fields"] for item in table["foreignKeys"]),
        } <= names
        assert all(
            field["description"].endswith(".") or field["description"].endswith("..")
            for field in table["fields"]
        )


def test_chunks_are_joined_in_order(rows, submit, run_document, monkeypatch):
    monkeypatch.setattr("benchmarks.datasets.row_selection.MAX_BATCH_ROWS", 2)
    monkeypatch.setattr("benchmarks.datasets.row_selection.MAX_BATCH_KEYS", 3)
    submit(*(run_document(float(n)) for n in range(1, 8)))

    for form in files.FILE_FORMATS:
        values = [float(sample["value"]) for sample in rows("samples", form)]
        assert values == [1, 2, 3, 4, 5, 6, 7], form
    assert [run["id"] for run in rows("runs")] == sorted(
        Run.objects.values_list("pk", flat=True)
    )


def test_samples_of_rejected_runs_are_excluded(rows, measured):
    Run.objects.filter(system__hypervisor="Xen").update(status="quarantined")

    assert len(rows("samples")) == 1
    assert {run["status"] for run in rows("runs")} == {"parsed", "quarantined"}


def test_concurrent_files_are_limited(anyone, measured):
    taken = [
        datasets._FILE_SLOTS.acquire(blocking=False)
        for _ in range(datasets.MAX_CONCURRENT_FILES)
    ]
    try:
        answer = anyone.get("data/cells/csv/")
    finally:
        for _ in filter(None, taken):
            datasets._FILE_SLOTS.release()

    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert answer["Retry-After"] == "5"
    anyone.get("data/cells/csv/").getvalue()


def test_slots_are_always_released(anyone, measured, monkeypatch):
    for _ in range(datasets.MAX_CONCURRENT_DOWNLOADS + 1):
        assert anyone.get("data/cells/csv/").getvalue()
    monkeypatch.setattr(settings, "EXPORT_TIMEOUT_S", -1)
    for _ in range(datasets.MAX_CONCURRENT_DOWNLOADS + 1):
        answer = anyone.get("data/cells/csv/")
        assert (answer.status_code, answer.json()["code"]) == (503, "query_timeout")


def test_files_are_cancelled_when_clients_disconnect(anyone, measured):
    asked = {"waitress.client_disconnected": lambda: True}

    answer = anyone.client.get("/api/v1/data/cells/csv/", **asked)

    assert (answer.status_code, answer.json()["code"]) == (503, "client_disconnected")


def test_files_are_refused_before_the_disk_is_full(anyone, measured, monkeypatch):
    monkeypatch.setattr(files, "MIN_FREE_DISK_BYTES", 10**18)

    answer = anyone.get("data/cells/parquet/")

    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")


def test_export_on_a_read_only_disk_is_refused(anyone, measured, monkeypatch):
    def refuse(**_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(files.tempfile, "TemporaryFile", refuse)

    for path in ("data/cells/csv/", "study-file/?study=alpha-lab/study"):
        answer = anyone.get(path)
        assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")


def test_head_creates_no_file(anyone, measured, monkeypatch):
    monkeypatch.setattr(datasets, "write_table", None)

    answer = anyone.client.head("/api/v1/data/cells/csv/")

    assert (answer.status_code, answer["Content-Type"]) == (
        200,
        "text/csv; charset=utf-8",
    )


def test_invisible_baselines_are_not_returned(rows, read_token, measured, lab):
    hidden = Study.objects.create(lab=lab, slug="hidden", title="Hidden")
    Study.objects.get(slug="study").cells.filter(system__hypervisor="native").update(
        study=hidden
    )

    (cell,) = rows("cells")
    own = {item["hypervisor"]: item for item in rows("cells", token=read_token)}

    assert cell["baseline_cell_id"] is cell["baseline_n"] is None
    assert cell["relative_performance"] is None
    assert own["Xen"]["baseline_cell_id"] == own["native"]["id"]


def test_private_data_are_not_in_files_of_others(
    rows, read_token, submit, run_document, private_study
):
    submit(run_document(study=private_study.slug))

    assert {table: len(rows(table)) for table in TABLES} == {
        **dict.fromkeys(TABLES, 0),
        "studies": 1,
    }
    assert {table: len(rows(table, token=read_token)) for table in TABLES} == {
        **dict.fromkeys(TABLES, 1),
        "studies": 2,
    }


def test_dates_have_one_format():
    assert datasets.DateParameter().run_validation("2026-03-14") == date(2026, 3, 14)


def test_pyarrow_is_not_imported_at_startup():
    loaded = """if True:
        import sys
        from config.wsgi import application
        from django.urls import get_resolver
        get_resolver().url_patterns
        print("api.datasets" in sys.modules, "pyarrow" in sys.modules)
    """

    done = subprocess.run(
        [sys.executable, "-c", loaded],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["True", "False"]
