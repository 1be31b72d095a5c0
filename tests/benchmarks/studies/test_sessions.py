"""Sessions of a study: named, derived from starts, and never what a person undid."""

from datetime import timedelta

import pytest

from benchmarks.models import Run, Session, Study
from benchmarks.studies import checking

AT_ONCE = timedelta(0)
AGENTS = "agent-0123456789ab"


def at(day, hour, minute=0):
    return f"2021-05-{day:02}T{hour:02}:{minute:02}:00Z"


@pytest.fixture
def upload(submit, run_document):
    """Take runs in, each with its start and what else is given, and check."""

    def take(*starts, **changes):
        documents = [
            run_document(started_at=start, **changes) if start else run_document()
            for start in starts
        ]
        runs = [submission.run_id for submission in submit(*documents)]
        checking.check_due_studies(AT_ONCE)
        return runs

    return take


def sittings():
    """Return the name of each run's session, by the order of the runs."""
    return list(Run.objects.order_by("pk").values_list("sitting__name", flat=True))


def test_runs_sit_where_their_starts_say_native_and_guests_together(upload, xen):
    upload(at(3, 8), at(3, 9))
    upload(at(3, 10), at(4, 8), system=xen)

    assert sittings() == [*["2021-05-03 08:00"] * 3, "2021-05-04 08:00"]
    first, second = Session.objects.order_by("name")
    assert first.origin == second.origin == "derived"
    assert first.host.slug == "alpha"
    assert second.reason == "22.0 hours after the run before"


def test_a_named_session_is_what_the_uploader_said(upload):
    upload(at(3, 8), at(9, 8), session="day 1")

    assert sittings() == ["day 1", "day 1"]
    assert Session.objects.get().origin == "named"


def test_runs_without_a_start_sit_nowhere(upload):
    upload(None, at(3, 8))

    assert sittings() == [None, "2021-05-03 08:00"]


def test_what_an_agent_calls_one_start_of_it_yields_to_the_time(upload):
    upload(at(3, 8), session=AGENTS)
    upload(at(3, 9), session=AGENTS.replace("0", "f"))

    assert sittings() == ["2021-05-03 08:00"] * 2
    assert Run.objects.first().session.name == AGENTS


def test_a_run_that_comes_later_joins_two_sessions_and_one_keeps_its_id(upload):
    upload(at(3, 8), at(3, 15), at(3, 16))
    afternoon = Session.objects.get(name="2021-05-03 15:00")

    upload(at(3, 12))

    assert sittings() == ["2021-05-03 08:00"] * 4
    assert Session.objects.get() == Session.objects.get(pk=afternoon.pk)


def test_an_earlier_run_gives_a_session_its_name_and_no_other_id(upload):
    upload(at(3, 8, 30))
    before = Session.objects.get()

    upload(at(3, 8))

    assert Session.objects.get().pk == before.pk
    assert sittings() == ["2021-05-03 08:00"] * 2


def test_the_order_of_uploads_changes_nothing(upload, study):
    starts = [at(3, 8), at(3, 13), at(3, 18), at(4, 9), at(4, 15, 30)]
    for start in starts:
        upload(start)
    forward = dict(Run.objects.values_list("started_at", "sitting__name"))
    Run.objects.all().delete()

    for start in reversed(starts):
        upload(start)

    assert dict(Run.objects.values_list("started_at", "sitting__name")) == forward


def test_another_kernel_of_the_host_begins_a_session(upload, xen):
    upload(at(3, 8), facts={"host_kernel": "5.10"})
    upload(at(3, 9), system=xen)
    upload(at(3, 10), facts={"host_kernel": "5.15"})

    assert sittings() == [*["2021-05-03 08:00"] * 2, "2021-05-03 10:00"]
    assert Session.objects.get(name="2021-05-03 10:00").reason == "kernel 5.10 to 5.15"


def test_hosts_have_sessions_of_their_own_with_names_that_tell_them_apart(upload, lab):
    lab.hosts.create(slug="beta")
    upload(at(3, 8), at(3, 20))
    upload(at(3, 8), system={"host": "beta"})

    assert sittings() == [
        "2021-05-03 08:00 (alpha)",
        "2021-05-03 20:00",
        "2021-05-03 08:00 (beta)",
    ]


def test_a_name_that_somebody_gave_before_stays_theirs(upload):
    upload(at(9, 8), session="2021-05-03 08:00")
    upload(at(3, 8))

    assert sittings() == ["2021-05-03 08:00", "2021-05-03 08:00 (alpha)"]


def test_who_names_a_derived_session_joins_it_for_good(upload):
    upload(at(3, 8), at(3, 9))
    derived = Session.objects.get()

    upload(at(9, 8), session="2021-05-03 08:00")
    upload(at(3, 10))

    assert sittings() == ["2021-05-03 08:00"] * 4
    session = Session.objects.get()
    assert (session.pk, session.origin) == (derived.pk, "named")


def test_a_session_that_lost_its_runs_goes(upload):
    (first, _) = upload(at(3, 8), at(4, 8))
    Run.objects.get(pk=first).delete()

    upload(at(4, 9))

    assert [one.name for one in Session.objects.all()] == ["2021-05-04 08:00"]


def test_checking_again_changes_nothing(upload, study):
    upload(at(3, 8), at(3, 9), at(4, 8), None)
    before = list(Session.objects.order_by("pk").values())

    checking.check_study(Study.objects.get(pk=study.pk))

    assert list(Session.objects.order_by("pk").values()) == before
