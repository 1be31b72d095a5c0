"""Sign-in without a password, verified addresses, and second factors.

An address identifies a person only if verified by email, by the operator, or by the
provider that created the account.

allauth stores second factors (`Authenticator`): app codes (TOTP), passkeys and recovery
codes. An app code works once: its period is stored with the app.
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

from benchmarks.encryption import decrypt, encrypt
from benchmarks.errors import InvalidError
from benchmarks.models import AuditEntry, Lab, Membership


def person_for_address(email: str) -> User | None:
    """Return the active person with this verified address, if there is only one."""
    rows = EmailAddress.objects.filter(email__iexact=email, verified=True)
    people = {row.user for row in rows.select_related("user") if row.user.is_active}
    return people.pop() if len(people) == 1 else None


def verified_address(person: User) -> str:
    rows = EmailAddress.objects.filter(user=person, verified=True)
    row = rows.order_by("-primary", "pk").first()
    return row.email if row else ""


@transaction.atomic
def set_verified_address(person: User, email: str) -> None:
    """Raise InvalidError if the address is taken."""
    if (owner := person_for_address(email)) and owner != person:
        raise InvalidError(
            "invalid_membership", "This email address belongs to another account."
        )
    EmailAddress.objects.filter(user=person).delete()
    EmailAddress.objects.create(
        user=person, email=email.casefold(), verified=True, primary=True
    )
    log_in_labs(person, AuditEntry.Kind.CHANGED_SIGN_IN, "e-mail address")


@transaction.atomic
def remove_verified_address(person: User) -> None:
    if EmailAddress.objects.filter(user=person).delete()[0]:
        log_in_labs(person, AuditEntry.Kind.CHANGED_SIGN_IN, "no e-mail address")


def add_provider_account(person: User, lab_slug: str, provider: str) -> None:
    """Make the account of a sign-in provider a viewer of a lab.

    Does nothing for an empty slug. Raises InvalidError if the lab does not exist.
    """
    if not lab_slug:
        return
    lab = Lab.objects.filter(slug=lab_slug).first()
    if lab is None:
        raise InvalidError(
            "invalid_membership",
            "New users cannot be added because the lab {lab} does not exist. Contact "
            "the administrator of this server, who can correct the setting OIDC_LAB.",
            lab=lab_slug,
        )
    Membership.objects.create(lab=lab, user=person, role=Membership.Role.VIEWER)
    kind = AuditEntry.Kind.JOINED_LAB
    AuditEntry.log(lab, kind, f"{provider} (viewer)", person=person)


def linked_account(person: User) -> SocialAccount | None:
    return SocialAccount.objects.filter(user=person).order_by("pk").first()


def log_account_link(person: User, provider: str) -> None:
    log_in_labs(person, AuditEntry.Kind.LINKED_SIGN_IN, provider)


@transaction.atomic
def unlink_account(person: User, provider: str) -> None:
    """Raise InvalidError if no password remains."""
    if not person.has_usable_password():
        raise InvalidError(
            "invalid_membership",
            "You have no password. Without {provider} you could no longer sign in.",
            provider=provider,
        )
    if SocialAccount.objects.filter(user=person).delete()[0]:
        log_in_labs(person, AuditEntry.Kind.UNLINKED_SIGN_IN, provider)


def log_in_labs(
    person: User, kind: AuditEntry.Kind, subject: str, by_command: bool = False
) -> None:
    for membership in Membership.objects.filter(user=person).select_related("lab"):
        AuditEntry.log(
            membership.lab,
            kind,
            subject,
            person=None if by_command else person,
            agent="manage.py" if by_command else "",
        )


FactorType = Authenticator.Type
TOTP_PERIOD_S: Final = 30
TOTP_TOLERANCE: Final = 1
"""The number of periods accepted before and after the current one: clocks differ."""
FEW_RECOVERY_CODES: Final = 3


def list_second_factors(person: User) -> list[Authenticator]:
    rows = Authenticator.objects.filter(user=person).exclude(
        type=FactorType.RECOVERY_CODES
    )
    return list(rows.order_by("pk"))


def has_second_factor(person: User) -> bool:
    rows = Authenticator.objects.filter(user=person)
    return bool(rows.exclude(type=FactorType.RECOVERY_CODES).exists())


@transaction.atomic
def set_authenticator_app(person: User, secret: str, code: str) -> bool:
    """Return False if the code does not match. The code cannot be used again."""
    counter = _counter_of(secret, code)
    if counter is None:
        return False
    Authenticator.objects.filter(user=person, type=FactorType.TOTP).delete()
    data = {"secret": encrypt(secret), "used": counter}
    Authenticator.objects.create(user=person, type=FactorType.TOTP, data=data)
    log_in_labs(person, AuditEntry.Kind.SET_FACTOR, "app")
    return True


@transaction.atomic
def use_code(person: User, code: str) -> Authenticator | None:
    """Use up a code of an authenticator app, or a recovery code.

    Return the factor to which the code belongs, or None if the code is invalid.
    """
    code = "".join(code.split())
    if not (code.isascii() and code.isdigit()):
        return None
    # Concurrent requests must not use a code twice.
    rows = Authenticator.objects.select_for_update().filter(user=person)
    by_type = {row.type: row for row in rows.order_by("pk")}
    if app := by_type.get(FactorType.TOTP):
        counter = _counter_of(decrypt(app.data["secret"]), code)
        if counter is not None and counter > app.data.get("used", 0):
            app.data["used"] = counter
            app.save(update_fields=["data"])
            return app
    recovery = by_type.get(FactorType.RECOVERY_CODES)
    if recovery and len(by_type) > 1 and recovery.wrap().validate_code(code):
        log_in_labs(person, AuditEntry.Kind.USED_RECOVERY_CODE, "")
        return recovery
    return None


def _counter_of(secret: str, code: str) -> int | None:
    """Return the 30-second period of a code, or None if it is too old or too new."""
    now = int(time.time()) // TOTP_PERIOD_S
    matching = None
    for counter in range(now - TOTP_TOLERANCE, now + TOTP_TOLERANCE + 1):
        # No early exit: constant time.
        if constant_time_compare(totp_code(secret, counter), code):
            matching = counter
    return matching


def new_totp_secret() -> str:
    return b32encode(secrets.token_bytes(20)).decode()


def totp_code(secret: str, counter: int) -> str:
    """Return the code of the 30-second period with this number (RFC 4226)."""
    return HOTP(b32decode(secret), 6, SHA1()).generate(counter).decode()


@transaction.atomic
def add_passkey(person: User, name: str, credential: dict[str, Any]) -> Authenticator:
    passkey = Authenticator.objects.create(
        user=person,
        type=FactorType.WEBAUTHN,
        data={"name": name, "credential": credential},
    )
    log_in_labs(person, AuditEntry.Kind.SET_FACTOR, f"passkey {name}")
    return passkey


@transaction.atomic
def record_passkey_use(row: Authenticator, count: int) -> bool:
    """Store a passkey's signature counter; return False if it should have grown.

    Then a copy of the passkey may be in use.
    """
    row = Authenticator.objects.select_for_update().get(pk=row.pk)
    previous = row.data.get("count", 0)
    # Most passkeys always send 0.
    if count <= previous and (count or previous):
        return False
    row.data["count"] = count
    row.save(update_fields=["data"])
    return True


@transaction.atomic
def remove_factor(person: User, pk: int) -> bool:
    """Remove recovery codes with the last factor. Return False for an unknown one."""
    row = Authenticator.objects.filter(user=person, pk=pk).first()
    if row is None or row.type == FactorType.RECOVERY_CODES:
        return False
    row.delete()
    if not has_second_factor(person):
        Authenticator.objects.filter(user=person).delete()
    about = "app" if row.type == FactorType.TOTP else f"passkey {row.data['name']}"
    log_in_labs(person, AuditEntry.Kind.REMOVED_FACTOR, about)
    return True


@transaction.atomic
def new_recovery_codes(person: User) -> list[str]:
    """Replace and return the recovery codes, shown once."""
    Authenticator.objects.filter(user=person, type=FactorType.RECOVERY_CODES).delete()
    codes = Authenticator(type=FactorType.RECOVERY_CODES).wrap().activate(person)
    log_in_labs(person, AuditEntry.Kind.SET_FACTOR, "recovery codes")
    return list(codes.generate_codes())


def recovery_codes_left(person: User) -> int | None:
    row = Authenticator.objects.filter(
        user=person, type=FactorType.RECOVERY_CODES
    ).first()
    return None if row is None else len(row.wrap().get_unused_codes())


@transaction.atomic
def reset_factors(person: User) -> int:
    """Remove all factors; return their number, without the recovery codes.

    The caller must have verified the person's identity.
    """
    rows = Authenticator.objects.filter(user=person)
    count = rows.exclude(type=FactorType.RECOVERY_CODES).count()
    rows.delete()
    kind, about = AuditEntry.Kind.RESET_FACTOR, person.get_username()
    log_in_labs(person, kind, about, by_command=True)
    return int(count)


@transaction.atomic
def require_second_factor(*, lab: Lab, actor: User, is_required: bool) -> None:
    """Raise InvalidError if not allowed."""
    memberships = Membership.objects.filter(lab=lab, user=actor)
    if not memberships.filter(role=Membership.Role.ADMIN).exists():
        raise InvalidError(
            "invalid_membership", "Only admins can decide how members of a lab sign in."
        )
    if is_required and not has_second_factor(actor):
        raise InvalidError(
            "invalid_membership",
            "Set up your own second factor first, because the requirement "
            "also applies to you.",
        )
    if (
        Lab.objects.filter(pk=lab.pk)
        .exclude(requires_second_factor=is_required)
        .update(requires_second_factor=is_required)
    ):
        about = (
            "second factor: demanded" if is_required else "second factor: not demanded"
        )
        kind = AuditEntry.Kind.CHANGED_SIGN_IN
        AuditEntry.log(lab, kind, about, person=actor)


def lab_requiring_second_factor(person: User) -> Lab | None:
    """Return a lab of the person that requires a missing second factor, or None.

    Recovery codes alone are not a second factor.
    """
    factors = Authenticator.objects.filter(user=OuterRef("user"))
    membership = (
        Membership.objects.filter(user=person, lab__requires_second_factor=True)
        .exclude(Exists(factors.exclude(type=FactorType.RECOVERY_CODES)))
        .select_related("lab")
        .first()
    )
    return membership.lab if membership else None


def people_with_second_factor(people: list[int]) -> set[int]:
    rows = Authenticator.objects.filter(user__in=people)
    user_ids = rows.exclude(type=FactorType.RECOVERY_CODES).values_list(
        "user_id", flat=True
    )
    return set(user_ids)
