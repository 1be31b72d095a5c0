"""Outgoing plain-text email, sent one by one by a worker, with retries.

Emails are rendered on sending, so the database stores no links with secrets. Without
EMAIL_HOST, none is sent.
"""

import logging
import smtplib
from collections.abc import Callable
from datetime import timedelta
from email.utils import make_msgid
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from benchmarks.collaboration import subscriptions
from benchmarks.encryption import decrypt, encrypt
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs, RetryLater, retry_delay
from benchmarks.labs.member_sign_in_methods import person_for_address, verified_address
from benchmarks.models import Invitation, Job, OutgoingEmail
from benchmarks.sentences import Sentence, template
from benchmarks.text_validation import normalize_whitespace

logger = logging.getLogger(__name__)

MAX_ATTEMPTS: Final = 24
"""The attempts take about twenty hours, longer than a night's outage."""
REQUEST_INTERVAL: Final = timedelta(minutes=5)
CONFIRMATION_LIFETIME_S: Final = 24 * 3600
ADDRESS_SALT: Final = "virtlab.address"
RESET_SALT: Final = "virtlab.new-password"

EmailText = tuple[str, str]


def mail_invitation(invitation: Invitation, code: str) -> bool:
    """Return False unless the invited name is an address and email is configured."""
    if settings.MAIL_SERVER is None or not is_email_address(invitation.name):
        return False
    queue_email(
        OutgoingEmail(
            kind=OutgoingEmail.Kind.INVITATION,
            address=invitation.name,
            invitation=invitation,
            encrypted_secret=encrypt(code),
        )
    )
    return True


@transaction.atomic
def queue_email(email: OutgoingEmail) -> None:
    email.save(force_insert=True)
    # One partition for all emails, because a mail server that is down affects all.
    queue.enqueue([Job(kind=JobKind.EMAIL, subject_id=email.pk, partition=0)])


def mail_password_reset(name_or_address: str) -> None:
    """Send a person a link to set a password, at most once in five minutes.

    The person must have a verified address and a password. Does not reveal whether the
    person exists.
    """
    identifier = name_or_address.strip()
    person = person_for_address(identifier) if "@" in identifier else None
    person = person or User.objects.filter(username=identifier, is_active=True).first()
    if person is None or not person.has_usable_password():
        return
    if address := verified_address(person):
        _queue_at_most_every(OutgoingEmail.Kind.PASSWORD_RESET, address, person)


def mail_address_confirmation(person: User, address: str) -> None:
    _queue_at_most_every(OutgoingEmail.Kind.ADDRESS_CONFIRMATION, address, person)


def _queue_at_most_every(kind: OutgoingEmail.Kind, address: str, person: User) -> None:
    recent = OutgoingEmail.objects.filter(
        kind=kind, person=person, created_at__gt=timezone.now() - REQUEST_INTERVAL
    )
    if not recent.exists():
        queue_email(OutgoingEmail(kind=kind, address=address, person=person))


def is_email_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return text.isascii() and len(text) <= 254


def queue_due_digests() -> None:
    if settings.MAIL_SERVER is not None and subscriptions.has_due_digests():
        for email in subscriptions.due_digest_emails():
            queue_email(email)


@queue.job_handler(JobKind.EMAIL)
def _deliver(jobs: Jobs) -> bool:
    waiting = OutgoingEmail.objects.filter(state=OutgoingEmail.State.WAITING)
    emails = waiting.select_related("person", "invitation__lab")
    email = emails.filter(pk=jobs[0].subject_id).first()
    if email is None:
        return False
    if settings.MAIL_SERVER is None:
        raise RetryLater(timezone.now() + retry_delay(99), skips_partition=True)
    # Counted first: sending may kill the worker.
    email.attempts += 1
    email.save(update_fields=["attempts"])
    try:
        return _send(email)
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        is_final = all(500 <= code < 600 for code in codes)
        return _record_failure(email, error, is_final=is_final)
    except (OSError, smtplib.SMTPException) as error:
        logger.warning("The mail server is not available: %s", error)
        return _record_failure(email, error, skips_partition=True)
    except Exception as error:  # must not stop other emails
        logger.exception("Email %s could not be sent", email)
        return _record_failure(email, error)


def _send(email: OutgoingEmail) -> bool:
    """Return False if there is nothing to send."""
    # Later events will be in the next digest.
    until = subscriptions.last_settled_event_id()
    text = RENDERERS[OutgoingEmail.Kind(email.kind)](email)
    if text is not None:
        subject, body = text
        headers = {
            "Auto-Submitted": "auto-generated",
            "Message-ID": make_msgid(domain=urlsplit(settings.SITE_URL).hostname),
        }
        if email.kind == OutgoingEmail.Kind.DIGEST:
            headers["List-Unsubscribe"] = (
                f"<{subscriptions.unsubscribe_url(email.person_id)}>"
            )
            headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message = EmailMessage(
            # A single line prevents header injection.
            subject=normalize_whitespace(subject)[:200],
            body=body,
            to=[email.address],
            headers=headers,
        )
        message.send()
    OutgoingEmail.objects.filter(pk=email.pk).update(
        state=OutgoingEmail.State.DONE, encrypted_secret="", problem=""
    )
    if email.kind == OutgoingEmail.Kind.DIGEST:
        subscriptions.record_digest_sent(email.person, until)
    return text is not None


