"""Other ways to sign in than a password: who is known by them, and what is noted.

An address says who somebody is only where it was verified here, by a letter that was
answered or by whoever runs the installation, or by the provider with which its account
was made. What nobody verified is never looked at.
"""

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.db import transaction

from benchmarks.errors import InvalidError
from benchmarks.labs.audit import log_action
from benchmarks.models import AuditEntry, Lab, Membership


def person_of_address(email: str) -> User | None:
    """Return whose verified address it is, if it is one person's alone."""
    rows = EmailAddress.objects.filter(email__iexact=email, verified=True)
    people = {row.user for row in rows.select_related("user") if row.user.is_active}
    return people.pop() if len(people) == 1 else None


def verified_address(person: User) -> str:
    """Return where somebody gets mail; empty if nowhere."""
    rows = EmailAddress.objects.filter(user=person, verified=True)
    row = rows.order_by("-primary", "pk").first()
    return row.email if row else ""


@transaction.atomic
def keep_address(person: User, email: str) -> None:
    """Keep an address that somebody was found to have, in place of those before."""
    if (owner := person_of_address(email)) and owner != person:
        raise InvalidError("place", "This address belongs to another account.")
    EmailAddress.objects.filter(user=person).delete()
    EmailAddress.objects.create(
        user=person, email=email.casefold(), verified=True, primary=True
    )
    log_of_person(person, AuditEntry.Kind.CHANGED_SIGN_IN, "e-mail address")


@transaction.atomic
def forget_address(person: User) -> None:
    """Forget where somebody gets mail."""
    if EmailAddress.objects.filter(user=person).delete()[0]:
        log_of_person(person, AuditEntry.Kind.CHANGED_SIGN_IN, "no e-mail address")


def place_new_person(person: User, lab_slug: str, provider: str) -> None:
    """Give whom a provider sent a place: as a reader of one lab, or of none."""
    if not lab_slug:
        return
    lab = Lab.objects.filter(slug=lab_slug).first()
    if lab is None:
        raise InvalidError(
            "place",
            "There is no lab {lab} for new people: tell whoever runs this "
            "server (OIDC_LAB).",
            lab=lab_slug,
        )
    Membership.objects.create(lab=lab, user=person, role=Membership.Role.VIEWER)
    kind = AuditEntry.Kind.JOINED
    log_action(lab=lab, person=person, kind=kind, about=f"{provider} (viewer)")


def linked_account(person: User) -> SocialAccount | None:
    """Return whom a provider takes somebody for."""
    return SocialAccount.objects.filter(user=person).order_by("pk").first()


def log_linked(person: User, provider: str) -> None:
    """Note that somebody signs in by a provider from now on."""
    log_of_person(person, AuditEntry.Kind.LINKED_SIGN_IN, provider)


@transaction.atomic
def unlink(person: User, provider: str) -> None:
    """End somebody's sign-in by a provider; a password has to be left."""
    if not person.has_usable_password():
        raise InvalidError(
            "place",
            "You have no password: without {provider} you could not sign in any more.",
            provider=provider,
        )
    if SocialAccount.objects.filter(user=person).delete()[0]:
        log_of_person(person, AuditEntry.Kind.UNLINKED_SIGN_IN, provider)


def log_of_person(
    person: User, kind: AuditEntry.Kind, about: str, by_command: bool = False
) -> None:
    """Note it in each lab that trusts this person's sign-in."""
    for place in Membership.objects.filter(user=person).select_related("lab"):
        log_action(
            lab=place.lab,
            person=None if by_command else person,
            agent="manage.py" if by_command else "",
            kind=kind,
            about=about,
        )
