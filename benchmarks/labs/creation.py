"""Creation of labs: the first one, and others if ``LAB_CREATION`` allows it."""

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.text import slugify

from benchmarks import rls
from benchmarks.errors import ConflictError, ForbiddenError, InvalidError, shorten
from benchmarks.labs.members import PASSWORD_BYTES, store_invitation
from benchmarks.labs.tokens import issue_token
from benchmarks.models import Agent, AuditEntry, Lab, Membership
from benchmarks.sentences import Sentence
from benchmarks.text_validation import clean_text, normalize_whitespace

SLUG_LENGTH = 50


def may_create_labs(person: User) -> bool:
    admins = Membership.objects.filter(user=person, role=Membership.Role.ADMIN)
    return person.is_active and (
        settings.LAB_CREATION == "everybody"
        or (settings.LAB_CREATION == "admins" and admins.exists())
    )


def operates_server(person: User) -> bool:
    """Return whether a person may read the state of the server.

    If everybody may create labs, only editors of the first lab may.
    """
    edited = Membership.objects.filter(user=person, role__in=Membership.EDITORS)
    if settings.LAB_CREATION == "everybody":
        with rls.allow_all():
            first = Lab.objects.order_by("pk").values_list("pk", flat=True).first()
        edited = edited.filter(lab=first)
    return person.is_active and edited.exists()


@transaction.atomic
def create_lab(*, person: User, name: str, slug: str = "") -> Lab:
    """The person becomes the first admin.

    Raises ForbiddenError, ConflictError and InvalidError.
    """
    if not may_create_labs(person):
        raise ForbiddenError(
            "not_allowed",
            "You do not have permission to create labs. Ask the administrator of "
            "this server.",
        )
    lab = store_lab(name=name, slug=slug)
    Membership.objects.create(lab=lab, user=person, role=Membership.Role.ADMIN)
    rls.refresh()
    AuditEntry.log(lab, AuditEntry.Kind.CREATED_LAB, str(lab.slug), person=person)
    return lab


@transaction.atomic
def create_lab_by_agent(
    *, agent: Agent, name: str, slug: str = "", admin: str
) -> tuple[Lab, str]:
    """Create a lab; return it and the invitation code of its admin, shown once.

    ``admin`` is the name of the person to invite. Raises ForbiddenError unless everyone
    may create labs, ConflictError and InvalidError.
    """
    if settings.LAB_CREATION != "everybody":
        raise ForbiddenError(
            "not_allowed",
            "Agents cannot create labs here. A person can create the lab in the "
            "browser, or the administrator of this server can run `manage.py "
            "create_lab`.",
        )
    lab = store_lab(name=name, slug=slug)
    actor = f"{agent.lab.slug}/{agent.name}"
    AuditEntry.log(lab, AuditEntry.Kind.CREATED_LAB, str(lab.slug), agent=actor)
    role = Membership.Role.ADMIN
    _, code = store_invitation(lab=lab, actor=None, name=admin, role=role, agent=actor)
    return lab, code


def store_lab(*, name: str, slug: str = "") -> Lab:
    """Derive a missing slug from the name.

    Raises ConflictError if the slug is taken, and InvalidError.
    """
    name = clean_text(normalize_whitespace(name), label=Sentence("name"))
    slug = slug or slugify(name)[:SLUG_LENGTH].strip("-")
    if not name or not slug:
        raise InvalidError(
            "invalid_lab", "Enter the lab's name and a short name for URLs."
        )
    lab, is_new = Lab.objects.get_or_create(slug=slug, defaults={"name": name})
    if not is_new:
        raise ConflictError(
            "lab_exists",
            'The short name "{slug}" is taken. Choose another one.',
            slug=shorten(slug),
        ).for_field("slug")
    return lab


FIRST_LAB = ("first-lab", "First lab")
FIRST_ADMIN = "admin"
FIRST_AGENT = "first-agent"
FIRST_READER = "first-reader"


@dataclass(frozen=True)
class FirstSecrets:
    username: str
    password: str
    upload_token: str
    read_token: str


@transaction.atomic
def create_first_lab() -> FirstSecrets | None:
    if Lab.objects.exists():
        return None
    lab = Lab.objects.create(slug=FIRST_LAB[0], name=FIRST_LAB[1])
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    person = get_user_model().objects.create_user(FIRST_ADMIN, password=password)
    Membership.objects.create(lab=lab, user=person, role=Membership.Role.ADMIN)
    agent = Agent.objects.create(lab=lab, name=FIRST_AGENT)
    reader = Agent.objects.create(lab=lab, name=FIRST_READER)
    return FirstSecrets(
        username=FIRST_ADMIN,
        password=password,
        upload_token=issue_token(agent=agent, can_upload=True, can_manage=True)[1],
        read_token=issue_token(agent=reader, can_read=True)[1],
    )
