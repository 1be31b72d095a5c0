"""GET /flags/: findings with their evidence; PATCH: decisions about them."""

from datetime import timedelta

import pytest

from benchmarks.models import FlagDecision, Run
from benchmarks.studies import checking

MARK = {"code": "not_valid", "sentence": "The run was too short."}


@pytest.fixture
def flagged(submit, run_document):
    """Submit a run whose output contains a warning about itself."""
    (submission,) = submit(run_document())
    Run.objects.filter(pk=submission.run_id).update(warnings=[MARK])
    checking.check_due_studies(timedelta(0))
    return submission


def flag_of(api, **query):
    (flag,) = api.get("flags/", study="study", **query).json()["results"]
    return flag


def test_flags_have_a_message_and_evidence(anyone, flagged):
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


def test_flags_can_be_filtered(anyone, flagged):
    flag = flag_of(anyone)
    cell = anyone.get("cells/").json()["results"][0]["id"]

    assert flag_of(anyone, severity=flag["severity"], rule="tool-mark", cell=cell)
    assert anyone.get("flags/", status="confirmed").json()["results"] == []
    assert anyone.get("flags/", cell=cell + 1).json()["results"] == []


def test_decisions_are_stored_with_note_and_author(api, flagged):
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
def test_decisions_without_a_note_are_rejected(api, flagged, decision, status):
    answer = api.patch(f"flags/{flag_of(api)['id']}/", decision)

    assert answer.status_code == status
    assert not FlagDecision.objects.exists()


def test_other_labs_cannot_decide(stranger, anyone, flagged):
    decision = {"status": "dismissed", "note": "Not ours."}
    address = f"flags/{flag_of(anyone)['id']}/"

    assert stranger.patch(address, decision).status_code == 404
    assert anyone.patch(address, decision).status_code == 401


def test_read_tokens_cannot_decide(reader, flagged):
    address = f"flags/{flag_of(reader)['id']}/"

    assert reader.patch(address, {"status": "open", "note": "x"}).status_code == 403


def test_studies_count_unchecked_runs(anyone, submit, run_document):
    submit(run_document())
    assert anyone.get("studies/study/").json()["counts"]["unchecked_runs"] == 1

    checking.check_due_studies(timedelta(0))
    assert anyone.get("studies/study/").json()["counts"]["unchecked_runs"] == 0


def test_query_count_is_fixed(anyone, flagged, django_assert_num_queries):
    with django_assert_num_queries(3):
        anyone.get("flags/", study="study")
