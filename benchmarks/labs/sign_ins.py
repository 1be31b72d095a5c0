"""Sign-in without a password, verified addresses, and second factors.

An address identifies a person only where it was verified: by an answered letter, by the
installation's operator, or by the provider that made the account.

Second factors are codes of an app, passkeys and recovery codes. allauth stores them
(`Authenticator`) with sealed secrets. A code of an app works once: the period of the
last used code is stored with the app, where all web processes see it.
"""

import secrets
import time
from base64 import b32decode, b32encode
from typing import Any, Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.hotp import HOTP
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.crypto import constant_time_compare

from benchmarks.errors import InvalidError
from benchmarks.models import AuditEntry, Lab, Membership
from benchmarks.sealing import seal, unseal


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
    AuditEntry.log(lab, kind, f"{provider} (viewer)", person=person)


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
        AuditEntry.log(
            place.lab,
            kind,
            about,
            person=None if by_command else person,
            agent="manage.py" if by_command else "",
        )


Type = Authenticator.Type
PERIOD_S: Final = 30
TOLERANCE: Final = 1
"""Codes of so many periods before and after are taken: clocks differ."""
LEFT_FEW: Final = 3


def factors_of(person: User) -> list[Authenticator]:
    """Return what somebody has set up, recovery codes apart; oldest first."""
    rows = Authenticator.objects.filter(user=person).exclude(type=Type.RECOVERY_CODES)
    return list(rows.order_by("pk"))


def has_factor(person: User) -> bool:
    """Return whether somebody is asked for more than a password."""
    rows = Authenticator.objects.filter(user=person)
    return bool(rows.exclude(type=Type.RECOVERY_CODES).exists())


@transaction.atomic
def set_up_app(person: User, secret: str, code: str) -> bool:
    """Replace the app if the code fits its secret; the code is used with that."""
    counter = _counter_of(secret, code)
    if counter is None:
        return False
    Authenticator.objects.filter(user=person, type=Type.TOTP).delete()
    data = {"secret": seal(secret), "used": counter}
    Authenticator.objects.create(user=person, type=Type.TOTP, data=data)
    log_of_person(person, AuditEntry.Kind.SET_FACTOR, "app")
    return True


@transaction.atomic
def take_code(person: User, code: str) -> Authenticator | None:
    """Return whose code it is, of the app or a recovery code, and use it up."""
    code = "".join(code.split())
    if not (code.isascii() and code.isdigit()):
        return None
    # Locked: the same code twice at once is good once.
    rows = Authenticator.objects.select_for_update().filter(user=person)
    known = {row.type: row for row in rows.order_by("pk")}
    if app := known.get(Type.TOTP):
        counter = _counter_of(unseal(app.data["secret"]), code)
        if counter is not None and counter > app.data.get("used", 0):
            app.data["used"] = counter
            app.save(update_fields=["data"])
            return app
    recovery = known.get(Type.RECOVERY_CODES)
    if recovery and len(known) > 1 and recovery.wrap().validate_code(code):
        log_of_person(person, AuditEntry.Kind.USED_RECOVERY_CODE, "")
        return recovery
    return None


def _counter_of(secret: str, code: str) -> int | None:
    """Return of which period a code is, if it is of one near now."""
    now = int(time.time()) // PERIOD_S
    fitting = None
    for counter in range(now - TOLERANCE, now + TOLERANCE + 1):
        # All are compared: how long it takes tells nothing.
        if constant_time_compare(app_code(secret, counter), code):
            fitting = counter
    return fitting


def new_app_secret() -> str:
    """Return a secret for an app, in base 32."""
    return b32encode(secrets.token_bytes(20)).decode()


def app_code(secret: str, counter: int) -> str:
    """Return the code that an app shows in a period of 30 seconds (RFC 4226)."""
    return HOTP(b32decode(secret), 6, SHA1()).generate(counter).decode()


