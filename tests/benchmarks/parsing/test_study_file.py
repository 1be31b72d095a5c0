"""Study files are read entry by entry, and damaged ones are refused with the place."""

import gzip
import json
import time

import pytest

from benchmarks.errors import InvalidError
from benchmarks.parsing import study_file
from benchmarks.parsing.study_file import read_entries

LIMIT = 1_000_000
CONTENT = {
    "format": "virtlab-study",
    "version": 12,
    "study": {"slug": "é", "note": 'a "quoted" \\ text'},
    "hosts": [],
    "runs": [{"key": number, "output": "x" * (number % 400)} for number in range(900)],
}


def gzipped(content):
    # Test names contain the bytes: with the time, each process would have other tests.
    return gzip.compress(content, mtime=0)


def entries(content):
    return list(read_entries(content, LIMIT))


def problem(content):
    with pytest.raises(InvalidError) as caught:
        entries(content)
    return str(caught.value)


@pytest.mark.parametrize("chunk", [1, 7, 64 * 1024])
@pytest.mark.parametrize("indent", [None, 2])
def test_entries_do_not_depend_on_chunks_and_layout(monkeypatch, chunk, indent):
    monkeypatch.setattr(study_file, "CHUNK_BYTES", chunk)
    short = {**CONTENT, "runs": CONTENT["runs"][:20]}
    content = json.dumps(short, indent=indent, ensure_ascii=False).encode()

    found = entries(content)

    assert [entry.path for entry in found[:4]] == [
        "format",
        "version",
        "study",
        "runs[0]",
    ]
    assert [entry.value for entry in found] == [
        *list(short.values())[:3],
        *short["runs"],
    ]
    assert all(json.loads(entry.text) == entry.value for entry in found)


def test_compressed_files_are_read():
    content = json.dumps(CONTENT).encode()

    assert entries(gzipped(content)) == entries(content)


def test_entries_have_the_line_where_they_begin():
    content = b'{"runs": [\n{"a":\n1},\n{}\n]}'

    assert [entry.line for entry in entries(content)] == [2, 4]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "Line 1: Send one JSON object."),
        (b"[]", "Line 1: Send one JSON object."),
        (b"{} {}", "Line 1: The file continues"),
        (b'{"version": 1', 'Line 1: "}" is missing'),
        (b'{"version": 1,}', "Line 1: A name in double quotes is missing"),
        (b'{"runs":\n[1,]}', "Line 2: An entry is missing"),
        (b'{"runs": [\n{"a": 1\n"b": 2}]}', "Line 3: This is not valid JSON"),
        (b'{"runs": [NaN]}', "Line 1: This is not valid JSON"),
        (b'{"version": 1, "version": 1}', "appears twice"),
        (b'{"systems": 1}', 'Unknown member "systems"'),
        (b'{"study": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"study": "\xff"}', "not UTF-8"),
        (gzipped(b'{"version": 1}')[:-9], "truncated or damaged"),
        (gzipped(gzipped(b"{}")), "compressed twice"),
        (gzipped(b"{}") + b"x", "truncated or damaged"),
        (gzipped(b" " * (LIMIT + 1)), "unpacks to more than 1,000,000 bytes"),
    ],
)
def test_damaged_files_are_refused_with_the_place(content, expected):
    assert expected in problem(content)


def test_large_entries_are_refused(monkeypatch):
    monkeypatch.setattr(study_file, "MAX_ENTRY_CHARACTERS", 100_000)

    assert "too large" in problem(b'{"runs": ["' + b"x" * 300_000 + b'"]}')


def test_spaces_are_skipped_quickly():
    started = time.thread_time()

    assert "missing" in problem(b"{" + b" " * 4_000_000)

    assert time.thread_time() - started < 0.2  # 0.5 s one by one
