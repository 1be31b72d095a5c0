"""GET /flags/: doubts with their evidence; PATCH: what somebody decides."""

from datetime import timedelta

import pytest

from benchmarks.models import FlagDecision, Run
from benchmarks.studies import checking

MARK = {"code": "not_valid", "sentence": "The run was too short."}


@pytest.fixture
def flagged(submit, run_document):
    """A study whose only run doubts itself."""
    (submission,) = submit(run_document())
    Run.objects.filter(pk=submission.run_id).update(warnings=[MARK])
    checking.check_due_studies(timedelta(0))
    return submission


def flag_of(api, **query):
    (flag,) = api.get("flags/", study="study", **query).json()["results"]
    return flag


def test_it_shows_what_is_doubted_and_why(anyone, flagged):
    flag = flag_of(anyone)

    assert (flag["rule"], flag["status"], flag["decisions"]) == (
        "tool-mark",
        "open",
        [],
    )
    assert "too short" in flag["message"]
    assert {"kind": "run", "id": str(flagged.run_id)} in flag["subjects"]
    assert flag["evidence"]
    assert flag["documentation"]


def test_it_can_be_narrowed(anyone, flagged):
    flag = flag_of(anyone)
    cell = anyone.get("cells/").json()["results"][0]["id"]

    assert flag_of(anyone, severity=flag["severity"], rule="tool-mark", cell=cell)
    assert anyone.get("flags/", status="confirmed").json()["results"] == []
    assert anyone.get("flags/", cell=cell + 1).json()["results"] == []


def test_a_decision_is_kept_with_its_note_and_author(api, flagged):
    number = flag_of(api)["id"]

    answer = api.patch(
        f"flags/{number}/", {"status": "dismissed", "note": "Warm-up only."}
    )

    assert answer.status_code == 200
    flag = answer.json()
    (decision,) = flag["decisions"]
    assert flag["status"] == decision["status"] == "dismissed"
    assert (decision["note"], decision["decided_by"]) == ("Warm-up only.", "alice")


@pytest.mark.parametrize(
    ("decision", "status"),
    [
        ({"status": "dismissed"}, 400),
        ({"status": "gone", "note": "x"}, 400),
        ({"status": "dismissed", "note": ""}, 400),
        ({"note": "x"}, 400),
    ],
)
def test_a_decision_without_reason_is_refused(api, flagged, decision, status):
    answer = api.patch(f"flags/{flag_of(api)['id']}/", decision)

    assert answer.status_code == status
    assert not FlagDecision.objects.exists()


def test_another_lab_cannot_decide(stranger, anyone, flagged):
    decision = {"status": "dismissed", "note": "Not ours."}
    address = f"flags/{flag_of(anyone)['id']}/"

    assert stranger.patch(address, decision).status_code == 404
    assert anyone.patch(address, decision).status_code == 401


def test_a_reading_token_cannot_decide(reader, flagged):
    address = f"flags/{flag_of(reader)['id']}/"

    assert reader.patch(address, {"status": "open", "note": "x"}).status_code == 403


def test_a_study_says_whether_its_flags_are_up_to_date(anyone, submit, run_document):
    submit(run_document())
    assert anyone.get("studies/study/").json()["counts"]["unchecked_runs"] == 1

    checking.check_due_studies(timedelta(0))
    assert anyone.get("studies/study/").json()["counts"]["unchecked_runs"] == 0


def test_queries_are_fixed(anyone, flagged, django_assert_num_queries):
    with django_assert_num_queries(3):
        anyone.get("flags/", study="study")
