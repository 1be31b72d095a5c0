import secrets
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from django.utils import timezone

from benchmarks import rls
from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.labs.tokens import find_by_secret, new_prefix, new_secret, secret_digest
from benchmarks.models import Agent, AuditEntry, Invitation, Lab, Membership
from benchmarks.sentences import Sentence
from benchmarks.text_validation import clean_text, normalize_whitespace

PASSWORD_BYTES = 15

ROLE_RANKS = {role: rank for rank, role in enumerate(Membership.Role.values)}

INVITATION_LIFETIME = timedelta(days=7)
INVALID_INVITATION = Sentence(
    "This invitation is not valid. It was used or withdrawn, it has expired, or "
    "the link is incomplete. Ask for a new invitation."
)


def person_agent(*, lab: Lab, user: AbstractBaseUser) -> Agent:
    """Return a person's agent for browser uploads, named after the account's id."""
    agent, _ = Agent.objects.get_or_create(
        lab=lab, name=f"{Agent.PERSONAL_PREFIX}{user.pk}"
    )
    return agent


@transaction.atomic
def set_role(*, lab: Lab, username: str, role: str) -> str:
    """Create a missing account.

    Return the password of a new account, else "".
    """
    people = get_user_model().objects
    user = people.filter(username=username).first()
    password = ""
    if user is None:
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        user = people.create_user(username, password=password)
    membership = Membership.objects.filter(lab=lab, user=user).first()
    before = membership.role if membership else "none"
    if before != role:
        Membership.objects.update_or_create(lab=lab, user=user, defaults={"role": role})
        _log_role(lab, None, user, before, role)
    return password


def _log_role(
    lab: Lab, actor: User | None, member: User, before: str, role: str
) -> None:
    """``actor`` is None for the command line."""
    about = f"{member.get_username()}: {before} → {role}"
    kind = AuditEntry.Kind.CHANGED_ROLE
    AuditEntry.log(lab, kind, about, person=actor, agent="manage.py")


def end_sessions(*, person: User, password: str = "") -> None:
    """Set a new password, or make passwords unusable; both end all sessions."""
    if password:
        person.set_password(password)
    else:
        person.set_unusable_password()
    person.save(update_fields=["password"])


@transaction.atomic
def change_role(*, lab: Lab, actor: User, member: User, role: str) -> Membership:
    """Raise InvalidError if the actor may not do so or no admin would remain, and
    NotFoundError if ``member`` is not a member.
    """
    membership = _lock_membership(lab, member)
    _check_authority(lab=lab, actor=actor, roles=(membership.role, role))
    if membership.role == role:
        return membership
    _check_an_admin_remains(lab, membership, new_role=role)
    before, membership.role = membership.role, role
    membership.save(update_fields=["role"])
    _log_role(lab, actor, member, before, role)
    return membership


@transaction.atomic
def remove_member(*, lab: Lab, actor: User, member: User) -> None:
    """Remove a member, or leave the lab (if actor and member are the same).

    The uploads of the member are kept. Raises the errors of `change_role`.
    """
    membership = _lock_membership(lab, member)
    if actor != member:
        _check_authority(lab=lab, actor=actor, roles=(membership.role,))
    _check_an_admin_remains(lab, membership, new_role="")
    membership.delete()
    kind = (
        AuditEntry.Kind.LEFT_LAB if actor == member else AuditEntry.Kind.REMOVED_MEMBER
    )
    AuditEntry.log(lab, kind, member.get_username(), person=actor)


@transaction.atomic
def leave_all_labs(person: User) -> list[Lab]:
    """Return the labs. Raise InvalidError for the last admin or editor of one."""
    labs = [membership.lab for membership in person.memberships.select_related("lab")]
    for lab in labs:
        membership = _lock_membership(lab, person)
        _check_an_admin_remains(lab, membership, new_role="")
        membership.delete()
    return labs


def _check_authority(*, lab: Lab, actor: User, roles: tuple[str, ...]) -> None:
    memberships = Membership.objects.filter(lab=lab, user=actor).values_list(
        "role", flat=True
    )
    actor_role = memberships.first() or ""
    if actor_role not in Membership.EDITORS:
        raise InvalidError(
            "invalid_membership",
            "Only maintainers and admins can change the members of a lab.",
        )
    if any(ROLE_RANKS[role] > ROLE_RANKS[actor_role] for role in roles):
        raise InvalidError(
            "invalid_membership",
            "Your role in this lab is {own}. Only admins can appoint or change "
            "admins. Ask one of the lab's admins.",
            own=actor_role,
        )


