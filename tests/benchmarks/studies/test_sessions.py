"""Sessions of a study: declared, or derived from start times."""

from datetime import timedelta

import pytest

from benchmarks.models import CellSession, Run, Session, Study
from benchmarks.studies import checking

AT_ONCE = timedelta(0)
AGENTS = "agent-0123456789ab"


def at(day, hour, minute=0):
    return f"2021-05-{day:02}T{hour:02}:{minute:02}:00Z"


@pytest.fixture
def upload(submit, run_document):
    """Upload runs with start times and other fields, and run the check."""

    def take(*starts, **changes):
        documents = [
            run_document(started_at=start, **changes) if start else run_document()
            for start in starts
        ]
        runs = [submission.run_id for submission in submit(*documents)]
        checking.check_due_studies(AT_ONCE)
        return runs

    return take


def session_names():
    """Return the session names of the runs, in order."""
    return list(Run.objects.order_by("pk").values_list("session__name", flat=True))


def test_sessions_are_derived_from_start_times_per_host(upload, xen):
    upload(at(3, 8), at(3, 9))
    upload(at(3, 10), at(4, 8), system=xen)

    assert session_names() == [*["2021-05-03 08:00"] * 3, "2021-05-04 08:00"]
    first, second = Session.objects.order_by("name")
    assert first.origin == second.origin == "derived"
    assert first.host.slug == "alpha"
    assert second.reason == "22.0 hours after the previous run"


def test_declared_session_is_kept(upload):
    upload(at(3, 8), at(9, 8), session="day 1")

    assert session_names() == ["day 1", "day 1"]
    assert Session.objects.get().origin == "named"


def test_runs_without_start_have_no_session(upload):
    upload(None, at(3, 8))

    assert session_names() == [None, "2021-05-03 08:00"]


def test_session_of_an_agent_start_is_derived_from_time(upload):
    upload(at(3, 8), session=AGENTS)
    upload(at(3, 9), session=AGENTS.replace("0", "f"))

    assert session_names() == ["2021-05-03 08:00"] * 2
    assert Run.objects.first().declared_session.name == AGENTS


def test_later_run_merges_two_sessions(upload):
    upload(at(3, 8), at(3, 15), at(3, 16))
    afternoon = Session.objects.get(name="2021-05-03 15:00")

    upload(at(3, 12))

    assert session_names() == ["2021-05-03 08:00"] * 4
    assert Session.objects.get() == Session.objects.get(pk=afternoon.pk)


def test_earlier_run_renames_its_session(upload):
    upload(at(3, 8, 30))
    before = Session.objects.get()

    upload(at(3, 8))

    assert Session.objects.get().pk == before.pk
    assert session_names() == ["2021-05-03 08:00"] * 2


def test_order_of_uploads_does_not_matter(upload, study):
    starts = [at(3, 8), at(3, 13), at(3, 18), at(4, 9), at(4, 15, 30)]
    for start in starts:
        upload(start)
    forward = dict(Run.objects.values_list("started_at", "session__name"))
    Run.objects.all().delete()

    for start in reversed(starts):
        upload(start)

    assert dict(Run.objects.values_list("started_at", "session__name")) == forward


def test_another_host_kernel_starts_a_session(upload, xen):
    upload(at(3, 8), facts={"host_kernel": "5.10"})
    upload(at(3, 9), system=xen)
    upload(at(3, 10), facts={"host_kernel": "5.15"})

    assert session_names() == [*["2021-05-03 08:00"] * 2, "2021-05-03 10:00"]
    assert (
        Session.objects.get(name="2021-05-03 10:00").reason
        == "kernel changed from 5.10 to 5.15"
    )


def test_sessions_of_hosts_have_different_names(upload, lab):
    lab.hosts.create(slug="beta")
    upload(at(3, 8), at(3, 20))
    upload(at(3, 8), system={"host": "beta"})

    assert session_names() == [
        "2021-05-03 08:00 (alpha)",
        "2021-05-03 20:00",
        "2021-05-03 08:00 (beta)",
    ]


def test_existing_session_names_are_not_reused(upload):
    upload(at(9, 8), session="2021-05-03 08:00")
    upload(at(3, 8))

    assert session_names() == ["2021-05-03 08:00", "2021-05-03 08:00 (alpha)"]


def test_declaring_a_derived_session_makes_it_permanent(upload):
    upload(at(3, 8), at(3, 9))
    derived = Session.objects.get()

    upload(at(9, 8), session="2021-05-03 08:00")
    upload(at(3, 10))

    assert session_names() == ["2021-05-03 08:00"] * 4
    session = Session.objects.get()
    assert (session.pk, session.origin) == (derived.pk, "named")


def test_session_without_runs_is_deleted(upload):
    (first, _) = upload(at(3, 8), at(4, 8))
    Run.objects.get(pk=first).delete()

    upload(at(4, 9))

    assert [one.name for one in Session.objects.all()] == ["2021-05-04 08:00"]


def test_checking_again_changes_nothing(upload, study):
    upload(at(3, 8), at(3, 9), at(4, 8), None)
    before = list(Session.objects.order_by("pk").values())

    checking.check_study(Study.objects.get(pk=study.pk))

    assert list(Session.objects.order_by("pk").values()) == before


def test_named_sessions_of_one_afternoon_count_as_one(upload, study):
    for number, name in enumerate(("first", "second", "third")):
        upload(at(3, 13, 10 * number), at(3, 13, 10 * number + 5), session=name)
    first, second, third = Session.objects.order_by("name")

    assert [session.counted_with for session in (first, second, third)] == [
        *(None, first, first),
    ]
    assert second.counted_reason
    assert set(Run.objects.values_list("session__name", flat=True)) == {
        *("first", "second", "third")
    }
    row = CellSession.objects.get()
    assert (row.session, row.n) == (first, 6)


def test_a_later_run_can_join_sessions_that_counted_separately(upload, study):
    upload(at(3, 8), session="morning")
    upload(at(3, 18), session="evening")
    assert CellSession.objects.count() == 2

    upload(at(3, 13))

    assert CellSession.objects.get().n == 3
    assert Session.objects.filter(counted_with__name="morning").count() == 2
