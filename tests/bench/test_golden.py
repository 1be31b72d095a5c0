"""Raw tables of other labs become uploads as their labs would make them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from bench.golden import Told, run_documents, started_at, tool_documents
from benchmarks.reference.rows import Row

CELL = {
    "system": "KVM",
    "tool_title": "fio",
    "case": "read",
    "design": "one_shared",
    "n": 10,
    "baseline_n": 10,
    "efficiency": 0.9,
    "relative": None,
    "low": 0.8,
    "high": 1.0,
    "ratio_range": [0.7, 1.1],
    "shape": "one speed",
    "verdict": "slower",
    "reasons": [],
}


def row(**changes):
    stated = dict.fromkeys(Row.__dataclass_fields__, "")
    given = {"machine": "alpha", "hypervisor": "native", "tool": "STREAM"}
    printed = {"metric": "rate", "value": "5.0", "unit": "GUPS", "guest_bits": "64"}
    return Row(**{**stated, **given, **printed, **changes})


@pytest.mark.parametrize(
    ("note", "moment"),
    [
        (
            "started 2020-12-21T18:18:15+0200; 5000 non-2xx responses",
            datetime(2020, 12, 21, 18, 18, 15, tzinfo=timezone(timedelta(hours=2))),
        ),
        ("started 2026-07-06T21:59:23", datetime(2026, 7, 6, 21, 59, 23, tzinfo=UTC)),
        (
            "started Thu Jul 17 22:17:38 CDT 2014",
            datetime(2014, 7, 18, 3, 17, 38, tzinfo=UTC),
        ),
        ("the second of three", None),
    ],
)
def test_a_note_says_when_its_run_started(note, moment):
    assert started_at(note) == moment


def test_each_start_of_a_tool_is_a_run_with_all_that_it_printed():
    rows = [
        row(operation=operation, params=f"threads=4;repetition={turn}")
        for turn in (1, 2)
        for operation in ("copy", "add")
    ]

    runs = list(run_documents("study", rows))

    assert [len(run["samples"]) for run in runs] == [2, 2]
    assert runs[0]["samples"][0]["parameters"] == {"threads": "4", "operation": "copy"}
    assert runs[0]["key"] != runs[1]["key"]


def test_options_of_a_system_are_none_of_the_case():
    (run,) = run_documents("study", [row(params="pinning=on;threads=4")])

    assert run["system"]["options"] == {"pinning": "on"}
    assert run["samples"][0]["parameters"] == {"threads": "4"}


def test_units_of_raw_logs_are_known():
    rows = [row(), row(metric="time", unit="ms")]

    (tool,) = tool_documents("study", rows)

    named = [(one["name"], one["unit"], one["better"]) for one in tool["metrics"]]
    assert named == [("rate", "GUPS", "higher"), ("time", "ms", "lower")]


def test_what_is_not_assessed_is_told_with_its_reasons():
    refused = {"verdict": "not_assessed", "reasons": ["drift"], "efficiency": None}
    told = Told((CELL, CELL | refused))

    lines = "\n".join(told.lines("study"))

    assert "study: 1 of 2 assessed, 2 with a ratio or a range" in lines
    assert lines.count("\n  - ") == 1
    assert "drift" in lines
