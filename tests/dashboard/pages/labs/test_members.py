"""Members and invitations."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import UserCreationForm
from django.db import connection
from django.test import Client

from benchmarks.labs.members import invite_person
from benchmarks.models import Invitation, Membership

MEMBERS = "/labs/alpha-lab/members/"
ACCOUNT = {
    "username": "dora",
    "password1": "a-long-enough-word",
    "password2": "a-long-enough-word",
}


def messages(answer):
    """Return the messages of a page: level and text."""
    return [(it.level_tag, it.message) for it in answer.context["messages"]]


@pytest.fixture
def keeper(client, person):
    client.force_login(person)
    return client


@pytest.fixture
def guest():
    """Return another browser."""
    return Client()


@pytest.fixture
def code(lab, person):
    return invite_person(lab=lab, actor=person, name="Dora", role="maintainer")[1]


def test_link_is_shown_once_and_joins_lab(keeper, guest, lab):
    answer = keeper.post(MEMBERS, {"name": "dora@example.org", "role": "viewer"})
    link = re.search(r"http://testserver/invitation/#(\w+[\w-]+)", answer.text)
    assert answer.status_code == 201
    assert "no-store" in answer["Cache-Control"]
    assert link[1] not in keeper.get(MEMBERS).text

    guest.post("/invitation/", {"code": link[0]})
    offer = guest.get("/invitation/").text
    joined = guest.post("/invitation/", ACCOUNT)

    assert "join Alpha lab" in offer
    assert joined["Location"] == "/labs/alpha-lab/"
    assert Membership.objects.get(user__username="dora").role == "viewer"
    assert "You joined Alpha lab." in guest.get("/").text
    again = Client().post("/invitation/", {"code": link[1]})
    assert again.status_code == 422
    assert "used or withdrawn" in again.text


def test_existing_user_joins(guest, other_lab, code):
    bert = get_user_model().objects.create_user("bert", password="another-lab-here")
    guest.force_login(bert)

    guest.post("/invitation/", {"code": code})
    assert "Join as bert" in guest.get("/invitation/").text
    guest.post("/invitation/")

    assert Membership.objects.get(user=bert).role == "maintainer"


def test_session_does_not_store_code(guest, code):
    guest.post("/invitation/", {"code": code})

    assert dict(guest.session) == {"invitation": Invitation.objects.get().pk}


def test_weak_password_is_rejected(guest, code):
    guest.post("/invitation/", {"code": code})
    answer = guest.post(
        "/invitation/", {**ACCOUNT, "password1": "short", "password2": "short"}
    )

    assert answer.status_code == 422
    assert "too short" in answer.text
    assert not get_user_model().objects.filter(username="dora").exists()


def test_user_names_ignore_case(guest, code):
    get_user_model().objects.create_user("Dora")
    guest.post("/invitation/", {"code": code})

    assert guest.post("/invitation/", ACCOUNT).status_code == 422
    assert not get_user_model().objects.filter(username="dora").exists()


@pytest.mark.django_db(transaction=True)
def test_concurrent_sign_ups_with_same_name_are_answered(lab, person, monkeypatch):
    """Both forms are validated before either of them is stored."""
    both_looked = threading.Barrier(2, timeout=20)
    save = UserCreationForm.save
    monkeypatch.setattr(
        UserCreationForm, "save", lambda form: both_looked.wait() + 1 and save(form)
    )

    def join(number):
        guest = Client()
        name = f"guest {number}"
        code = invite_person(lab=lab, actor=person, name=name, role="viewer")[1]
        guest.post("/invitation/", {"code": code})
        try:
            return guest.post("/invitation/", ACCOUNT)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        joined, refused = sorted(threads.map(join, (1, 2)), key=lambda a: a.status_code)

    assert (joined.status_code, refused.status_code) == (302, 422)
    assert "field-error" in refused.text
    assert Membership.objects.get(user__username="dora").role == "viewer"
    assert Invitation.objects.filter(accepted_at=None).count() == 1


def test_withdrawn_invitation_creates_no_account(keeper, guest, code):
    guest.post("/invitation/", {"code": code})
    number = Invitation.objects.get().pk
    keeper.post(f"/labs/alpha-lab/invitations/{number}/withdraw/")

    answer = guest.post("/invitation/", ACCOUNT)

    assert "Invitation code or link" in answer.text
    assert not get_user_model().objects.filter(username="dora").exists()


def test_member_opening_link_is_informed(keeper, code):
    keeper.post("/invitation/", {"code": code})

    answer = keeper.post("/invitation/", follow=True)

    ((level, text),) = messages(answer)
    assert level == "error"
    assert "Alpha lab" in text
    assert "maintainer" in text


def test_roles_are_changed_and_members_removed(keeper, lab):
    dora = get_user_model().objects.create_user("dora", password="a-long-word-here")
    Membership.objects.create(lab=lab, user=dora, role="viewer")
    place = f"{MEMBERS}{dora.pk}/"

    given = keeper.post(f"{place}role/", {"role": "maintainer"}, follow=True)
    refused = keeper.post(f"{place}role/", {"role": "admin"}, follow=True)
    unknown = keeper.post(f"{place}role/", {"role": "emperor"})
    removed = keeper.post(f"{place}remove/", follow=True)

    assert messages(given) == [("success", "The role of dora is now maintainer.")]
    assert [level for level, _text in messages(refused)] == ["error"]
    assert unknown.status_code == 404
    assert [level for level, _text in messages(removed)] == ["success"]
    assert not lab.memberships.filter(user=dora).exists()


def test_last_maintainer_cannot_leave(keeper, person):
    answer = keeper.post(f"{MEMBERS}{person.pk}/remove/", follow=True)

    ((level, text),) = messages(answer)
    assert level == "error"
    assert "carol is the last" in text


def test_viewer_sees_members_but_cannot_invite(client, lab, person):
    vera = get_user_model().objects.create_user("vera", password="reads-everything")
    Membership.objects.create(lab=lab, user=vera, role="viewer")
    client.force_login(vera)

    page = client.get(MEMBERS)
    answer = client.post(MEMBERS, {"name": "Dora", "role": "viewer"})

    assert "carol" in page.text
    assert "Invite a member" not in page.text
    assert "signed in" not in page.text
    assert answer.status_code == 404
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("form", [{}, {"name": "D", "role": "admin"}, {"name": "D"}])
def test_incomplete_invitation_is_rejected(keeper, form):
    answer = keeper.post(MEMBERS, form)

    assert answer.status_code == 422
    assert "field-error" in answer.text
    assert not Invitation.objects.exists()
