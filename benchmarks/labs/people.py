"""People: their accounts, their places in labs, and the agents they upload as."""

import secrets
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from django.utils import timezone

from benchmarks import sight
from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.labs.tokens import digest, new_prefix, new_secret, row_of_secret
from benchmarks.models import Agent, AuditEntry, Invitation, Lab, Membership
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text, collapse

PASSWORD_BYTES = 15

RANKS = {role: rank for rank, role in enumerate(Membership.Role.values)}

INVITATION_LASTS = timedelta(days=7)
INVITATION_IS_OVER = Sentence(
    "This invitation is not valid: it was used, withdrawn or has expired, or the link "
    "is incomplete. Ask whoever invited you for a new one."
)


def person_agent(*, lab: Lab, user: AbstractBaseUser) -> Agent:
    """Return the agent of a person's own uploads, named by the account's id."""
    agent, _ = Agent.objects.get_or_create(lab=lab, name=f"{Agent.PERSONAL}{user.pk}")
    return agent


@transaction.atomic
def place_person(*, lab: Lab, username: str, role: str) -> str:
    """Give a person a role in a lab; return the password of a new account, else ""."""
    people = get_user_model().objects
    user = people.filter(username=username).first()
    password = ""
    if user is None:
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        user = people.create_user(username, password=password)
    place = Membership.objects.filter(lab=lab, user=user).first()
    before = place.role if place else "none"
    if before != role:
        Membership.objects.update_or_create(lab=lab, user=user, defaults={"role": role})
        _log_role(lab, None, user, before, role)
    return password


def _log_role(lab: Lab, by: User | None, who: User, before: str, role: str) -> None:
    """Note another role; without a person, it was given on the command line."""
    about = f"{who.get_username()}: {before} → {role}"
    kind = AuditEntry.Kind.CHANGED_ROLE
    AuditEntry.log(lab, kind, about, person=by, agent="manage.py")


def end_sessions(*, person: User, password: str = "") -> None:
    """Sign a person out everywhere: hashing the password anew ends all sessions."""
    if password:
        person.set_password(password)
    else:  # there is none: what stands in its place is drawn anew
        person.set_unusable_password()
    person.save(update_fields=["password"])


@transaction.atomic
def change_role(*, lab: Lab, by: User, member: User, role: str) -> Membership:
    """Give a member another role; raise InvalidError if the rules forbid it."""
    place = _locked_place(lab, member)
    _check_authority(lab=lab, by=by, roles=(place.role, role))
    if place.role == role:
        return place
    _check_that_others_keep(lab, place, becomes=role)
    before, place.role = place.role, role
    place.save(update_fields=["role"])
    _log_role(lab, by, member, before, role)
    return place


@transaction.atomic
def remove_member(*, lab: Lab, by: User, member: User) -> None:
    """Take a member's place away, or leave; what they uploaded stays."""
    place = _locked_place(lab, member)
    if by != member:
        _check_authority(lab=lab, by=by, roles=(place.role,))
    _check_that_others_keep(lab, place, becomes="")
    place.delete()
    kind = AuditEntry.Kind.LEFT if by == member else AuditEntry.Kind.REMOVED
    AuditEntry.log(lab, kind, member.get_username(), person=by)


@transaction.atomic
def leave_all_labs(person: User) -> list[Lab]:
    """Take all of somebody's places away; return the labs. The last keeper stays."""
    labs = [place.lab for place in person.memberships.select_related("lab")]
    for lab in labs:
        place = _locked_place(lab, person)
        _check_that_others_keep(lab, place, becomes="")
        place.delete()
    return labs


def _check_authority(*, lab: Lab, by: User, roles: tuple[str, ...]) -> None:
    """Refuse whoever is no keeper, or has less than one of the roles it is about."""
    mine = Membership.objects.filter(lab=lab, user=by).values_list("role", flat=True)
    own = mine.first() or ""
    if own not in Membership.KEEPERS:
        raise InvalidError(
            "place", "Only maintainers and admins change who belongs to a lab."
        )
    if any(RANKS[role] > RANKS[own] for role in roles):
        raise InvalidError(
            "place",
            "You are {own} of this lab: only an admin makes admins or "
            "changes them. Ask one of the lab's admins.",
            own=own,
        )


