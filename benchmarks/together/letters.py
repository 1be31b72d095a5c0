"""Emails: written and sent by a worker, one by one, and retried.

An email is written when it is sent, so that the database stores no secret links. Plain
text; texts of users are on one line. Without EMAIL_HOST there are none.
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

from benchmarks.labs.sign_ins import person_of_address, verified_address
from benchmarks.models import Invitation, Job, Letter
from benchmarks.sealing import seal, unseal
from benchmarks.sentences import Sentence, template
from benchmarks.text import collapse
from benchmarks.together import digests
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind, Later, delay

logger = logging.getLogger(__name__)

MOST_ATTEMPTS: Final = 24
"""About twenty hours: a server that is away for a night gets its letters."""
ASKED_EVERY: Final = timedelta(minutes=5)
CONFIRM_WITHIN_S: Final = 24 * 3600
ADDRESS_SALT: Final = "virtlab.address"
RESET_SALT: Final = "virtlab.new-password"

Text = tuple[str, str]
"""Subject and body."""


def mail_invitation(invitation: Invitation, code: str) -> bool:
    """Have an invitation sent, if it is to an address and mail is sent at all."""
    if settings.EMAIL is None or not is_address(invitation.name):
        return False
    post(
        Letter(
            kind=Letter.Kind.INVITATION,
            address=invitation.name,
            invitation=invitation,
            sealed=seal(code),
        )
    )
    return True


@transaction.atomic
def post(letter: Letter) -> None:
    """Store a letter that is to be sent."""
    letter.save(force_insert=True)
    # One after the other: a server that is away is away for all.
    queue.put([Job(kind=Kind.LETTER, subject_id=letter.pk, partition=0)])


def mail_new_password(name_or_address: str) -> None:
    """Mail a link for a new password to a verified address, once in five minutes.

    Does not reveal whether there is such a person.
    """
    asked = name_or_address.strip()
    person = person_of_address(asked) if "@" in asked else None
    person = person or User.objects.filter(username=asked, is_active=True).first()
    if person is None or not person.has_usable_password():
        return
    if address := verified_address(person):
        _once_in_a_while(Letter.Kind.NEW_PASSWORD, address, person)


def mail_address(person: User, address: str) -> None:
    """Have a letter sent that shows whether somebody reads an address."""
    _once_in_a_while(Letter.Kind.ADDRESS, address, person)


def _once_in_a_while(kind: Letter.Kind, address: str, person: User) -> None:
    recent = Letter.objects.filter(
        kind=kind, person=person, created_at__gt=timezone.now() - ASKED_EVERY
    )
    if not recent.exists():
        post(Letter(kind=kind, address=address, person=person))


def is_address(text: str) -> bool:
    """Return whether a text is an e-mail address and nothing else."""
    try:
        validate_email(text)
    except ValidationError:
        return False
    return text.isascii() and len(text) <= 254


def note_digests() -> None:
    """Store a letter for each digest that is due, if mail is sent at all."""
    if settings.EMAIL is not None and digests.are_due():
        for letter in digests.due_letters():
            post(letter)


@queue.job(Kind.LETTER)
def _deliver(jobs: Jobs) -> bool:
    """Send one letter, or raise Later; return whether there was something to say."""
    waiting = Letter.objects.filter(state=Letter.State.WAITING)
    letters = waiting.select_related("person", "invitation__lab")
    letter = letters.filter(pk=jobs[0].subject_id).first()
    if letter is None:
        return False
    if settings.EMAIL is None:
        raise Later(timezone.now() + delay(99), ends_round=True)
    # Noted first: it may kill its worker.
    letter.attempts += 1
    letter.save(update_fields=["attempts"])
    try:
        return _send(letter)
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        is_final = all(500 <= code < 600 for code in codes)
        return _note_problem(letter, error, is_final=is_final)
    except (OSError, smtplib.SMTPException) as error:
        logger.warning("The server for mail does not do its part: %s", error)
        return _note_problem(letter, error, ends_round=True)
    except Exception as error:  # whatever it is, the other letters go out
        logger.exception("Letter %s was not written", letter)
        return _note_problem(letter, error)


def _send(letter: Letter) -> bool:
    """Write a letter and hand it to the server; False where there is nothing to say."""
    # Before it is looked at: what happens meanwhile is told in the next one.
    until = digests.newest()
    text = WRITERS[Letter.Kind(letter.kind)](letter)
    if text is not None:
        subject, body = text
        headers = {
            "Auto-Submitted": "auto-generated",
            "Message-ID": make_msgid(domain=urlsplit(settings.SITE_URL).hostname),
        }
        if letter.kind == Letter.Kind.DIGEST:
            headers["List-Unsubscribe"] = f"<{digests.leaving(letter.person_id)}>"
            headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message = EmailMessage(
            # No line of it is another's: a header ends where it is told to.
            subject=collapse(subject)[:200],
            body=body,
            to=[letter.address],
            headers=headers,
        )
        message.send()
    Letter.objects.filter(pk=letter.pk).update(
        state=Letter.State.DONE, sealed="", problem=""
    )
    if letter.kind == Letter.Kind.DIGEST:
        digests.note_told(letter.person, until)
    return text is not None


def _note_problem(
    letter: Letter,
    error: Exception,
    *,
    is_final: bool = False,
    ends_round: bool = False,
) -> bool:
    """Note why a letter was not sent; raise Later unless it is given up."""
    is_over = is_final or letter.attempts >= MOST_ATTEMPTS
    Letter.objects.filter(pk=letter.pk).update(
        state=Letter.State.FAILED if is_over else Letter.State.WAITING,
        problem=f"{type(error).__name__}: {error}".replace("\0", "")[:300],
        sealed="" if is_over else letter.sealed,
    )
    if is_over:
        return False
    raise Later(timezone.now() + delay(letter.attempts), ends_round=ends_round)


INVITED = template("""Hello,

