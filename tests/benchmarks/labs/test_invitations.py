"""Invitations: shown once, stored as a digest, good for one person and for a week."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone

from benchmarks.errors import InvalidError
from benchmarks.labs.people import (
    accept_invitation,
    find_invitation,
    invite_person,
    withdraw_invitation,
)
from benchmarks.models import AuditEntry, Invitation, Membership


@pytest.fixture
def invited(lab, person):
    return invite_person(lab=lab, by=person, name="Dora", role="viewer")


@pytest.fixture
def dora(db):
    return get_user_model().objects.create_user("dora", password="long-enough-word")


def test_it_gives_the_place_once(lab, invited, dora):
    _, code = invited

    accept_invitation(invitation=find_invitation(code), person=dora)

    assert Membership.objects.get(user=dora, lab=lab).role == "viewer"
    with pytest.raises(InvalidError, match="used, withdrawn or has expired"):
        find_invitation(code)
    kinds = list(AuditEntry.objects.order_by("pk").values_list("who", "kind", "about"))
    assert kinds == [
        ("carol", "invited", "Dora (viewer)"),
        ("dora", "joined", "Dora (viewer)"),
    ]


def test_the_code_is_nowhere_in_the_database(invited):
    _, code = invited

    secret = code.partition("_")[2]
    stored = " ".join(str(each) for each in Invitation.objects.values().get().values())
    assert len(secret) == 43
    assert secret not in stored


@pytest.mark.parametrize(
    "spoil",
    [
        lambda code: code[:-1],
        lambda code: code.partition("_")[0],
        lambda code: "0000000000_" + code.partition("_")[2],
        lambda code: "",
        lambda code: "\0_x",
    ],
)
def test_a_wrong_code_finds_nothing(invited, spoil):
    with pytest.raises(InvalidError):
        find_invitation(spoil(invited[1]))


def test_it_expires(invited):
    Invitation.objects.update(expires_at=timezone.now())

    with pytest.raises(InvalidError):
        find_invitation(invited[1])


def test_a_withdrawn_one_is_useless_at_once(invited, person, dora):
    invitation, code = invited

    withdraw_invitation(invitation=invitation, by=person)

    with pytest.raises(InvalidError):
        find_invitation(code)
    with pytest.raises(InvalidError):
        accept_invitation(invitation=invitation, person=dora)


def test_who_belongs_to_the_lab_keeps_the_role_and_the_link_stays_good(
    lab, person, invited
):
    invitation, code = invited

    with pytest.raises(InvalidError, match="already, as maintainer"):
        accept_invitation(invitation=invitation, person=person)

    assert Membership.objects.get(user=person).role == "maintainer"
    assert find_invitation(code) == invitation


def test_nobody_invites_to_more_than_they_are(lab, person):
    with pytest.raises(InvalidError, match="only an admin"):
        invite_person(lab=lab, by=person, name="Dora", role="admin")
    Membership.objects.update(role="viewer")
    with pytest.raises(InvalidError, match="Only maintainers and admins"):
        invite_person(lab=lab, by=person, name="Dora", role="viewer")


def test_a_name_is_needed_and_is_plain(lab, person):
    with pytest.raises(InvalidError, match="Enter whom"):
        invite_person(lab=lab, by=person, name="  ", role="viewer")
    with pytest.raises(InvalidError):
        invite_person(lab=lab, by=person, name="Do\u202era", role="viewer")


@pytest.mark.django_db(transaction=True)
def test_two_people_with_one_link_at_once_give_one_place(lab, invited):
    users = get_user_model().objects
    people = [users.create_user(f"guest-{n}", password="x") for n in range(4)]

    def accept(person):
        try:
            accept_invitation(invitation=invited[0], person=person)
        except InvalidError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(4) as threads:
        accepted = list(threads.map(accept, people))

    assert accepted.count(True) == 1
    assert lab.memberships.filter(role="viewer").count() == 1