def _locked_place(lab: Lab, member: User) -> Membership:
    """Return the place, with all of the lab's locked: the last two cannot both go."""
    # Locked in one order, or two changes at once could stop each other.
    list(Membership.objects.select_for_update().filter(lab=lab).order_by("pk"))
    place = Membership.objects.filter(lab=lab, user=member).first()
    if place is None:
        raise NotFoundError(Sentence("member"), member.get_username())
    return place


def _check_that_others_keep(lab: Lab, place: Membership, *, becomes: str) -> None:
    others = Membership.objects.filter(lab=lab).exclude(pk=place.pk)
    admin, keepers = Membership.Role.ADMIN, Membership.KEEPERS
    name = place.user.get_username()
    if place.role == admin != becomes and not others.filter(role=admin).exists():
        raise InvalidError(
            "place",
            "{name} is the last admin of {lab}. Make somebody else an admin first.",
            name=name,
            lab=str(lab),
        )
    # A lab may be without admins: then its last maintainer stays.
    loses = place.role in keepers and becomes not in keepers
    if loses and not others.filter(role__in=keepers).exists():
        raise InvalidError(
            "place",
            "{name} is the last who may change {lab}. Make somebody else a "
            "maintainer or an admin first.",
            name=name,
            lab=str(lab),
        )


@transaction.atomic
def invite_person(
    *, lab: Lab, by: User, name: str, role: str
) -> tuple[Invitation, str]:
    """Make an invitation and return it with the link's secret, shown only this once."""
    name = clean_text(collapse(name), what=Sentence("name"))
    if not name:
        raise InvalidError(
            "place", "Enter whom you invite: a name or an e-mail address."
        )
    _check_authority(lab=lab, by=by, roles=(role,))
    return new_invitation(lab=lab, by=by, name=name, role=role)


@transaction.atomic
def new_invitation(
    *, lab: Lab, by: User | None, name: str, role: str, agent: str = ""
) -> tuple[Invitation, str]:
    """Store an invitation that somebody was found to have the right to make."""
    prefix, secret = new_prefix(), new_secret()
    invitation = Invitation.objects.create(
        lab=lab,
        name=name,
        role=role,
        prefix=prefix,
        digest=digest(secret),
        invited_by=by,
        expires_at=timezone.now() + INVITATION_LASTS,
    )
    about = f"{name} ({role})"
    AuditEntry.log(lab, AuditEntry.Kind.INVITED, about, person=by, agent=agent)
    return invitation, f"{prefix}_{secret}"


def find_invitation(shown: str) -> Invitation:
    """Return the open invitation behind a link, or raise InvalidError."""
    invitations = Invitation.objects.select_related("lab")
    invitation = row_of_secret(
        shown, lambda prefix: invitations.filter(prefix=prefix).first()
    )
    if invitation is None or not invitation.is_open():
        raise InvalidError("invitation", INVITATION_IS_OVER)
    return invitation


@transaction.atomic
def accept_invitation(*, invitation: Invitation, person: User) -> Membership:
    """Give a person the place; raise InvalidError if the invitation is over."""
    locked = Invitation.objects.select_for_update().get(pk=invitation.pk)
    if not locked.is_open():
        raise InvalidError("invitation", INVITATION_IS_OVER)
    place, created = Membership.objects.get_or_create(
        lab=locked.lab, user=person, defaults={"role": locked.role}
    )
    if not created:
        raise InvalidError(
            "invitation",
            "You belong to {lab} already, as {role}. The invitation is "
            "still good for somebody else.",
            lab=str(locked.lab),
            role=place.role,
        )
    sight.look_again()
    locked.accepted_at = timezone.now()
    locked.save(update_fields=["accepted_at"])
    about = f"{locked.name} ({locked.role})"
    AuditEntry.log(locked.lab, AuditEntry.Kind.JOINED, about, person=person)
    return place


@transaction.atomic
def withdraw_invitation(*, invitation: Invitation, by: User) -> None:
    """Make a link useless at once; withdrawing twice is once."""
    lab, role = invitation.lab, invitation.role
    _check_authority(lab=lab, by=by, roles=(role,))
    pending = Invitation.objects.filter(pk=invitation.pk, withdrawn_at=None)
    if pending.filter(accepted_at=None).update(withdrawn_at=timezone.now()):
        about = f"{invitation.name} ({role})"
        AuditEntry.log(lab, AuditEntry.Kind.WITHDREW, about, person=by)
