"""What a new installation gets: a first lab, a first person, and two tokens."""

import secrets
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.db import transaction

from benchmarks.labs.people import PASSWORD_BYTES
from benchmarks.labs.tokens import issue_token
from benchmarks.models import Agent, Lab, Membership

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