def _lock_membership(lab: Lab, member: User) -> Membership:
    """Lock all memberships of a lab, and return that of a member.

    The lock ensures that concurrent changes leave one admin. Raises NotFoundError.
    """
    # A fixed order avoids deadlocks.
    list(Membership.objects.select_for_update().filter(lab=lab).order_by("pk"))
    membership = Membership.objects.filter(lab=lab, user=member).first()
    if membership is None:
        raise NotFoundError(Sentence("member"), member.get_username())
    return membership


def _check_an_admin_remains(lab: Lab, membership: Membership, *, new_role: str) -> None:
    other_members = Membership.objects.filter(lab=lab).exclude(pk=membership.pk)
    admin, editors = Membership.Role.ADMIN, Membership.EDITORS
    name = membership.user.get_username()
    if (
        membership.role == admin != new_role
        and not other_members.filter(role=admin).exists()
    ):
        raise InvalidError(
            "invalid_membership",
            "{name} is the last admin of {lab}. First make another member an admin.",
            name=name,
            lab=str(lab),
        )
    # Also in a lab without admins, the last maintainer must remain.
    loses_editor = membership.role in editors and new_role not in editors
    if loses_editor and not other_members.filter(role__in=editors).exists():
        raise InvalidError(
            "invalid_membership",
            "{name} is the last member who can edit {lab}. First make another member "
            "a maintainer or an admin.",
            name=name,
            lab=str(lab),
        )


@transaction.atomic
def invite_person(
    *, lab: Lab, actor: User, name: str, role: str
) -> tuple[Invitation, str]:
    """The returned secret is shown once."""
    name = clean_text(normalize_whitespace(name), label=Sentence("name"))
    if not name:
        raise InvalidError(
            "invalid_membership",
            "Enter the name or email address of the person to invite.",
        )
    _check_authority(lab=lab, actor=actor, roles=(role,))
    return store_invitation(lab=lab, actor=actor, name=name, role=role)


@transaction.atomic
def store_invitation(
    *, lab: Lab, actor: User | None, name: str, role: str, agent: str = ""
) -> tuple[Invitation, str]:
    """The caller checks permissions."""
    prefix, secret = new_prefix(), new_secret()
    invitation = Invitation.objects.create(
        lab=lab,
        name=name,
        role=role,
        prefix=prefix,
        digest=secret_digest(secret),
        invited_by=actor,
        expires_at=timezone.now() + INVITATION_LIFETIME,
    )
    about = f"{name} ({role})"
    AuditEntry.log(
        lab, AuditEntry.Kind.INVITED_PERSON, about, person=actor, agent=agent
    )
    return invitation, f"{prefix}_{secret}"


def find_invitation(code: str) -> Invitation:
    """Raise InvalidError if the invitation is not open."""
    invitations = Invitation.objects.select_related("lab")
    invitation = find_by_secret(
        code, lambda prefix: invitations.filter(prefix=prefix).first()
    )
    if invitation is None or not invitation.is_open():
        raise InvalidError("invalid_invitation", INVALID_INVITATION)
    return invitation


@transaction.atomic
def accept_invitation(*, invitation: Invitation, person: User) -> Membership:
    locked = Invitation.objects.select_for_update().get(pk=invitation.pk)
    if not locked.is_open():
        raise InvalidError("invalid_invitation", INVALID_INVITATION)
    membership, created = Membership.objects.get_or_create(
        lab=locked.lab, user=person, defaults={"role": locked.role}
    )
    if not created:
        raise InvalidError(
            "invalid_invitation",
            "You are already a member of {lab} ({role}). Someone else can still "
            "use the invitation.",
            lab=str(locked.lab),
            role=membership.role,
        )
    rls.refresh()
    locked.accepted_at = timezone.now()
    locked.save(update_fields=["accepted_at"])
    about = f"{locked.name} ({locked.role})"
    AuditEntry.log(locked.lab, AuditEntry.Kind.JOINED_LAB, about, person=person)
    return membership


@transaction.atomic
def withdraw_invitation(*, invitation: Invitation, actor: User) -> None:
    """An accepted or withdrawn invitation stays as it is."""
    lab, role = invitation.lab, invitation.role
    _check_authority(lab=lab, actor=actor, roles=(role,))
    pending = Invitation.objects.filter(pk=invitation.pk, withdrawn_at=None)
    if pending.filter(accepted_at=None).update(withdrawn_at=timezone.now()):
        about = f"{invitation.name} ({role})"
        AuditEntry.log(lab, AuditEntry.Kind.WITHDREW_INVITATION, about, person=actor)
