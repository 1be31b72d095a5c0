"""/api/v1/data/: whole tables as files."""

import base64
import csv
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

from api import data
from benchmarks.datasets import files
from benchmarks.datasets.tables import TABLES
from benchmarks.models import Case, Run, Study, System

ROWS = {"studies": 1, "systems": 2, "cells": 2, "runs": 2, "samples": 2}


def read(answer, form):
    """Return the rows of a file as a program has them."""
    assert answer.status_code == 200, answer.getvalue()
    content = answer.getvalue()
    if form == "ndjson":
        return [json.loads(line) for line in content.splitlines()]
    if form == "parquet":
        return parquet.read_table(io.BytesIO(content)).to_pylist()
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


@pytest.fixture
def rows(anyone):
    """Return the rows of a table for these parameters."""

    def asked(table, form="ndjson", token=None, **query):
        return read(anyone.get(f"data/{table}/{form}/", token=token, **query), form)

    return asked


@pytest.mark.parametrize("form", files.FILE_FORMATS)
@pytest.mark.parametrize("table", TABLES)
def test_every_table_comes_in_every_form(rows, measured, table, form):
    found = rows(table, form)

    assert len(found) == ROWS[table]
    assert list(found[0]) == [column.name for column in TABLES[table].columns]


@pytest.mark.parametrize("form", files.FILE_FORMATS)
def test_a_sample_is_what_was_uploaded(rows, submit, run_document, form):
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


def test_a_cell_has_its_statistics_and_what_it_is_compared_with(rows, measured):
    cells = {cell["hypervisor"]: cell for cell in rows("cells")}

    assert cells["Xen"]["mean"] == 13.08
    assert cells["Xen"]["relative_performance"] == pytest.approx(13.08 / 52.97)
    assert cells["Xen"]["baseline_cell_id"] == cells["native"]["id"]
    assert cells["Xen"]["baseline_state"] == "paired"


def test_what_a_single_figure_does_not_describe_has_none(rows, measured):
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
def test_what_is_missing_is_not_what_is_empty(anyone, submit, run_document, form):
    submit(run_document(load=""))
    content = anyone.get(f"data/runs/{form}/").getvalue()

    if form == "parquet":
        (row,) = parquet.read_table(io.BytesIO(content)).to_pylist()
        assert (row["load"], row["corun"], row["started_at"]) == ("", None, None)
    else:
        head, row = csv.reader(io.StringIO(content.decode()))
        assert row[head.index("load")] == row[head.index("corun")] == ""
        assert b',"",' in content


def test_a_note_of_several_lines_stays_one_value(rows, submit, run_document):
    note = 'said "fast"\\n\nthen\u2028"slow", \t \\'
    submit(run_document(note=note))

    for form in files.FILE_FORMATS:
        assert [run["note"] for run in rows("runs", form)] == [note], form


def test_no_text_is_a_formula_in_a_spreadsheet(rows, submit, run_document):
    submit(run_document(note="=cmd()"))

    assert rows("runs", "csv")[0]["note"] == "'=cmd()"
    assert rows("runs")[0]["note"] == "=cmd()"


@pytest.mark.parametrize("form", files.FILE_FORMATS)
def test_the_digest_is_of_the_bytes_and_of_the_same_bytes_again(anyone, measured, form):
    first, again = (anyone.get(f"data/cells/{form}/") for _ in range(2))
    content = first.getvalue()

    digest = hashlib.sha256(content)
    packed = base64.b64encode(digest.digest()).decode()
    assert first["Repr-Digest"] == f"sha-256=:{packed}:"
    assert first["X-SHA256"] == digest.hexdigest() == again["X-SHA256"]
    assert int(first["Content-Length"]) == len(content)
    again.close()


def test_filters_narrow_every_table(rows, measured):
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
    assert [it["system_id"] for it in rows("cells", hypervisor="Xen")] == [xen.pk]
    assert len(rows("studies", hypervisor="Xen")) == 1
    assert rows("studies", hypervisor="KVM") == []


def test_days_are_those_on_which_runs_began(rows, submit, run_document):
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
def test_a_parameter_that_means_nothing_is_refused(anyone, measured, query, field):
    answer = anyone.get("data/cells/csv/", **query)

    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]


@pytest.mark.parametrize("path", ["data/tables/csv/", "data/cells/xlsx/"])
def test_what_is_no_table_or_form_is_not_there(anyone, db, path):
    answer = anyone.get(path)

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_tables_are_listed_with_their_rows_and_addresses(anyone, measured):
    listed = anyone.get("data/", hypervisor="Xen").json()

    found = {table["name"]: table["row_count"] for table in listed["results"]}
    assert found == dict.fromkeys(TABLES, 1)
    address = listed["results"][2]["files"]["parquet"]
    assert address.endswith("/api/v1/data/cells/parquet/?hypervisor=Xen")
    assert listed["schema"].endswith("/api/v1/data/schema/")


