"""What people say of sessions is kept, whatever is derived or uploaded afterwards."""

from datetime import timedelta

import pytest

from benchmarks.errors import InvalidError
from benchmarks.models import AuditEntry, CellSession, Run, Session
from benchmarks.studies import checking
from benchmarks.studies.session_corrections import correct_sessions
from tests.benchmarks.studies.test_sessions import AGENTS, at, sittings

AT_ONCE = timedelta(0)


@pytest.fixture
def upload(submit, run_document):
    """Take runs in, each with its start and what else is given, and check."""

    def take(*starts, **changes):
        documents = [run_document(started_at=start, **changes) for start in starts]
        runs = [submission.run_id for submission in submit(*documents)]
        checking.check_due_studies(AT_ONCE)
        return runs

    return take


@pytest.fixture
def correct(study, person):
    """Carol corrects; the check that follows is done."""

    def corrected(name, **which):
        session = correct_sessions(
            study=study, name=name, who="carol", person=person, **which
        )
        checking.check_due_studies(AT_ONCE)
        return session

    return corrected


def test_runs_are_put_into_a_session_of_their_own(upload, correct):
    runs = upload(at(3, 8), at(3, 9), at(3, 10))

    session = correct("by night", runs=runs[2:], note="The clock was wrong.")

    assert sittings() == ["2021-05-03 08:00", "2021-05-03 08:00", "by night"]
    assert session.origin == "corrected"
    assert session.reason == "put together by carol: The clock was wrong."


def test_what_cells_say_follows(upload, correct):
    runs = upload(at(3, 8), at(3, 9), at(3, 10))

    correct("by night", runs=runs[2:])

    rows = CellSession.objects.order_by("n")
    assert [(str(one.session), one.n) for one in rows] == [
        ("by night", 1),
        ("2021-05-03 08:00", 2),
    ]


def test_a_check_leaves_it_as_it_is(upload, correct):
    runs = upload(at(3, 8), at(3, 9), at(3, 10))
    correct("by night", runs=runs[1:2])
    before = sittings()

    upload(at(8, 8))

    assert sittings()[:3] == before


def test_two_sessions_are_joined_and_the_name_is_chosen(upload, correct):
    upload(at(3, 8), at(4, 8))

    correct("one weekend", sessions=Session.objects.values_list("pk", flat=True))

    assert sittings() == ["one weekend"] * 2
    assert [one.name for one in Session.objects.all()] == ["one weekend"]


def test_a_session_that_is_meant_as_a_whole_is_renamed(upload, correct):
    upload(at(3, 8), at(3, 9))
    before = Session.objects.get()

    correct("first day", sessions=[before.pk])

    after = Session.objects.get()
    assert (after.pk, after.name, after.origin) == (before.pk, "first day", "corrected")


def test_a_run_that_comes_later_follows_its_neighbours(upload, correct):
    runs = upload(at(3, 8), at(3, 9), at(3, 13))
    correct("morning", runs=runs[:2])

    upload(at(3, 9, 30), at(3, 12))

    assert sittings()[3:] == ["morning", "2021-05-03 08:00"]


def test_runs_of_a_name_can_be_moved_and_later_ones_go_there_too(upload, correct):
    runs = upload(at(3, 8), at(3, 9), session="day 1")
    correct("day one", runs=runs)

    upload(at(3, 10), session="day 1")

    assert sittings() == ["day one"] * 3
    assert {run.session.name for run in Run.objects.all()} == {"day 1"}


def test_one_run_that_is_moved_takes_no_later_ones_with_it(upload, correct):
    runs = upload(at(3, 8), at(3, 9), session="day 1")
    correct("day one", runs=runs[:1])

    upload(at(3, 10), session="day 1")

    assert sittings() == ["day one", "day 1", "day 1"]


def test_a_named_run_that_is_moved_leaves_derived_ones_where_they_are(upload, correct):
    named = upload(at(3, 8), session="day 1")
    upload(at(3, 9))

    correct("day one", runs=named)

    assert sittings() == ["day one", "2021-05-03 09:00"]


def test_runs_can_join_what_an_uploader_named(upload, correct):
    upload(at(3, 8), session="day 1")
    later = upload(at(3, 9))

    session = correct("day 1", runs=later)

    assert sittings() == ["day 1", "day 1"]
    assert (session.origin, session.reason) == ("named", "")
    upload(at(3, 10))
    assert sittings() == ["day 1"] * 3


def test_what_an_agent_named_may_be_meant(upload, correct):
    runs = upload(at(3, 8), session=AGENTS)

    correct(AGENTS, runs=runs)

    assert sittings() == [AGENTS]


@pytest.mark.parametrize("named", [{}, {"session": "day 1"}, {"session": AGENTS}])
def test_a_correction_can_be_taken_back(upload, correct, named):
    runs = upload(at(3, 8), at(3, 9), **named)
    before = sittings()
    correct("first", runs=runs[:1])
    correct("second", runs=runs[1:])

    assert correct("", runs=runs) is None

    assert sittings() == before
    assert not Session.objects.filter(origin="corrected").exists()


def test_it_is_audited(upload, correct, lab):
    runs = upload(at(3, 8), at(3, 9))

    correct("first day", runs=runs, note="It was one day.")

    entry = AuditEntry.objects.get()
    assert (entry.lab, entry.who, entry.kind) == (lab, "carol", "corrected_session")
    assert entry.about == (f"study, first day: {runs[0]}, {runs[1]} (It was one day.)")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"name": "x"}, "Name the runs"),
        ({"name": "x", "runs": [999_999]}, "has no run 999999"),
        ({"name": "x", "sessions": [999_999]}, "has no session 999999"),
        ({"name": "x" * 201, "runs": []}, "has 201 letters"),
        ({"name": "a\u202eb", "runs": []}, "character 2"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(upload, study, said, sentence):
    upload(at(3, 8))

    with pytest.raises(InvalidError, match=sentence):
        correct_sessions(study=study, who="carol", **said)
    assert not AuditEntry.objects.exists()


def test_a_new_session_is_not_called_as_agents_call_theirs(upload, study):
    runs = upload(at(3, 8))

    with pytest.raises(InvalidError, match="choose another name"):
        correct_sessions(study=study, who="carol", name=AGENTS, runs=runs)


def test_runs_of_another_study_are_unknown_here(upload, private_study):
    runs = upload(at(3, 8))

    with pytest.raises(InvalidError, match="secret-study has no run"):
        correct_sessions(study=private_study, who="carol", name="x", runs=runs)
