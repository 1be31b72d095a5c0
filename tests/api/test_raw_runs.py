"""POST /runs/ with the output of a tool instead of samples."""

import pytest

from benchmarks.models import Run
from benchmarks.tools import TOOLS
from benchmarks.uploads import processing

PRINTED = "\x1b[1m Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec"


@pytest.fixture
def raw(run_document):
    """Return a function that creates an upload of raw output."""

    def make(**changes):
        document = run_document(**{"output": PRINTED, **changes})
        return {
            name: value
            for name, value in document.items()
            if name in changes or name not in ("samples", "tool")
        }

    return make


def test_output_of_a_tool_is_parsed(api, raw):
    answer = api.post("runs/", raw())
    processing.process_due_uploads()

    run = api.get(f"runs/{answer.json()['id']}/").json()
    assert answer.status_code == 202
    assert (run["tool"], run["status"]) == ("hdparm", "parsed")
    assert run["parser_version"] == TOOLS["hdparm"].version
    assert run["samples"][0]["metric"] == "buffered read"
    assert (run["upload_position"], run["first_line"], run["last_line"]) == (1, 1, 1)


def test_runs_of_an_upload_are_listed_by_its_key(api, raw):
    document = raw(output=f"$ hdparm -t a\n{PRINTED}\n$ hdparm -t a\n{PRINTED}\n")
    api.post("runs/", document)
    processing.process_due_uploads()

    found = api.get("runs/", key=document["key"]).json()["results"]

    assert [run["upload_position"] for run in found] == [1, 2]


def test_bulk_uploads_may_contain_output(api, raw, run_document):
    answer = api.bulk([raw(), run_document()])
    processing.process_due_uploads()

    assert answer.json()["accepted"] == 2
    assert set(Run.objects.values_list("status", flat=True)) == {"parsed"}


def test_warnings_are_returned_with_their_run(api, raw):
    document = raw(
        output=" Timing cached reads: 1 MB in 0.01 seconds = 100.00 MB/sec\n"
    )
    Run.objects.filter(pk=api.post("runs/", document).json()["id"]).update(
        warnings=[{"code": "short", "sentence": "It ran 0.01 s only."}]
    )

    (run,) = api.get("runs/").json()["results"]

    assert run["warnings"] == [{"code": "short", "message": "It ran 0.01 s only."}]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"samples": [], "tool": "hdparm"}, "samples"),
        ({"output": ""}, "output"),
        ({"output": 7}, "output"),
        ({"locale": 7}, "locale"),
    ],
)
def test_invalid_fields_are_400(api, raw, changes, field):
    answer = api.post("runs/", raw(**changes))

    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])
    assert not Run.objects.exists()


def test_uploads_have_either_samples_or_output(api, run_document, raw):
    both = run_document(output=PRINTED)
    neither = {key: value for key, value in raw().items() if key != "output"}
    nameless = {key: value for key, value in run_document().items() if key != "tool"}
    placed = run_document(locale="de_DE")

    said = [
        api.post("runs/", document).json()["fields"]
        for document in (both, neither, nameless, placed)
    ]

    assert [list(fields) for fields in said] == [
        ["output"],
        ["samples"],
        ["tool"],
        ["locale"],
    ]


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"tool": "hdparn"}, "unknown_tool"), ({"locale": "xx"}, "unreadable_output")],
)
def test_unknown_names_are_422(api, raw, changes, code):
    answer = api.post("runs/", raw(**changes))

    assert (answer.status_code, answer.json()["code"]) == (422, code)
