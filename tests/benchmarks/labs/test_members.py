"""Roles in a lab: limits of authority, and the last admin or editor."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.errors import InvalidError
from benchmarks.labs.members import change_role, remove_member, set_role
from benchmarks.models import AuditEntry, Membership

ROLES = Membership.Role


@pytest.fixture
def member(lab):
    """Create members of the lab by names and roles."""

    def make(name, role):
        user = get_user_model().objects.create_user(name, password="long-enough-word")
        Membership.objects.create(lab=lab, user=user, role=role)
        return user

    return make


def role_of(user):
    return Membership.objects.get(user=user).role


def test_maintainer_promotes_a_viewer_with_audit_entry(lab, person, member):
    dora = member("dora", ROLES.VIEWER)

    change_role(lab=lab, actor=person, member=dora, role=ROLES.MAINTAINER)

    entry = AuditEntry.objects.get()
    assert role_of(dora) == ROLES.MAINTAINER
    assert (entry.actor, entry.kind) == ("carol", AuditEntry.Kind.CHANGED_ROLE)
    assert entry.about == "dora: viewer → maintainer"


@pytest.mark.parametrize(
    ("has", "becomes"), [(ROLES.VIEWER, ROLES.ADMIN), (ROLES.ADMIN, ROLES.VIEWER)]
)
def test_maintainer_cannot_change_admins(lab, person, member, has, becomes):
    member("anna", ROLES.ADMIN)
    dora = member("dora", has)

    with pytest.raises(InvalidError, match="Only admins"):
        change_role(lab=lab, actor=person, member=dora, role=becomes)

    assert role_of(dora) == has
    assert not AuditEntry.objects.exists()


def test_viewer_can_only_leave(lab, person, member):
    dora, emil = member("dora", ROLES.VIEWER), member("emil", ROLES.VIEWER)

    with pytest.raises(InvalidError, match="Only maintainers and admins"):
        remove_member(lab=lab, actor=dora, member=emil)
    with pytest.raises(InvalidError, match="Only maintainers and admins"):
        change_role(lab=lab, actor=dora, member=emil, role=ROLES.VIEWER)
    remove_member(lab=lab, actor=dora, member=dora)

    assert not Membership.objects.filter(user=dora).exists()
    assert AuditEntry.objects.get().kind == AuditEntry.Kind.LEFT_LAB


@pytest.mark.parametrize("role", [ROLES.MAINTAINER, ROLES.VIEWER])
def test_last_admin_cannot_be_demoted(lab, person, member, role):
    anna = member("anna", ROLES.ADMIN)

    with pytest.raises(InvalidError, match="anna is the last admin of Alpha lab"):
        change_role(lab=lab, actor=anna, member=anna, role=role)
    with pytest.raises(InvalidError, match="First make another member an admin"):
        remove_member(lab=lab, actor=anna, member=anna)


def test_last_maintainer_without_admins_cannot_leave(lab, person, member):
    member("dora", ROLES.VIEWER)

    with pytest.raises(InvalidError, match="carol is the last member who can edit"):
        change_role(lab=lab, actor=person, member=person, role=ROLES.VIEWER)
    with pytest.raises(InvalidError, match="carol is the last member who can edit"):
        remove_member(lab=lab, actor=person, member=person)


def test_one_of_two_admins_can_leave(lab, member):
    anna, bert = member("anna", ROLES.ADMIN), member("bert", ROLES.ADMIN)

    remove_member(lab=lab, actor=anna, member=bert)

    assert [item.user for item in lab.memberships.all()] == [anna]


def test_role_set_on_the_command_line_is_audited(lab):
    for role in ("viewer", "admin", "admin"):
        set_role(lab=lab, username="dora", role=role)

    entries = AuditEntry.objects.order_by("pk").values_list("actor", "about")
    assert list(entries) == [
        ("manage.py", "dora: none → viewer"),
        ("manage.py", "dora: viewer → admin"),
    ]
