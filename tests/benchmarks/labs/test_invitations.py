"""Invitations: shown once, stored as a digest, valid for one person and one week."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone

from benchmarks.errors import InvalidError
from benchmarks.labs.members import (
    accept_invitation,
    find_invitation,
    invite_person,
    withdraw_invitation,
)
from benchmarks.models import AuditEntry, Invitation, Membership


@pytest.fixture
def invited(lab, person):
    return invite_person(lab=lab, actor=person, name="Dora", role="viewer")


@pytest.fixture
def dora(db):
    return get_user_model().objects.create_user("dora", password="long-enough-word")


def test_invitation_can_be_accepted_once(lab, invited, dora):
    _, code = invited

    accept_invitation(invitation=find_invitation(code), person=dora)

    assert Membership.objects.get(user=dora, lab=lab).role == "viewer"
    with pytest.raises(InvalidError, match="used or withdrawn"):
        find_invitation(code)
    kinds = list(
        AuditEntry.objects.order_by("pk").values_list("actor", "kind", "about")
    )
    assert kinds == [
        ("carol", "invited", "Dora (viewer)"),
        ("dora", "joined", "Dora (viewer)"),
    ]


def test_code_is_not_stored(invited):
    _, code = invited

    secret = code.partition("_")[2]
    stored = " ".join(str(item) for item in Invitation.objects.values().get().values())
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


def test_invitation_expires(invited):
    Invitation.objects.update(expires_at=timezone.now())

    with pytest.raises(InvalidError):
        find_invitation(invited[1])


def test_withdrawn_invitation_is_invalid(invited, person, dora):
    invitation, code = invited

    withdraw_invitation(invitation=invitation, actor=person)

    with pytest.raises(InvalidError):
        find_invitation(code)
    with pytest.raises(InvalidError):
        accept_invitation(invitation=invitation, person=dora)


def test_member_keeps_role_and_invitation_stays_open(lab, person, invited):
    invitation, code = invited

    with pytest.raises(InvalidError, match="already a member of Alpha lab"):
        accept_invitation(invitation=invitation, person=person)

    assert Membership.objects.get(user=person).role == "maintainer"
    assert find_invitation(code) == invitation


def test_inviting_to_a_higher_role_is_rejected(lab, person):
    with pytest.raises(InvalidError, match="Only admins"):
        invite_person(lab=lab, actor=person, name="Dora", role="admin")
    Membership.objects.update(role="viewer")
    with pytest.raises(InvalidError, match="Only maintainers and admins"):
        invite_person(lab=lab, actor=person, name="Dora", role="viewer")


def test_name_is_required_and_validated(lab, person):
    with pytest.raises(InvalidError, match="Enter the name or email address"):
        invite_person(lab=lab, actor=person, name="  ", role="viewer")
    with pytest.raises(InvalidError):
        invite_person(lab=lab, actor=person, name="Do\u202era", role="viewer")


@pytest.mark.django_db(transaction=True)
def test_concurrent_acceptance_creates_one_membership(lab, invited):
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
