"""People: their accounts, their places in labs, and the agents they upload as."""

import secrets

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction

from benchmarks.models import Agent, Lab, Membership

PASSWORD_BYTES = 15


def person_agent(*, lab: Lab, user: AbstractBaseUser) -> Agent:
    """Return the agent that a person's own uploads to a lab belong to.

    Named by the number of the account: names of people change, upload keys stay.
    """
    agent, _ = Agent.objects.get_or_create(lab=lab, name=f"{Agent.PERSONAL}{user.pk}")
    return agent


@transaction.atomic
def place_person(*, lab: Lab, username: str, role: str) -> str:
    """Give a person a role in a lab; return the password of a new account, else "".

    The password is stored nowhere in clear: whoever asked hands it on.
    """
    people = get_user_model().objects
    user = people.filter(username=username).first()
    password = ""
    if user is None:
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        user = people.create_user(username, password=password)
    Membership.objects.update_or_create(lab=lab, user=user, defaults={"role": role})
    return password


def end_sessions(*, person: User, password: str) -> None:
    """Sign a person out everywhere: the same password, hashed anew, ends all sessions.

    Django's sessions carry a digest of the hash, so this needs no look at each of them.
    """
    person.set_password(password)
    person.save(update_fields=["password"])