@transaction.atomic
def add_passkey(person: User, name: str, credential: dict[str, Any]) -> Authenticator:
    """Keep a passkey whose answer has been found right."""
    made = Authenticator.objects.create(
        user=person, type=Type.WEBAUTHN, data={"name": name, "credential": credential}
    )
    log_of_person(person, AuditEntry.Kind.SET_FACTOR, f"passkey {name}")
    return made


@transaction.atomic
def count_passkey_use(row: Authenticator, count: int) -> bool:
    """Store how often a passkey signed; False where it counts backwards: a copy."""
    row = Authenticator.objects.select_for_update().get(pk=row.pk)
    before = row.data.get("count", 0)
    # Most passkeys count nothing and send 0 each time.
    if count <= before and (count or before):
        return False
    row.data["count"] = count
    row.save(update_fields=["data"])
    return True


@transaction.atomic
def remove_factor(person: User, pk: int) -> bool:
    """Remove one; recovery codes that lead to nothing go as well."""
    row = Authenticator.objects.filter(user=person, pk=pk).first()
    if row is None or row.type == Type.RECOVERY_CODES:
        return False
    row.delete()
    if not has_factor(person):
        Authenticator.objects.filter(user=person).delete()
    about = "app" if row.type == Type.TOTP else f"passkey {row.data['name']}"
    log_of_person(person, AuditEntry.Kind.REMOVED_FACTOR, about)
    return True


@transaction.atomic
def new_recovery_codes(person: User) -> list[str]:
    """Return new codes, shown this once; those of before end."""
    Authenticator.objects.filter(user=person, type=Type.RECOVERY_CODES).delete()
    codes = Authenticator(type=Type.RECOVERY_CODES).wrap().activate(person)
    log_of_person(person, AuditEntry.Kind.SET_FACTOR, "recovery codes")
    return list(codes.generate_codes())


def recovery_codes_left(person: User) -> int | None:
    """Return how many are left; None where none were ever made."""
    row = Authenticator.objects.filter(user=person, type=Type.RECOVERY_CODES).first()
    return None if row is None else len(row.wrap().get_unused_codes())


@transaction.atomic
def reset_factors(person: User) -> int:
    """Remove all second factors of a person who lost them; return how many.

    The caller has verified who asks for it.
    """
    rows = Authenticator.objects.filter(user=person)
    count = rows.exclude(type=Type.RECOVERY_CODES).count()
    rows.delete()
    kind, about = AuditEntry.Kind.RESET_FACTOR, person.get_username()
    log_of_person(person, kind, about, by_command=True)
    return int(count)


@transaction.atomic
def demand_factors(*, lab: Lab, by: User, demand: bool) -> None:
    """Let a lab demand a second factor of its members, or no longer."""
    places = Membership.objects.filter(lab=lab, user=by)
    if not places.filter(role=Membership.Role.ADMIN).exists():
        raise InvalidError("place", "Only admins say how a lab's members sign in.")
    if demand and not has_factor(by):
        raise InvalidError(
            "place", "Set up a second factor of your own first: you would be asked."
        )
    if (
        Lab.objects.filter(pk=lab.pk)
        .exclude(needs_second_factor=demand)
        .update(needs_second_factor=demand)
    ):
        about = "second factor: demanded" if demand else "second factor: not demanded"
        kind = AuditEntry.Kind.CHANGED_SIGN_IN
        AuditEntry.log(lab, kind, about, person=by)


def lab_that_waits_for(person: User) -> Lab | None:
    """Return a lab that demands a second factor which a member does not have."""
    own = Authenticator.objects.filter(user=OuterRef("user"))
    place = (
        Membership.objects.filter(user=person, lab__needs_second_factor=True)
        .exclude(Exists(own.exclude(type=Type.RECOVERY_CODES)))
        .select_related("lab")
        .first()
    )
    return place.lab if place else None


def people_with_factors(people: list[int]) -> set[int]:
    """Return who of these has a second factor."""
    rows = Authenticator.objects.filter(user__in=people)
    found = rows.exclude(type=Type.RECOVERY_CODES).values_list("user_id", flat=True)
    return set(found)
