"""Change who belongs to a lab, and as what. A lab always keeps somebody who can."""

from django.contrib.auth.models import User
from django.db import transaction

from benchmarks.errors import NotFoundError, PlaceError
from benchmarks.labs.audit import log_action
from benchmarks.models import AuditEntry, Lab, Membership
from benchmarks.sentences import Sentence

RANKS = {role: at for at, role in enumerate(Membership.Role.values)}


@transaction.atomic
def change_role(*, lab: Lab, by: User, member: User, role: str) -> Membership:
    """Give a member another role; nobody gives or takes more than they have.

    Raises PlaceError where the rules or the last keeper of the lab stand in the way.
    """
    place = _locked_place(lab, member)
    check_authority(lab=lab, by=by, roles=(place.role, role))
    if place.role == role:
        return place
    _check_that_others_keep(lab, place, becomes=role)
    about = f"{member.get_username()}: {place.role} → {role}"
    place.role = role
    place.save(update_fields=["role"])
    log_action(lab=lab, person=by, kind=AuditEntry.Kind.CHANGED_ROLE, about=about)
    return place


@transaction.atomic
def remove_member(*, lab: Lab, by: User, member: User) -> None:
    """Take a member's place away, or leave; what they uploaded stays."""
    place = _locked_place(lab, member)
    if by != member:
        check_authority(lab=lab, by=by, roles=(place.role,))
    _check_that_others_keep(lab, place, becomes="")
    place.delete()
    kind = AuditEntry.Kind.LEFT if by == member else AuditEntry.Kind.REMOVED
    log_action(lab=lab, person=by, kind=kind, about=member.get_username())


def check_authority(*, lab: Lab, by: User, roles: tuple[str, ...]) -> None:
    """Refuse whoever is no keeper, or has less than one of the roles it is about."""
    mine = Membership.objects.filter(lab=lab, user=by).values_list("role", flat=True)
    own = mine.first() or ""
    if own not in Membership.KEEPERS:
        raise PlaceError(
            Sentence("Only maintainers and admins change who belongs to a lab.")
        )
    if any(RANKS[role] > RANKS[own] for role in roles):
        raise PlaceError(
            Sentence(
                "You are {own} of this lab: only an admin makes admins or "
                "changes them. Ask one of the lab's admins.",
                own=own,
            )
        )


def _locked_place(lab: Lab, member: User) -> Membership:
    """Return the place, with all of the lab's locked: the last two cannot both go."""
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
        raise PlaceError(
            Sentence(
                "{name} is the last admin of {lab}. Make somebody else an admin first.",
                name=name,
                lab=str(lab),
            )
        )
    loses = place.role in keepers and becomes not in keepers
    if loses and not others.filter(role__in=keepers).exists():
        raise PlaceError(
            Sentence(
                "{name} is the last who may change {lab}. Make somebody else a "
                "maintainer or an admin first.",
                name=name,
                lab=str(lab),
            )
        )