{who} invites you to the lab {lab} on Virtlab, which keeps what benchmarks say of
hypervisors. Open this to join; it works once, until {until}:

{link}

You know nothing of it? Then do nothing.
""")
NEW_PASSWORD = template("""Hello {name},

somebody, we hope you, wants a new password for your account on Virtlab. Open this
within four hours to set one:

{link}

It was not you? Then do nothing: your password stays as it is.
""")
YOUR_ADDRESS = template("""Hello {name},

your account on Virtlab gives this address as yours. Open this within a day, in the
browser in which you are signed in, to confirm it:

{link}

You know nothing of it? Then do nothing: without you it is not taken.
""")


def _write_invitation(letter: Letter) -> Text | None:
    invitation = letter.invitation
    if invitation is None or not invitation.is_open():
        return None
    by = invitation.invited_by
    lab = str(invitation.lab)
    body = Sentence(
        INVITED,
        who=by.get_username() if by else "Virtlab",
        lab=lab,
        until=f"{invitation.expires_at:%Y-%m-%d %H:%M} UTC",
        link=f"{settings.SITE_URL}/invitation/#{unseal(letter.sealed)}",
    )
    return Sentence("{lab} invites you", lab=lab), body


def _write_new_password(letter: Letter) -> Text | None:
    person = letter.person
    # Closed meanwhile, or the address is another's now.
    if person is None or verified_address(person) != letter.address:
        return None
    token = default_token_generator.make_token(person)
    code = signing.dumps([person.pk, token], salt=RESET_SALT)
    link = f"{settings.SITE_URL}/login/new-password/#{code}"
    body = Sentence(NEW_PASSWORD, name=person.get_username(), link=link)
    return Sentence("A new password"), body


def _write_address(letter: Letter) -> Text | None:
    if letter.person is None:
        return None
    code = signing.dumps([letter.person_id, letter.address], salt=ADDRESS_SALT)
    link = f"{settings.SITE_URL}/account/address/confirm/#{code}"
    body = Sentence(YOUR_ADDRESS, name=letter.person.get_username(), link=link)
    return Sentence("Is this your address?"), body


def _write_digest(letter: Letter) -> Text | None:
    return digests.written(letter.person) if letter.person else None


WRITERS: Final[dict[Letter.Kind, Callable[[Letter], Text | None]]] = {
    Letter.Kind.INVITATION: _write_invitation,
    Letter.Kind.NEW_PASSWORD: _write_new_password,
    Letter.Kind.ADDRESS: _write_address,
    Letter.Kind.DIGEST: _write_digest,
}


def person_of_reset(code: str) -> User | None:
    """Return whose password a link may set, once."""
    try:
        pk, token = signing.loads(
            code, salt=RESET_SALT, max_age=settings.PASSWORD_RESET_TIMEOUT
        )
    except (signing.BadSignature, ValueError):
        return None
    person = User.objects.filter(pk=pk, is_active=True).first()
    fits = person is not None and default_token_generator.check_token(person, token)
    return person if fits else None


def address_of_link(code: str, person: User) -> str:
    """Return the address that a link confirms for somebody; empty if it does not."""
    try:
        pk, address = signing.loads(code, salt=ADDRESS_SALT, max_age=CONFIRM_WITHIN_S)
    except (signing.BadSignature, ValueError):
        return ""
    return str(address) if pk == person.pk else ""
