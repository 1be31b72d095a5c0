"""/runs/bulk/: all lines are stored, or none."""

import orjson
import pytest

from benchmarks.models import Run, RunOutput, System
from tests import job_queue


def test_a_thousand_lines_are_stored(api, run_document):
    documents = [run_document(value=10 + number) for number in range(1000)]

    answer = api.bulk(documents)

    body = answer.json()
    assert answer.status_code == 202
    assert (body["accepted"], body["repeated"]) == (1000, 0)
    assert [row["key"] for row in body["runs"]] == [row["key"] for row in documents]
    assert [row["line"] for row in body["runs"]] == list(range(1, 1001))
    assert {row["status"] for row in body["runs"]} == {"received"}
    assert Run.objects.count() == job_queue.waiting("upload").count() == 1000
    assert System.objects.count() == 1


def test_repeated_runs_are_counted(api, run_document):
    known = run_document()
    pk = api.post("runs/", known).json()["id"]

    body = api.bulk([run_document(), known]).json()

    assert (body["accepted"], body["repeated"]) == (1, 1)
    assert body["runs"][1]["id"] == pk
    assert Run.objects.count() == 2


def test_repeated_bulk_uploads_store_nothing(api, run_document):
    documents = [run_document() for _ in range(5)]
    first = api.bulk(documents).json()

    again = api.bulk(documents).json()

    assert (again["accepted"], again["repeated"]) == (0, 5)
    assert again["runs"] == first["runs"]
    assert RunOutput.objects.count() == 5


def test_gzipped_lines_are_accepted(api, run_document):
    raw = b"\n".join(orjson.dumps(run_document()) for _ in range(3))

    answer = api.packed("runs/bulk/", raw, content_type="application/x-ndjson")

    assert answer.json()["accepted"] == 3


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"tool": "nosuchtool"}, 422, "unknown_tool"),
        ({"study": "missing"}, 422, "unknown_study"),
        ({"value": -5}, 422, "value_rejected"),
        ({"key": "x"}, 400, "invalid"),
        ({"tool": 5}, 400, "invalid"),
    ],
)
def test_one_invalid_line_of_a_thousand_rejects_all(
    api, run_document, changes, status, code
):
    documents = [run_document() for _ in range(1000)]
    documents[16] = run_document(**changes)

    answer = api.bulk(documents)

    body = answer.json()
    assert (answer.status_code, body["code"]) == (status, "lines_rejected")
    assert list(body["fields"]) == ["line 17"]
    assert body["fields"]["line 17"]["code"] == code
    assert body["detail"].startswith("Nothing was stored: 1 line is wrong. Line 17: ")
    assert not Run.objects.exists()
    assert not job_queue.waiting("upload").exists()
    assert not System.objects.exists()


def test_lines_are_numbered_as_in_an_editor(api, run_document):
    good, bad = orjson.dumps(run_document()), orjson.dumps(run_document(tool="x"))

    body = api.bulk([b"", good, b"  ", bad]).json()

    assert list(body["fields"]) == ["line 4"]


def test_all_invalid_lines_are_listed(api, run_document):
    body = api.bulk(
        [run_document(tool="x"), run_document(), run_document(study="y")]
    ).json()

    assert {line: row["code"] for line, row in body["fields"].items()} == {
        "line 1": "unknown_tool",
        "line 3": "unknown_study",
    }


def test_known_keys_with_other_content_are_409(api, run_document):
    known = run_document()
    api.post("runs/", known)

    answer = api.bulk([run_document(), {**known, "note": "changed"}])

    assert answer.status_code == 409
    assert answer.json()["fields"]["line 2"]["code"] == "key_reused"
    assert Run.objects.count() == 1


def test_equal_lines_are_one_run(api, run_document):
    document = run_document()

    body = api.bulk([document, document]).json()

    assert (body["accepted"], body["repeated"]) == (1, 1)
    assert body["runs"][0]["id"] == body["runs"][1]["id"]


def test_equal_keys_with_different_content_are_409(api, run_document):
    document = run_document()

    answer = api.bulk([document, {**document, "note": "changed"}])

    assert answer.status_code == 409
    assert not Run.objects.exists()


def test_more_than_ten_thousand_lines_are_413(api, db):
    answer = api.bulk([b"{}"] * 10_001)

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_json_content_type_is_rejected(api, run_document):
    answer = api.post("runs/bulk/", run_document())

    assert answer.status_code == 415


def test_bulk_uploads_require_a_token(anyone, run_document):
    assert anyone.bulk([run_document()]).status_code == 401


def test_get_is_not_allowed(anyone, db):
    assert anyone.get("runs/bulk/").status_code == 405
