"""The sessions of a study, and corrections by editors."""

from datetime import timedelta

import pytest

from benchmarks.models import Membership, Run, Session
from benchmarks.studies import checking
from dashboard.pages.sessions.views import sessions_answer
from tests.benchmarks.studies.test_sessions import at, session_names

PAGE = "/studies/alpha-lab/study/sessions/"


@pytest.fixture
def three(submit, run_document, xen):
    """Submit two runs of one day, one of each side, and one of the next day."""
    submit(
        run_document(started_at=at(3, 8)),
        run_document(started_at=at(3, 9), system=xen),
        run_document(started_at=at(4, 8)),
    )
    checking.check_due_studies(timedelta(0))
    return Run.objects.order_by("pk")


@pytest.fixture
def correct(client, person):
    """Submit the form as Carol; return the following page."""
    client.force_login(person)
    return lambda **sent: client.post(f"{PAGE}correct/", sent, follow=True)


def shown(answer):
    page = answer.context["page"]
    return {one.name: (one.run_count, one.system_count) for one in page["sessions"]}


def test_shows_runs_and_origin_of_each_session(client, three):
    answer = client.get(PAGE)

    assert shown(answer) == {"2021-05-03 08:00": (2, 2), "2021-05-04 08:00": (1, 1)}
    page = answer.content.decode()
    assert " hours after the previous run" in page
    assert "derived" in page
    assert "Correct" not in page


def test_open_session_lists_runs(client, three):
    answer = client.get(PAGE, {"session": three[0].session_id})

    assert [run.pk for run in answer.context["page"]["runs"]] == [
        three[0].pk,
        three[1].pk,
    ]


@pytest.mark.parametrize("wanted", ["999999", "x"])
def test_unknown_session_is_reported(client, three, wanted):
    answer = client.get(PAGE, {"session": wanted})

    assert answer.context["page"]["ignored_parameters"] == [f"session={wanted}"]


def test_runs_without_start_are_listed(client, submit, run_document):
    submit(run_document(), run_document())
    checking.check_due_studies(timedelta(0))

    page = client.get(PAGE, {"session": "none"}).context["page"]

    assert (page["unknown"], len(page["runs"]), page["sessions"]) == (2, 2, [])


def test_two_sessions_are_merged_with_name(correct, three):
    ids = Session.objects.values_list("pk", flat=True)

    answer = correct(sessions=list(ids), name="weekend", note="One night.")

    assert shown(answer) == {"weekend": (3, 2)}
    assert "combined by carol: One night." in answer.content.decode()


def test_run_is_split_off(correct, three):
    correct(run=[three[1].pk], name="by night")

    assert session_names() == ["2021-05-03 08:00", "by night", "2021-05-04 08:00"]


def test_session_is_renamed_and_reset(correct, three):
    correct(sessions=three[0].session_id, name="first day")
    assert session_names()[0] == "first day"

    correct(sessions=Session.objects.get(name="first day").pk, do="undo")

    assert session_names()[0] == "2021-05-03 08:00"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"name": "a day"}, "No runs are selected"),
        ({"name": " ", "run": "1"}, "Enter a session name"),
        ({"name": "a day", "run": "999999"}, "has no run 999999"),
        ({"name": "a day", "sessions": "x"}, "has no session 0"),
    ],
)
def test_errors_are_shown(correct, three, sent, why):
    before = session_names()

    answer = correct(**sent, opened=three[0].session_id)

    assert why in answer.content.decode()
    assert answer.context["page"]["opened"].pk == three[0].session_id
    assert session_names() == before


def test_others_cannot_correct(client, correct, three, person, other_lab):
    Membership.objects.update(role=Membership.Role.VIEWER)
    assert correct(run=three[0].pk, name="mine").status_code == 404
    Membership.objects.update(role=Membership.Role.ADMIN, lab=other_lab)
    assert correct(run=three[0].pk, name="mine").status_code == 404
    client.logout()
    assert "/login/" in correct(run=three[0].pk, name="mine").request["PATH_INFO"]
    assert not Session.objects.filter(name="mine").exists()


def test_run_page_links_to_session(text, three):
    run = three[0]

    page = text(f"/runs/{run.pk}/")

    assert f'href="{PAGE}?session={run.session_id}"' in page
    assert "2021-05-03 08:00" in page


@pytest.mark.parametrize(
    ("hosts", "joined", "untimed", "words"),
    [
        ([1, 1], [None, None], 0, "2 separate sessions on 1 machine"),
        ([1, 2], [None, None], 0, "2 separate sessions on 2 machines"),
        ([1, 1], [None, 7], 0, "count as one session"),
        ([], [], 5, "do not state when"),
        ([], [], 0, ""),
    ],
)
def test_answer_says_how_far_verdicts_hold(hosts, joined, untimed, words):
    sessions = [
        Session(host_id=host, counted_with_id=other)
        for host, other in zip(hosts, joined, strict=True)
    ]

    answer = sessions_answer(sessions, untimed)

    assert words in answer
    assert bool(answer) == bool(words)