def test_the_schema_says_names_types_units_and_meanings(anyone, measured):
    resources = anyone.get("data/schema/").json()["resources"]

    tables = {it["name"]: it["schema"] for it in resources}
    assert list(tables) == list(TABLES)
    fields = {field["name"]: field for field in tables["samples"]["fields"]}
    assert fields["value"]["type"] == "number"
    assert fields["value"]["unitField"] == "unit"
    assert tables["samples"]["primaryKey"] == ["run_id", "sequence"]
    for table in tables.values():
        names = {field["name"] for field in table["fields"]}
        assert {
            *table["primaryKey"],
            *(it["fields"] for it in table["foreignKeys"]),
        } <= names
        assert all(
            field["description"].endswith(".") or field["description"].endswith("..")
            for field in table["fields"]
        )


def test_pieces_are_put_together_in_order(rows, submit, run_document, monkeypatch):
    monkeypatch.setattr("benchmarks.datasets.row_selection.MAX_BATCH_ROWS", 2)
    monkeypatch.setattr("benchmarks.datasets.row_selection.MAX_BATCH_KEYS", 3)
    submit(*(run_document(float(n)) for n in range(1, 8)))

    for form in files.FILE_FORMATS:
        values = [float(sample["value"]) for sample in rows("samples", form)]
        assert values == [1, 2, 3, 4, 5, 6, 7], form
    assert [run["id"] for run in rows("runs")] == sorted(
        Run.objects.values_list("pk", flat=True)
    )


def test_samples_of_a_run_that_was_not_read_are_left_out(rows, measured):
    Run.objects.filter(system__hypervisor="Xen").update(status="quarantined")

    assert len(rows("samples")) == 1
    assert {run["status"] for run in rows("runs")} == {"parsed", "quarantined"}


def test_files_that_are_being_made_leave_threads_for_others(anyone, measured):
    taken = [
        data._FILE_SLOTS.acquire(blocking=False)
        for _ in range(data.MAX_CONCURRENT_FILES)
    ]
    try:
        answer = anyone.get("data/cells/csv/")
    finally:
        for _ in filter(None, taken):
            data._FILE_SLOTS.release()

    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert answer["Retry-After"] == "5"
    anyone.get("data/cells/csv/").getvalue()


def test_a_file_gives_its_place_back_however_it_ends(anyone, measured, monkeypatch):
    for _ in range(data.MAX_CONCURRENT_DOWNLOADS + 1):
        assert anyone.get("data/cells/csv/").getvalue()
    monkeypatch.setattr(settings, "EXPORT_TIMEOUT_S", -1)
    for _ in range(data.MAX_CONCURRENT_DOWNLOADS + 1):
        answer = anyone.get("data/cells/csv/")
        assert (answer.status_code, answer.json()["code"]) == (503, "query_timeout")


def test_a_file_for_nobody_is_not_made_to_its_end(anyone, measured):
    asked = {"waitress.client_disconnected": lambda: True}

    answer = anyone.client.get("/api/v1/data/cells/csv/", **asked)

    assert (answer.status_code, answer.json()["code"]) == (503, "client_disconnected")


def test_a_full_disk_is_told_before_it_is_full(anyone, measured, monkeypatch):
    monkeypatch.setattr(files, "MIN_FREE_DISK_BYTES", 10**18)

    answer = anyone.get("data/cells/parquet/")

    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")


def test_head_makes_no_file(anyone, measured, monkeypatch):
    monkeypatch.setattr(data, "write_table", None)

    answer = anyone.client.head("/api/v1/data/cells/csv/")

    assert (answer.status_code, answer["Content-Type"]) == (
        200,
        "text/csv; charset=utf-8",
    )


def test_a_baseline_that_one_may_not_see_is_not_told(rows, read_token, measured, lab):
    hidden = Study.objects.create(lab=lab, slug="hidden", title="Hidden")
    Study.objects.get(slug="study").cells.filter(system__hypervisor="native").update(
        study=hidden
    )

    (cell,) = rows("cells")
    own = {it["hypervisor"]: it for it in rows("cells", token=read_token)}

    assert cell["baseline_cell_id"] is cell["baseline_n"] is None
    assert cell["relative_performance"] is None
    assert own["Xen"]["baseline_cell_id"] == own["native"]["id"]


def test_what_is_private_is_in_no_file_of_others(
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


def test_a_day_is_read_as_one():
    assert data.DateParameter().run_validation("2026-03-14") == date(2026, 3, 14)


def test_a_start_does_not_load_what_only_parquet_needs():
    loaded = """if True:
        import sys
        from config.wsgi import application
        from django.urls import get_resolver
        get_resolver().url_patterns
        print("api.data" in sys.modules, "pyarrow" in sys.modules)
    """

    done = subprocess.run(
        [sys.executable, "-c", loaded],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["True", "False"]
