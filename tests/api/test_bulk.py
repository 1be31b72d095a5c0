"""/api/v1/runs/bulk/: all lines or none."""

import orjson
import pytest

from benchmarks.models import Run, RunOutput, System
from tests import job_queue


def test_it_takes_a_thousand_lines(api, run_document):
    documents = [run_document(value=10 + number) for number in range(1000)]

    answer = api.bulk(documents)

    body = answer.json()
    assert answer.status_code == 202
    assert (body["accepted"], body["repeated"]) == (1000, 0)
    assert [each["key"] for each in body["runs"]] == [each["key"] for each in documents]
    assert [each["line"] for each in body["runs"]] == list(range(1, 1001))
    assert {each["status"] for each in body["runs"]} == {"received"}
    assert Run.objects.count() == job_queue.waiting("upload").count() == 1000
    assert System.objects.count() == 1


def test_it_counts_what_was_here_already(api, run_document):
    known = run_document()
    pk = api.post("runs/", known).json()["id"]

    body = api.bulk([run_document(), known]).json()

    assert (body["accepted"], body["repeated"]) == (1, 1)
    assert body["runs"][1]["id"] == pk
    assert Run.objects.count() == 2


def test_the_same_bulk_again_stores_nothing_twice(api, run_document):
    documents = [run_document() for _ in range(5)]
    first = api.bulk(documents).json()

    again = api.bulk(documents).json()

    assert (again["accepted"], again["repeated"]) == (0, 5)
    assert again["runs"] == first["runs"]
    assert RunOutput.objects.count() == 5


def test_it_takes_packed_lines(api, run_document):
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
def test_one_bad_line_of_a_thousand_stores_nothing(
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


def test_it_names_lines_as_an_editor_does(api, run_document):
    good, bad = orjson.dumps(run_document()), orjson.dumps(run_document(tool="x"))

    body = api.bulk([b"", good, b"  ", bad]).json()

    assert list(body["fields"]) == ["line 4"]


def test_every_bad_line_is_named(api, run_document):
    body = api.bulk(
        [run_document(tool="x"), run_document(), run_document(study="y")]
    ).json()

    assert {line: each["code"] for line, each in body["fields"].items()} == {
        "line 1": "unknown_tool",
        "line 3": "unknown_study",
    }


def test_a_key_reused_with_another_body_is_409(api, run_document):
    known = run_document()
    api.post("runs/", known)

    answer = api.bulk([run_document(), {**known, "note": "changed"}])

    assert answer.status_code == 409
    assert answer.json()["fields"]["line 2"]["code"] == "key_reused"
    assert Run.objects.count() == 1


def test_one_key_twice_in_a_bulk_is_one_run(api, run_document):
    document = run_document()

    body = api.bulk([document, document]).json()

    assert (body["accepted"], body["repeated"]) == (1, 1)
    assert body["runs"][0]["id"] == body["runs"][1]["id"]


def test_one_key_twice_with_other_bodies_is_409(api, run_document):
    document = run_document()

    answer = api.bulk([document, {**document, "note": "changed"}])

    assert answer.status_code == 409
    assert not Run.objects.exists()


def test_more_than_ten_thousand_lines_are_413(api, db):
    answer = api.bulk([b"{}"] * 10_001)

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_json_is_not_ndjson(api, run_document):
    answer = api.post("runs/bulk/", run_document())

    assert answer.status_code == 415


def test_it_needs_a_token(anyone, run_document):
    assert anyone.bulk([run_document()]).status_code == 401


def test_it_cannot_be_read(anyone, db):
    assert anyone.get("runs/bulk/").status_code == 405
