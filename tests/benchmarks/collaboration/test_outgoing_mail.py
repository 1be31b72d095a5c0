"""Outgoing email, sent one by one to a real server on loopback, with retries."""

import email
import email.policy
import re
import socket
from datetime import timedelta

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP
from allauth.account.models import EmailAddress
from django.contrib.auth import get_user_model
from django.utils import timezone

from benchmarks.collaboration import outgoing_mail, subscriptions
from benchmarks.health import check_health
from benchmarks.jobs import queue
from benchmarks.labs.members import find_invitation, invite_person
from benchmarks.models import (
    Digest,
    Event,
    Follow,
    Invitation,
    Job,
    Membership,
    OutgoingEmail,
    Study,
)
from benchmarks.sentences import Sentence
from config import env
from tests import job_queue


class Mailbox:
    """The messages that the server accepted; it rejects addresses in ``refused``."""

    def __init__(self):
        self.letters, self.refused = [], {}

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802
        if answer := self.refused.get(address):
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        read = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.letters.append((envelope.rcpt_tos, read))
        return "250 OK"


class Loopback(Controller):
    def factory(self):
        return SMTP(self.handler, hostname="localhost", enable_SMTPUTF8=True)


@pytest.fixture
def mailbox(settings, db):
    box = Mailbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Loopback(box, hostname="127.0.0.1", port=port)
    server.start()
    sends(settings, port)
    yield box
    server.stop()


def sends(settings, port):
    settings.MAIL_SERVER = env.MailServer(
        host="127.0.0.1",
        port=port,
        user="",
        password="",
        security="none",
        sender="Virtlab <lab@example.org>",
        site="https://lab.example.org",
    )
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.DEFAULT_FROM_EMAIL = settings.MAIL_SERVER.sender
    settings.SITE_URL = settings.MAIL_SERVER.site


def make_retries_due():
    """Make waiting retries due now."""
    job_queue.make_due()


def send_due():
    """Run due jobs as the sweeper and a worker do."""
    outgoing_mail.queue_due_digests()
    return queue.run_due_jobs("email", 0)


def test_invitation_is_mailed_with_a_working_link(mailbox, lab, person):
    invitation, code = invite_person(
        lab=lab, actor=person, name="dora@example.org", role="viewer"
    )
    assert outgoing_mail.mail_invitation(invitation, code)
    stored = OutgoingEmail.objects.get()
    assert code.partition("_")[2] not in stored.encrypted_secret

    assert send_due() == 1

    [(to, email)] = mailbox.letters
    assert to == ["dora@example.org"]
    assert email["From"] == "Virtlab <lab@example.org>"
    assert email["Auto-Submitted"] == "auto-generated"
    [shown] = re.findall(r"https://lab\.example\.org/invitation/#(\S+)", str(email))
    assert find_invitation(shown) == invitation
    stored.refresh_from_db()
    assert (stored.state, stored.encrypted_secret) == ("done", "")


def test_no_mail_without_address_or_mail_server(mailbox, lab, person, settings):
    invitation = Invitation(lab=lab, name="Dora")
    assert not outgoing_mail.mail_invitation(invitation, "code")
    invitation.name = "dora@example.org\nBcc: everybody@example.org"
    assert not outgoing_mail.mail_invitation(invitation, "code")
    settings.MAIL_SERVER = None
    invitation.name = "dora@example.org"
    assert not outgoing_mail.mail_invitation(invitation, "code")
    assert send_due() == 0


def test_names_cannot_inject_headers(mailbox, lab, person):
    lab.name = "Evil\r\nBcc: everybody@example.org"
    lab.save()
    invitation, code = invite_person(
        lab=lab, actor=person, name="dora@example.org", role="viewer"
    )
    outgoing_mail.mail_invitation(invitation, code)

    send_due()

    [(to, email)] = mailbox.letters
    assert to == ["dora@example.org"]
    assert email["Bcc"] is None
    assert email["Subject"] == "Invitation to Evil Bcc: everybody@example.org"


def test_rejected_address_does_not_stop_other_mail(mailbox, person):
    mailbox.refused = {"no@example.org": "550 no such user", "slow@example.org": "450"}
    for address in ("no@example.org", "slow@example.org", "yes@example.org"):
        outgoing_mail.queue_email(
            OutgoingEmail(kind="address_confirmation", address=address, person=person)
        )

    assert send_due() == 1

    states = dict(OutgoingEmail.objects.values_list("address", "state"))
    assert states == {
        "no@example.org": "failed",
        "slow@example.org": "waiting",
        "yes@example.org": "done",
    }
    mailbox.refused = {}
    make_retries_due()
    assert send_due() == 1


