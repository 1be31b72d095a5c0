"""Corrections of sessions are kept by later checks and uploads."""

from datetime import timedelta

import pytest

from benchmarks.errors import InvalidError
from benchmarks.models import AuditEntry, CellSession, Run, Session
from benchmarks.studies import checking
from benchmarks.studies.session_corrections import correct_sessions
from tests.benchmarks.studies.test_sessions import AGENTS, at, session_names

AT_ONCE = timedelta(0)


@pytest.fixture
def upload(submit, run_document):
    """Upload runs with start times and other fields, and run the check."""

    def take(*starts, **changes):
        documents = [run_document(started_at=start, **changes) for start in starts]
        runs = [submission.run_id for submission in submit(*documents)]
        checking.check_due_studies(AT_ONCE)
        return runs

    return take


@pytest.fixture
def correct(study, person):
    """Correct sessions as Carol, and run the check."""

    def corrected(name, **which):
        session = correct_sessions(
            study=study, name=name, actor="carol", person=person, **which
        )
        checking.check_due_studies(AT_ONCE)
        return session

    return corrected


def test_runs_are_moved_to_a_new_session(upload, correct):
    runs = upload(at(3, 8), at(3, 9), at(3, 10))

    session = correct("by night", runs=runs[2:], note="The clock was wrong.")

    assert session_names() == ["2021-05-03 08:00", "2021-05-03 08:00", "by night"]
    assert session.origin == "corrected"
    assert session.reason == "combined by carol: The clock was wrong."


def test_cells_follow_a_correction(upload, correct):
    runs = upload(at(3, 8), at(3, 9), at(3, 20))
    correct("one day", runs=runs)

    correct("by night", runs=runs[2:])

    rows = CellSession.objects.order_by("n")
    assert [(str(one.session), one.n) for one in rows] == [
        ("by night", 1),
        ("one day", 2),
    ]


def test_check_keeps_a_correction(upload, correct):
    runs = upload(at(3, 8), at(3, 9), at(3, 10))
    correct("by night", runs=runs[1:2])
    before = session_names()

    upload(at(8, 8))

    assert session_names()[:3] == before


def test_two_sessions_are_merged_under_a_given_name(upload, correct):
    upload(at(3, 8), at(4, 8))

    correct("one weekend", sessions=Session.objects.values_list("pk", flat=True))

    assert session_names() == ["one weekend"] * 2
    assert [one.name for one in Session.objects.all()] == ["one weekend"]


def test_completely_selected_session_is_renamed(upload, correct):
    upload(at(3, 8), at(3, 9))
    before = Session.objects.get()

    correct("first day", sessions=[before.pk])

    after = Session.objects.get()
    assert (after.pk, after.name, after.origin) == (before.pk, "first day", "corrected")


def test_later_run_joins_the_corrected_session(upload, correct):
    runs = upload(at(3, 8), at(3, 9), at(3, 13))
    correct("morning", runs=runs[:2])

    upload(at(3, 9, 30), at(3, 12))

    assert session_names()[3:] == ["morning", "2021-05-03 08:00"]


def test_later_runs_of_a_moved_declared_session_follow(upload, correct):
    runs = upload(at(3, 8), at(3, 9), session="day 1")
    correct("day one", runs=runs)

    upload(at(3, 10), session="day 1")

    assert session_names() == ["day one"] * 3
    assert {run.declared_session.name for run in Run.objects.all()} == {"day 1"}


def test_moving_one_run_does_not_move_later_runs(upload, correct):
    runs = upload(at(3, 8), at(3, 9), session="day 1")
    correct("day one", runs=runs[:1])

    upload(at(3, 10), session="day 1")

    assert session_names() == ["day one", "day 1", "day 1"]


def test_moving_a_declared_run_keeps_derived_sessions(upload, correct):
    named = upload(at(3, 8), session="day 1")
    upload(at(3, 9))

    correct("day one", runs=named)

    assert session_names() == ["day one", "2021-05-03 09:00"]


def test_runs_can_join_a_declared_session(upload, correct):
    upload(at(3, 8), session="day 1")
    later = upload(at(3, 9))

    session = correct("day 1", runs=later)

    assert session_names() == ["day 1", "day 1"]
    assert (session.origin, session.reason) == ("named", "")
    upload(at(3, 10))
    assert session_names() == ["day 1"] * 3


def test_session_of_an_agent_can_be_selected(upload, correct):
    runs = upload(at(3, 8), session=AGENTS)

    correct(AGENTS, runs=runs)

    assert session_names() == [AGENTS]


@pytest.mark.parametrize("named", [{}, {"session": "day 1"}, {"session": AGENTS}])
def test_correction_can_be_undone(upload, correct, named):
    runs = upload(at(3, 8), at(3, 9), **named)
    before = session_names()
    correct("first", runs=runs[:1])
    correct("second", runs=runs[1:])

    assert correct("", runs=runs) is None

    assert session_names() == before
    assert not Session.objects.filter(origin="corrected").exists()


def test_correction_is_audited(upload, correct, lab):
    runs = upload(at(3, 8), at(3, 9))

    correct("first day", runs=runs, note="It was one day.")

    entry = AuditEntry.objects.get()
    assert (entry.lab, entry.actor, entry.kind) == (lab, "carol", "corrected_session")
    assert entry.about == (f"study, first day: {runs[0]}, {runs[1]} (It was one day.)")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"name": "x"}, "Name the runs"),
        ({"name": "x", "runs": [999_999]}, "has no run 999999"),
        ({"name": "x", "sessions": [999_999]}, "has no session 999999"),
        ({"name": "x" * 201, "runs": []}, "has 201 characters"),
        ({"name": "a\u202eb", "runs": []}, "position 2"),
    ],
)
def test_invalid_corrections_are_rejected_with_a_message(upload, study, said, sentence):
    upload(at(3, 8))

    with pytest.raises(InvalidError, match=sentence):
        correct_sessions(study=study, actor="carol", **said)
    assert not AuditEntry.objects.exists()


def test_names_of_agent_sessions_are_reserved(upload, study):
    runs = upload(at(3, 8))

    with pytest.raises(InvalidError, match="Choose another name"):
        correct_sessions(study=study, actor="carol", name=AGENTS, runs=runs)


def test_runs_of_another_study_are_unknown(upload, private_study):
    runs = upload(at(3, 8))

    with pytest.raises(InvalidError, match="secret-study has no run"):
        correct_sessions(study=private_study, actor="carol", name="x", runs=runs)
