"""Creation of labs: permissions and initial content."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.errors import ConflictError, ForbiddenError, InvalidError
from benchmarks.labs.creation import create_lab, create_lab_by_agent, may_create_labs
from benchmarks.labs.members import accept_invitation, find_invitation
from benchmarks.models import AuditEntry, Lab, Membership


@pytest.fixture
def admin(lab):
    dora = get_user_model().objects.create_user("dora")
    Membership.objects.create(lab=lab, user=dora, role="admin")
    return dora


def test_admin_creates_a_lab_and_is_its_admin(admin):
    created = create_lab(person=admin, name="  The  rack lab ")

    assert (created.slug, created.name) == ("the-rack-lab", "The rack lab")
    assert created.memberships.get().role == "admin"
    entry = AuditEntry.objects.get(lab=created)
    assert (entry.kind, entry.actor, entry.about) == (
        "created_lab",
        "dora",
        "the-rack-lab",
    )


def test_maintainer_cannot_create_labs(person):
    with pytest.raises(ForbiddenError):
        create_lab(person=person, name="X")

    assert Lab.objects.count() == 1


@pytest.mark.parametrize(
    ("who", "maintainer", "owner"),
    [("nobody", False, False), ("admins", False, True), ("everybody", True, True)],
)
def test_setting_determines_who_can_create_labs(
    settings, person, admin, who, maintainer, owner
):
    settings.LAB_CREATION = who

    assert (may_create_labs(person), may_create_labs(admin)) == (maintainer, owner)


def test_slug_is_unique(admin, lab):
    with pytest.raises(ConflictError):
        create_lab(person=admin, name="Another", slug=lab.slug)

    assert Lab.objects.get().name == "Alpha lab"


def test_name_without_letters_needs_a_slug(admin):
    with pytest.raises(InvalidError):
        create_lab(person=admin, name="!!!")

    assert create_lab(person=admin, name="研究室", slug="lab-3").slug == "lab-3"


def test_agent_creates_a_lab_and_invites_its_admin(settings, agent, person):
    with pytest.raises(ForbiddenError):
        create_lab_by_agent(agent=agent, name="Rack", admin="Carol")
    settings.LAB_CREATION = "everybody"

    created, code = create_lab_by_agent(agent=agent, name="Rack", admin="Carol")

    assert not created.memberships.exists()
    accept_invitation(invitation=find_invitation(code), person=person)
    assert created.memberships.get().role == "admin"
    assert AuditEntry.objects.filter(lab=created).first().actor == "alpha-lab/alice"
