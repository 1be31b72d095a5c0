"""The sessions of a study: seen by everybody, corrected by who keeps the lab."""

from datetime import timedelta

import pytest

from benchmarks.models import Membership, Run, Session
from benchmarks.studies import checking
from tests.benchmarks.studies.test_sessions import at, sittings

PAGE = "/studies/alpha-lab/study/sessions/"


@pytest.fixture
def three(submit, run_document, xen):
    """Two runs of one day, one of each side, and one of the next day."""
    submit(
        run_document(started_at=at(3, 8)),
        run_document(started_at=at(3, 9), system=xen),
        run_document(started_at=at(4, 8)),
    )
    checking.check_due_studies(timedelta(0))
    return Run.objects.order_by("pk")


@pytest.fixture
def correct(client, person):
    """Carol sends the form and sees the page that follows."""
    client.force_login(person)
    return lambda **sent: client.post(f"{PAGE}correct/", sent, follow=True)


def shown(answer):
    page = answer.context["page"]
    return {one.name: (one.run_count, one.system_count) for one in page["sessions"]}


def test_it_shows_what_each_holds_and_why_it_begins(client, three):
    answer = client.get(PAGE)

    assert shown(answer) == {"2021-05-03 08:00": (2, 2), "2021-05-04 08:00": (1, 1)}
    page = answer.content.decode()
    assert " hours after the run before" in page
    assert "derived" in page
    assert "Correct" not in page


def test_an_opened_session_lists_its_runs(client, three):
    answer = client.get(PAGE, {"session": three[0].sitting_id})

    assert [run.pk for run in answer.context["page"]["runs"]] == [
        three[0].pk,
        three[1].pk,
    ]


@pytest.mark.parametrize("wanted", ["999999", "x"])
def test_a_session_that_is_not_there_is_said(client, three, wanted):
    answer = client.get(PAGE, {"session": wanted})

    assert answer.context["page"]["unmet"] == [f"session={wanted}"]


def test_runs_of_unknown_time_are_told(client, submit, run_document):
    submit(run_document(), run_document())
    checking.check_due_studies(timedelta(0))

    page = client.get(PAGE, {"session": "none"}).context["page"]

    assert (page["unknown"], len(page["runs"]), page["sessions"]) == (2, 2, [])


def test_two_are_joined_under_a_name(correct, three):
    ids = Session.objects.values_list("pk", flat=True)

    answer = correct(**{"in": list(ids)}, name="weekend", note="One night.")

    assert shown(answer) == {"weekend": (3, 2)}
    assert "put together by carol: One night." in answer.content.decode()


def test_a_run_is_split_off(correct, three):
    correct(run=[three[1].pk], name="by night")

    assert sittings() == ["2021-05-03 08:00", "by night", "2021-05-04 08:00"]


def test_a_whole_one_is_renamed_and_taken_back(correct, three):
    correct(**{"in": three[0].sitting_id}, name="first day")
    assert sittings()[0] == "first day"

    correct(**{"in": Session.objects.get(name="first day").pk}, do="give-back")

    assert sittings()[0] == "2021-05-03 08:00"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"name": "a day"}, "none are named"),
        ({"name": " ", "run": "1"}, "Give the session a name"),
        ({"name": "a day", "run": "999999"}, "has no run 999999"),
        ({"name": "a day", "in": "x"}, "has no session 0"),
    ],
)
def test_a_refusal_is_a_sentence_on_the_page(correct, three, sent, why):
    before = sittings()

    answer = correct(**sent, opened=three[0].sitting_id)

    assert why in answer.content.decode()
    assert answer.context["page"]["opened"].pk == three[0].sitting_id
    assert sittings() == before


def test_nobody_else_corrects(client, correct, three, person, other_lab):
    Membership.objects.update(role=Membership.Role.VIEWER)
    assert correct(run=three[0].pk, name="mine").status_code == 404
    Membership.objects.update(role=Membership.Role.ADMIN, lab=other_lab)
    assert correct(run=three[0].pk, name="mine").status_code == 404
    client.logout()
    assert "/login/" in correct(run=three[0].pk, name="mine").request["PATH_INFO"]
    assert not Session.objects.filter(name="mine").exists()


def test_the_page_of_a_run_leads_to_its_session(text, three):
    run = three[0]

    page = text(f"/runs/{run.pk}/")

    assert f'href="{PAGE}?session={run.sitting_id}"' in page
    assert "2021-05-03 08:00" in page
