"""GET /sessions/: sessions of runs; POST: corrections."""

from datetime import timedelta

import pytest

from benchmarks.models import AuditEntry, Run
from benchmarks.studies import checking


@pytest.fixture
def two_days(submit, run_document):
    """Submit two runs on one day and one on the next; return the ids."""
    starts = ["2021-05-03T08:00:00Z", "2021-05-03T09:00:00Z", "2021-05-04T08:00:00Z"]
    submissions = submit(*(run_document(started_at=start) for start in starts))
    checking.check_due_studies(timedelta(0))
    return [submission.run_id for submission in submissions]


def sessions(api, **query):
    return api.get("sessions/", **query).json()["results"]


def test_sessions_are_listed_with_a_reason(anyone, two_days):
    first, second = sessions(anyone, study="study")

    assert first["name"] == "2021-05-03 08:00"
    assert (first["origin"], first["host"], first["run_count"]) == (
        "derived",
        "alpha",
        2,
    )
    assert first["first_at"] == "2021-05-03T08:00:00Z"
    assert first["last_at"] == "2021-05-03T09:00:00Z"
    assert second["reason"] == "23.0 hours after the previous run"


def test_sessions_can_be_filtered(anyone, api, two_days):
    api.post("sessions/", {"study": "study", "name": "x", "run_ids": two_days[:1]})

    assert {one["name"] for one in sessions(anyone, origin="corrected")} == {
        "x",
        "2021-05-03 08:00",
    }
    assert len(sessions(anyone, origin="derived")) == 1
    assert sessions(anyone, origin="named") == []


def test_runs_have_declared_and_derived_sessions(anyone, two_days):
    first, _ = sessions(anyone)
    run = anyone.get(f"runs/{two_days[0]}/").json()

    assert (run["declared_session"], run["session"]) == ("", "2021-05-03 08:00")
    assert run["session_id"] == first["id"]
    listed = anyone.get("runs/", session=first["id"]).json()["results"]
    assert [one["id"] for one in listed] == two_days[:2]


def test_corrections_are_stored_with_their_author(api, two_days):
    answer = api.post(
        "sessions/",
        {
            "study": "study",
            "name": "by night",
            "run_ids": two_days[1:],
            "note": "Clock.",
        },
    )

    assert answer.status_code == 200
    session = answer.json()["session"]
    assert (session["name"], session["run_count"]) == ("by night", 2)
    assert session["reason"] == "combined by alice: Clock."
    assert AuditEntry.objects.get().actor == "alice"


def test_corrections_can_be_undone(api, two_days):
    api.post("sessions/", {"study": "study", "name": "x", "run_ids": two_days})

    answer = api.post("sessions/", {"study": "study", "name": "", "run_ids": two_days})

    assert answer.json() == {"session": None}
    assert [one["origin"] for one in sessions(api)] == ["derived", "derived"]


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"name": "x"}, 422),
        ({"name": "x", "run_ids": [999_999]}, 422),
        ({"name": "x", "run_ids": ["1"]}, 400),
        ({"name": "x", "run_ids": 1}, 400),
        ({"run_ids": [1]}, 400),
        ({"name": "x", "run_ids": [1], "session": 1}, 400),
        ({"name": "a\nb", "run_ids": [1]}, 400),
    ],
)
def test_invalid_corrections_are_rejected(api, two_days, said, status):
    answer = api.post("sessions/", {"study": "study", **said})

    assert answer.status_code == status
    assert not AuditEntry.objects.exists()


def test_other_labs_cannot_correct_sessions(stranger, reader, anyone, two_days):
    said = {"study": "study", "name": "x", "run_ids": two_days}

    assert stranger.post("sessions/", said).status_code == 404
    assert anyone.post("sessions/", said).status_code == 401
    assert reader.post("sessions/", said).status_code == 403
    assert not Run.objects.filter(session__name="x").exists()


def test_query_count_is_fixed(anyone, two_days, django_assert_num_queries):
    with django_assert_num_queries(2):
        anyone.get("sessions/", study="study")
