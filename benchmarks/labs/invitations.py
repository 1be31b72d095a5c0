"""Invite people into a lab by a link that works once, and accept it."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from benchmarks.errors import InvitationError, PlaceError
from benchmarks.labs.audit import log_action
from benchmarks.labs.members import check_authority
from benchmarks.labs.secrets import digest, fits, new_prefix, new_secret
from benchmarks.models import AuditEntry, Invitation, Lab, Membership
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text, collapse

LASTS = timedelta(days=7)
OVER = Sentence(
    "This invitation is not valid: it was used, withdrawn or has expired, or the link "
    "is incomplete. Ask whoever invited you for a new one."
)


@transaction.atomic
def invite_person(
    *, lab: Lab, by: User, name: str, role: str
) -> tuple[Invitation, str]:
    """Make an invitation and return it with the link's secret, shown only this once."""
    name = clean_text(collapse(name), what=Sentence("name"))
    if not name:
        raise PlaceError(Sentence("Say whom you invite: a name or an e-mail address."))
    check_authority(lab=lab, by=by, roles=(role,))
    prefix, secret = new_prefix(), new_secret()
    invitation = Invitation.objects.create(
        lab=lab,
        name=name,
        role=role,
        prefix=prefix,
        digest=digest(secret),
        invited_by=by,
        expires_at=timezone.now() + LASTS,
    )
    log_action(
        lab=lab, person=by, kind=AuditEntry.Kind.INVITED, about=f"{name} ({role})"
    )
    return invitation, f"{prefix}_{secret}"


def find_invitation(shown: str) -> Invitation:
    """Return the open invitation behind a link, or raise InvitationError."""
    prefix, _, secret = shown.partition("_")
    known = Invitation.objects.select_related("lab")
    is_prefix = prefix.isascii() and prefix.isalnum()
    found = known.filter(prefix=prefix).first() if is_prefix else None
    matches = fits(secret, found.digest if found else digest(""))
    if found is None or not matches or not found.is_open():
        raise InvitationError(OVER)
    return found


@transaction.atomic
def accept_invitation(*, invitation: Invitation, person: User) -> Membership:
    """Give a person the place; the link is of no use afterwards.

    Raises InvitationError for one that is over, and for whoever belongs to the lab.
    """
    locked = Invitation.objects.select_for_update().get(pk=invitation.pk)
    if not locked.is_open():
        raise InvitationError(OVER)
    place, created = Membership.objects.get_or_create(
        lab=locked.lab, user=person, defaults={"role": locked.role}
    )
    if not created:
        raise InvitationError(
            Sentence(
                "You belong to {lab} already, as {role}. The invitation is "
                "still good for somebody else.",
                lab=str(locked.lab),
                role=place.role,
            )
        )
    locked.accepted_at = timezone.now()
    locked.save(update_fields=["accepted_at"])
    about = f"{locked.name} ({locked.role})"
    log_action(lab=locked.lab, person=person, kind=AuditEntry.Kind.JOINED, about=about)
    return place


@transaction.atomic
def withdraw_invitation(*, invitation: Invitation, by: User) -> None:
    """Make a link useless at once; withdrawing twice is once."""
    lab, role = invitation.lab, invitation.role
    check_authority(lab=lab, by=by, roles=(role,))
    standing = Invitation.objects.filter(pk=invitation.pk, withdrawn_at=None)
    if standing.filter(accepted_at=None).update(withdrawn_at=timezone.now()):
        about = f"{invitation.name} ({role})"
        log_action(lab=lab, person=by, kind=AuditEntry.Kind.WITHDREW, about=about)
