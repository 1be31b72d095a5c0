"""GET /sessions/: the sessions of runs; POST: a correction."""

from datetime import timedelta

import pytest

from benchmarks.models import AuditEntry, Run
from benchmarks.studies import checking


@pytest.fixture
def sat(submit, run_document):
    """Two runs of one day and one of the next; the runs' ids."""
    starts = ["2021-05-03T08:00:00Z", "2021-05-03T09:00:00Z", "2021-05-04T08:00:00Z"]
    submissions = submit(*(run_document(started_at=start) for start in starts))
    checking.check_due_studies(timedelta(0))
    return [submission.run_id for submission in submissions]


def sessions(api, **query):
    return api.get("sessions/", **query).json()["results"]


def test_it_lists_sessions_with_why_they_begin(anyone, sat):
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


def test_it_can_be_narrowed(anyone, api, sat):
    api.post("sessions/", {"study": "study", "name": "x", "run_ids": sat[:1]})

    assert {one["name"] for one in sessions(anyone, origin="corrected")} == {
        "x",
        "2021-05-03 08:00",
    }
    assert len(sessions(anyone, origin="derived")) == 1
    assert sessions(anyone, origin="named") == []


def test_a_run_says_what_was_named_and_where_it_counts(anyone, sat):
    first, _ = sessions(anyone)
    run = anyone.get(f"runs/{sat[0]}/").json()

    assert (run["declared_session"], run["session"]) == ("", "2021-05-03 08:00")
    assert run["session_id"] == first["id"]
    listed = anyone.get("runs/", session=first["id"]).json()["results"]
    assert [one["id"] for one in listed] == sat[:2]


def test_a_correction_is_kept_with_its_author(api, sat):
    answer = api.post(
        "sessions/",
        {"study": "study", "name": "by night", "run_ids": sat[1:], "note": "Clock."},
    )

    assert answer.status_code == 200
    session = answer.json()["session"]
    assert (session["name"], session["run_count"]) == ("by night", 2)
    assert session["reason"] == "combined by alice: Clock."
    assert AuditEntry.objects.get().actor == "alice"


def test_without_a_name_it_is_taken_back(api, sat):
    api.post("sessions/", {"study": "study", "name": "x", "run_ids": sat})

    answer = api.post("sessions/", {"study": "study", "name": "", "run_ids": sat})

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
def test_a_correction_that_cannot_be_is_refused(api, sat, said, status):
    answer = api.post("sessions/", {"study": "study", **said})

    assert answer.status_code == status
    assert not AuditEntry.objects.exists()


def test_another_lab_cannot_correct(stranger, reader, anyone, sat):
    said = {"study": "study", "name": "x", "run_ids": sat}

    assert stranger.post("sessions/", said).status_code == 404
    assert anyone.post("sessions/", said).status_code == 401
    assert reader.post("sessions/", said).status_code == 403
    assert not Run.objects.filter(session__name="x").exists()


def test_queries_are_fixed(anyone, sat, django_assert_num_queries):
    with django_assert_num_queries(2):
        anyone.get("sessions/", study="study")