def _record_failure(
    email: OutgoingEmail,
    error: Exception,
    *,
    is_final: bool = False,
    skips_partition: bool = False,
) -> bool:
    is_over = is_final or email.attempts >= MAX_ATTEMPTS
    OutgoingEmail.objects.filter(pk=email.pk).update(
        state=OutgoingEmail.State.FAILED if is_over else OutgoingEmail.State.WAITING,
        problem=f"{type(error).__name__}: {error}".replace("\0", "")[:300],
        encrypted_secret="" if is_over else email.encrypted_secret,
    )
    if is_over:
        return False
    raise RetryLater(
        timezone.now() + retry_delay(email.attempts), skips_partition=skips_partition
    )


INVITATION_TEMPLATE = template(
    "Hello,\n\n{who} has invited you to join the lab "
    "{lab} on Virtlab, which stores benchmark results "
    "of\nhypervisors. To join, open this link. It works "
    "once, until {until}:\n\n{link}\n\nIf you did not "
    "expect this invitation, ignore this email.\n"
)
PASSWORD_RESET_TEMPLATE = template(
    "Hello {name},\n\nA new password was requested "
    "for your account on Virtlab. To set one, open "
    "this link\nwithin four hours:\n\n{link}\n\nIf "
    "you did not request it, ignore this email. "
    "Your password stays the same.\n"
)
ADDRESS_CONFIRMATION_TEMPLATE = template(
    "Hello {name},\n\nThis address was "
    "entered for your account on Virtlab. To "
    "confirm it, open this link\nwithin a "
    "day, in the browser in which you are "
    "signed in:\n\n{link}\n\nIf you did not "
    "request this, ignore this email. The "
    "address is not added without your\n"
    "confirmation.\n"
)


def _write_invitation(email: OutgoingEmail) -> EmailText | None:
    invitation = email.invitation
    if invitation is None or not invitation.is_open():
        return None
    by = invitation.invited_by
    lab = str(invitation.lab)
    body = Sentence(
        INVITATION_TEMPLATE,
        who=by.get_username() if by else "Virtlab",
        lab=lab,
        until=f"{invitation.expires_at:%Y-%m-%d %H:%M} UTC",
        link=f"{settings.SITE_URL}/invitation/#{decrypt(email.encrypted_secret)}",
    )
    return Sentence("Invitation to {lab}", lab=lab), body


def _write_new_password(email: OutgoingEmail) -> EmailText | None:
    person = email.person
    # The person or the address may have changed since the request.
    if person is None or verified_address(person) != email.address:
        return None
    token = default_token_generator.make_token(person)
    code = signing.dumps([person.pk, token], salt=RESET_SALT)
    link = f"{settings.SITE_URL}/login/new-password/#{code}"
    body = Sentence(PASSWORD_RESET_TEMPLATE, name=person.get_username(), link=link)
    return Sentence("Set a new password"), body


def _write_address(email: OutgoingEmail) -> EmailText | None:
    if email.person is None:
        return None
    code = signing.dumps([email.person_id, email.address], salt=ADDRESS_SALT)
    link = f"{settings.SITE_URL}/account/email/confirm/#{code}"
    body = Sentence(
        ADDRESS_CONFIRMATION_TEMPLATE, name=email.person.get_username(), link=link
    )
    return Sentence("Confirm your email address"), body


def _write_digest(email: OutgoingEmail) -> EmailText | None:
    return subscriptions.digest_text(email.person) if email.person else None


RENDERERS: Final[
    dict[OutgoingEmail.Kind, Callable[[OutgoingEmail], EmailText | None]]
] = {
    OutgoingEmail.Kind.INVITATION: _write_invitation,
    OutgoingEmail.Kind.PASSWORD_RESET: _write_new_password,
    OutgoingEmail.Kind.ADDRESS_CONFIRMATION: _write_address,
    OutgoingEmail.Kind.DIGEST: _write_digest,
}


def person_for_reset_code(code: str) -> User | None:
    """Return None if the code is invalid or used."""
    try:
        pk, token = signing.loads(
            code, salt=RESET_SALT, max_age=settings.PASSWORD_RESET_TIMEOUT
        )
    except (signing.BadSignature, ValueError):
        return None
    person = User.objects.filter(pk=pk, is_active=True).first()
    is_valid = person is not None and default_token_generator.check_token(person, token)
    return person if is_valid else None


def address_from_code(code: str, person: User) -> str:
    """Return the address that a code confirms for a person; "" for an invalid code."""
    try:
        pk, address = signing.loads(
            code, salt=ADDRESS_SALT, max_age=CONFIRMATION_LIFETIME_S
        )
    except (signing.BadSignature, ValueError):
        return ""
    return str(address) if pk == person.pk else ""