def test_rendering_error_does_not_stop_other_mail(mailbox, person, lab):
    invitation, _ = invite_person(
        lab=lab, actor=person, name="dora@example.org", role="viewer"
    )
    outgoing_mail.queue_email(
        OutgoingEmail(
            kind="invitation",
            address="dora@example.org",
            invitation=invitation,
            encrypted_secret="sealed with another key",
        )
    )
    outgoing_mail.queue_email(
        OutgoingEmail(
            kind="address_confirmation", address="yes@example.org", person=person
        )
    )

    assert send_due() == 1

    assert "InvalidError" in OutgoingEmail.objects.get(kind="invitation").problem


def test_unavailable_server_is_retried_and_reported_by_health(
    mailbox, person, settings
):
    port = settings.EMAIL_PORT
    settings.EMAIL_PORT = 1
    for number in range(3):
        address = f"{number}@example.org"
        outgoing_mail.queue_email(
            OutgoingEmail(kind="address_confirmation", address=address, person=person)
        )

    assert send_due() == 0
    assert (
        OutgoingEmail.objects.filter(attempts=1).count() == 1
    )  # the others did not wait

    Job.objects.update(created_at=timezone.now() - timedelta(minutes=11))
    [due] = [item for item in check_health().waiting_jobs if item.kind == "email"]
    assert (due.waiting, due.is_late) == (3, True)
    settings.EMAIL_PORT = port
    make_retries_due()
    assert send_due() == 3


def test_email_of_a_dead_worker_is_sent_later(mailbox, person):
    email = OutgoingEmail(kind="address_confirmation", address="a@b.org", person=person)
    outgoing_mail.queue_email(email)
    assert queue._claim("email", email.pk)

    assert send_due() == 1


def test_password_reset_is_sent_only_to_verified_addresses(mailbox, person):
    EmailAddress.objects.create(user=person, email="x@example.org", verified=False)
    for person_name in ("carol", "x@example.org", "nobody", "nobody@example.org"):
        outgoing_mail.mail_password_reset(person_name)
    assert not OutgoingEmail.objects.exists()

    EmailAddress.objects.update(verified=True)
    for _ in range(3):
        outgoing_mail.mail_password_reset("X@example.org")
    assert OutgoingEmail.objects.count() == 1

    send_due()
    [(_, email)] = mailbox.letters
    [code] = re.findall(r"/login/new-password/#(\S+)", str(email))
    assert outgoing_mail.person_for_reset_code(code) == person
    person.set_password("another-long-one")
    person.save()
    assert outgoing_mail.person_for_reset_code(code) is None
    assert outgoing_mail.person_for_reset_code("") is None


@pytest.fixture
def subscribed(lab, other_lab, private_study, person):
    """Events of an own study, and of a public and a private study of another lab."""
    EmailAddress.objects.create(user=person, email="c@example.org", verified=True)
    public = Study.objects.create(
        lab=other_lab, slug="open", title="An open study", visibility="public"
    )
    hidden = Study.objects.create(lab=other_lab, slug="hidden", title="A hidden one")
    subscriptions.start_digest(person, "day", labs=True)
    old = timezone.now() - timedelta(minutes=5)
    for study in (private_study, public, hidden):
        Event.objects.create(
            lab=study.lab,
            study=study,
            kind="runs",
            message=Sentence("4 new runs"),
            occurred_at=old,
        )
    return public, hidden


def test_digest_contains_own_labs_and_followed_studies(mailbox, person, subscribed):
    public, hidden = subscribed
    Digest.objects.update(due_at=timezone.now())
    # A followed study that has become private is not included.
    Follow.objects.create(person=person, study=public)
    Follow.objects.create(person=person, study=hidden)

    assert send_due() == 1

    [(to, email)] = mailbox.letters
    text = email.get_content()
    assert to == ["c@example.org"]
    assert "A secret" in text
    assert "An open study" in text
    assert "A hidden one" not in text
    assert "https://lab.example.org/studies/beta-lab/open/" in text
    assert email["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert (
        email["List-Unsubscribe"].strip().startswith("<https://lab.example.org/unsub")
    )
    # Events are not repeated, and no email is sent without events.
    Digest.objects.update(due_at=timezone.now())
    assert send_due() == 0
    assert OutgoingEmail.objects.filter(state="done").count() == 2


def test_former_member_gets_no_events_of_the_lab(mailbox, person, subscribed):
    Membership.objects.all().delete()
    Digest.objects.update(due_at=timezone.now())

    assert send_due() == 0
    assert mailbox.letters == []


def test_unsubscribe_link_is_personal(person):
    other = get_user_model().objects.create_user("mallory")
    subscriptions.start_digest(person, "week", labs=False)
    code = (
        subscriptions.unsubscribe_url(other.pk)
        .rpartition("/unsubscribe/")[2]
        .strip("/")
    )

    assert subscriptions.person_id_from_code(code) == other.pk
    assert subscriptions.person_id_from_code(code[:-1]) is None
    assert not subscriptions.end_digest(other.pk)
    assert subscriptions.end_digest(person.pk)
