"""Who makes labs, and what a new one has."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.errors import ConflictError, ForbiddenError, InvalidError
from benchmarks.labs.making import make_lab, make_lab_by_agent, may_make_labs
from benchmarks.labs.people import accept_invitation, find_invitation
from benchmarks.models import AuditEntry, Lab, Membership


@pytest.fixture
def admin(lab):
    dora = get_user_model().objects.create_user("dora")
    Membership.objects.create(lab=lab, user=dora, role="admin")
    return dora


def test_an_admin_makes_a_lab_and_is_its_admin(admin):
    made = make_lab(person=admin, name="  The  rack lab ")

    assert (made.slug, made.name) == ("the-rack-lab", "The rack lab")
    assert made.memberships.get().role == "admin"
    entry = AuditEntry.objects.get(lab=made)
    assert (entry.kind, entry.who, entry.about) == ("made_lab", "dora", "the-rack-lab")


def test_a_maintainer_makes_none(person):
    with pytest.raises(ForbiddenError):
        make_lab(person=person, name="X")

    assert Lab.objects.count() == 1


@pytest.mark.parametrize(
    ("who", "maintainer", "owner"),
    [("nobody", False, False), ("admins", False, True), ("everybody", True, True)],
)
def test_the_installation_says_who_makes_labs(
    settings, person, admin, who, maintainer, owner
):
    settings.LABS_MADE_BY = who

    assert (may_make_labs(person), may_make_labs(admin)) == (maintainer, owner)


def test_a_short_name_is_taken_once(admin, lab):
    with pytest.raises(ConflictError):
        make_lab(person=admin, name="Another", slug=lab.slug)

    assert Lab.objects.get().name == "Alpha lab"


def test_a_name_without_letters_needs_a_short_one(admin):
    with pytest.raises(InvalidError):
        make_lab(person=admin, name="!!!")

    assert make_lab(person=admin, name="研究室", slug="lab-3").slug == "lab-3"


def test_an_agent_makes_a_lab_where_everybody_may_and_invites_its_admin(
    settings, agent, person
):
    with pytest.raises(ForbiddenError):
        make_lab_by_agent(agent=agent, name="Rack", admin="Carol")
    settings.LABS_MADE_BY = "everybody"

    made, code = make_lab_by_agent(agent=agent, name="Rack", admin="Carol")

    assert not made.memberships.exists()
    accept_invitation(invitation=find_invitation(code), person=person)
    assert made.memberships.get().role == "admin"
    assert AuditEntry.objects.filter(lab=made).first().who == "alpha-lab/alice"
