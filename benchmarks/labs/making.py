"""Create labs: the first one, and more where ``LABS_MADE_BY`` allows it."""

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.text import slugify

from benchmarks import sight
from benchmarks.errors import ConflictError, ForbiddenError, InvalidError, shorten
from benchmarks.labs.people import PASSWORD_BYTES, new_invitation
from benchmarks.labs.tokens import issue_token
from benchmarks.models import Agent, AuditEntry, Lab, Membership
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text, collapse

SLUG_LENGTH = 50


def may_make_labs(person: User) -> bool:
    """Whether this installation lets a person make labs."""
    admins = Membership.objects.filter(user=person, role=Membership.Role.ADMIN)
    return person.is_active and (
        settings.LABS_MADE_BY == "everybody"
        or (settings.LABS_MADE_BY == "admins" and admins.exists())
    )


@transaction.atomic
def make_lab(*, person: User, name: str, slug: str = "") -> Lab:
    """Create a lab whose first admin is its maker.

    Raises ForbiddenError, ConflictError and InvalidError.
    """
    if not may_make_labs(person):
        raise ForbiddenError(
            "not_allowed", "You may not create labs here: ask whoever runs this server."
        )
    lab = new_lab(name=name, slug=slug)
    Membership.objects.create(lab=lab, user=person, role=Membership.Role.ADMIN)
    sight.look_again()
    AuditEntry.log(lab, AuditEntry.Kind.MADE_LAB, str(lab.slug), person=person)
    return lab


@transaction.atomic
def make_lab_by_agent(
    *, agent: Agent, name: str, slug: str = "", admin: str
) -> tuple[Lab, str]:
    """Create a lab; return it with the code of its admin's invitation, shown once.

    Raises ForbiddenError unless everybody may create labs.
    """
    if settings.LABS_MADE_BY != "everybody":
        raise ForbiddenError(
            "not_allowed",
            "An agent may not create labs here: a person creates them in the "
            "browser, or whoever runs this server with `manage.py create_lab`.",
        )
    lab = new_lab(name=name, slug=slug)
    who = f"{agent.lab.slug}/{agent.name}"
    AuditEntry.log(lab, AuditEntry.Kind.MADE_LAB, str(lab.slug), agent=who)
    role = Membership.Role.ADMIN
    _, code = new_invitation(lab=lab, by=None, name=admin, role=role, agent=who)
    return lab, code


def new_lab(*, name: str, slug: str = "") -> Lab:
    """Store a lab without people; its short name follows from its name if need be."""
    name = clean_text(collapse(name), what=Sentence("name"))
    slug = slug or slugify(name)[:SLUG_LENGTH].strip("-")
    if not name or not slug:
        raise InvalidError(
            "place", "Give the lab a name, and a short one for addresses."
        )
    lab, is_new = Lab.objects.get_or_create(slug=slug, defaults={"name": name})
    if not is_new:
        raise ConflictError(
            "lab_exists",
            'The short name "{slug}" is taken. Choose another one.',
            slug=shorten(slug),
        ).at("slug")
    return lab


LAB = ("first-lab", "First lab")
PERSON = "admin"
AGENT = "first-agent"
READER = "first-reader"


@dataclass(frozen=True)
class FirstSecrets:
    """Shown once: the caller writes them where only the owner can read."""

    username: str
    password: str
    upload_token: str
    read_token: str


@transaction.atomic
def install() -> FirstSecrets | None:
    """Make the first lab with its people and tokens; None if there is a lab already."""
    if Lab.objects.exists():
        return None
    lab = Lab.objects.create(slug=LAB[0], name=LAB[1])
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    person = get_user_model().objects.create_user(PERSON, password=password)
    Membership.objects.create(lab=lab, user=person, role=Membership.Role.ADMIN)
    agent = Agent.objects.create(lab=lab, name=AGENT)
    reader = Agent.objects.create(lab=lab, name=READER)
    return FirstSecrets(
        username=PERSON,
        password=password,
        upload_token=issue_token(agent=agent, can_upload=True)[1],
        read_token=issue_token(agent=reader, can_read=True)[1],
    )
