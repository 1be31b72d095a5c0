"""Roles in a lab: nobody gives more than they have, and somebody always keeps it."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.errors import InvalidError
from benchmarks.labs.people import change_role, place_person, remove_member
from benchmarks.models import AuditEntry, Membership

ROLES = Membership.Role


@pytest.fixture
def member(lab):
    """Make members of the lab by their names and roles."""

    def make(name, role):
        user = get_user_model().objects.create_user(name, password="long-enough-word")
        Membership.objects.create(lab=lab, user=user, role=role)
        return user

    return make


def role_of(user):
    return Membership.objects.get(user=user).role


def test_a_maintainer_makes_a_viewer_a_maintainer_and_it_is_noted(lab, person, member):
    dora = member("dora", ROLES.VIEWER)

    change_role(lab=lab, by=person, member=dora, role=ROLES.MAINTAINER)

    entry = AuditEntry.objects.get()
    assert role_of(dora) == ROLES.MAINTAINER
    assert (entry.who, entry.kind) == ("carol", AuditEntry.Kind.CHANGED_ROLE)
    assert entry.about == "dora: viewer → maintainer"


@pytest.mark.parametrize(
    ("has", "becomes"), [(ROLES.VIEWER, ROLES.ADMIN), (ROLES.ADMIN, ROLES.VIEWER)]
)
def test_a_maintainer_neither_makes_nor_unmakes_admins(
    lab, person, member, has, becomes
):
    member("anna", ROLES.ADMIN)
    dora = member("dora", has)

    with pytest.raises(InvalidError, match="only an admin"):
        change_role(lab=lab, by=person, member=dora, role=becomes)

    assert role_of(dora) == has
    assert not AuditEntry.objects.exists()


def test_a_viewer_changes_nobody_but_may_leave(lab, person, member):
    dora, emil = member("dora", ROLES.VIEWER), member("emil", ROLES.VIEWER)

    with pytest.raises(InvalidError, match="Only maintainers and admins"):
        remove_member(lab=lab, by=dora, member=emil)
    with pytest.raises(InvalidError, match="Only maintainers and admins"):
        change_role(lab=lab, by=dora, member=emil, role=ROLES.VIEWER)
    remove_member(lab=lab, by=dora, member=dora)

    assert not Membership.objects.filter(user=dora).exists()
    assert AuditEntry.objects.get().kind == AuditEntry.Kind.LEFT


@pytest.mark.parametrize("role", [ROLES.MAINTAINER, ROLES.VIEWER])
def test_the_last_admin_stays_admin(lab, person, member, role):
    anna = member("anna", ROLES.ADMIN)

    with pytest.raises(InvalidError, match="anna is the last admin of Alpha lab"):
        change_role(lab=lab, by=anna, member=anna, role=role)
    with pytest.raises(InvalidError, match="Make somebody else an admin first"):
        remove_member(lab=lab, by=anna, member=anna)


def test_the_last_maintainer_of_a_lab_without_admins_stays(lab, person, member):
    member("dora", ROLES.VIEWER)

    with pytest.raises(InvalidError, match="carol is the last who may change"):
        change_role(lab=lab, by=person, member=person, role=ROLES.VIEWER)
    with pytest.raises(InvalidError, match="carol is the last who may change"):
        remove_member(lab=lab, by=person, member=person)


def test_of_two_admins_one_may_go(lab, member):
    anna, bert = member("anna", ROLES.ADMIN), member("bert", ROLES.ADMIN)

    remove_member(lab=lab, by=anna, member=bert)

    assert [each.user for each in lab.memberships.all()] == [anna]


def test_a_role_given_on_the_command_line_is_in_the_audit_log_too(lab):
    for role in ("viewer", "admin", "admin"):
        place_person(lab=lab, username="dora", role=role)

    entries = AuditEntry.objects.order_by("pk").values_list("who", "about")
    assert list(entries) == [
        ("manage.py", "dora: none → viewer"),
        ("manage.py", "dora: viewer → admin"),
    ]
