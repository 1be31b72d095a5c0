"""Letters: taken by a real server on loopback, each alone, tried again."""

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

from benchmarks.health import health
from benchmarks.labs.people import find_invitation, invite_person
from benchmarks.models import (
    Digest,
    Event,
    Follow,
    Invitation,
    Job,
    Letter,
    Membership,
    Study,
)
from benchmarks.sentences import Sentence
from benchmarks.together import digests, letters
from benchmarks.unattended import queue
from config import env
from tests import jobs


class Mailbox:
    """What the server took; it refuses addresses of ``refused``."""

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
    settings.EMAIL = env.Email(
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
    settings.DEFAULT_FROM_EMAIL = settings.EMAIL.sender
    settings.SITE_URL = settings.EMAIL.site


def again():
    """Let what waits for its next turn have it now."""
    jobs.make_due()


def send_due():
    """Do what the sweeper and a worker do."""
    letters.note_digests()
    return queue.run("letter", 0)


def test_an_invitation_to_an_address_is_sent_and_its_link_opens(mailbox, lab, person):
    invitation, code = invite_person(
        lab=lab, by=person, name="dora@example.org", role="viewer"
    )
    assert letters.mail_invitation(invitation, code)
    kept = Letter.objects.get()
    assert code.partition("_")[2] not in kept.sealed

    assert send_due() == 1

    [(to, letter)] = mailbox.letters
    assert to == ["dora@example.org"]
    assert letter["From"] == "Virtlab <lab@example.org>"
    assert letter["Auto-Submitted"] == "auto-generated"
    [shown] = re.findall(r"https://lab\.example\.org/invitation/#(\S+)", str(letter))
    assert find_invitation(shown) == invitation
    kept.refresh_from_db()
    assert (kept.state, kept.sealed) == ("done", "")


def test_names_are_no_addresses_and_without_a_server_nothing_is_sent(
    mailbox, lab, person, settings
):
    invitation = Invitation(lab=lab, name="Dora")
    assert not letters.mail_invitation(invitation, "code")
    invitation.name = "dora@example.org\nBcc: everybody@example.org"
    assert not letters.mail_invitation(invitation, "code")
    settings.EMAIL = None
    invitation.name = "dora@example.org"
    assert not letters.mail_invitation(invitation, "code")
    assert send_due() == 0


def test_no_name_writes_a_header(mailbox, lab, person):
    lab.name = "Evil\r\nBcc: everybody@example.org"
    lab.save()
    invitation, code = invite_person(
        lab=lab, by=person, name="dora@example.org", role="viewer"
    )
    letters.mail_invitation(invitation, code)

    send_due()

    [(to, letter)] = mailbox.letters
    assert to == ["dora@example.org"]
    assert letter["Bcc"] is None
    assert letter["Subject"] == "Evil Bcc: everybody@example.org invites you"


def test_an_address_that_is_refused_stops_no_other_letter(mailbox, person):
    mailbox.refused = {"no@example.org": "550 no such user", "slow@example.org": "450"}
    for address in ("no@example.org", "slow@example.org", "yes@example.org"):
        letters.post(Letter(kind="address", address=address, person=person))

    assert send_due() == 1

    states = dict(Letter.objects.values_list("address", "state"))
    assert states == {
        "no@example.org": "failed",
        "slow@example.org": "waiting",
        "yes@example.org": "done",
    }
    mailbox.refused = {}
    again()
    assert send_due() == 1


def test_a_letter_that_cannot_be_written_stops_no_other(mailbox, person, lab):
    invitation, _ = invite_person(
        lab=lab, by=person, name="dora@example.org", role="viewer"
    )
    letters.post(
        Letter(
            kind="invitation",
            address="dora@example.org",
            invitation=invitation,
            sealed="sealed with another key",
        )
    )
    letters.post(Letter(kind="address", address="yes@example.org", person=person))

    assert send_due() == 1

    assert "InvalidError" in Letter.objects.get(kind="invitation").problem


def test_a_server_that_is_away_is_tried_again_and_health_tells(
    mailbox, person, settings
):
    port = settings.EMAIL_PORT
    settings.EMAIL_PORT = 1
    for number in range(3):
        address = f"{number}@example.org"
        letters.post(Letter(kind="address", address=address, person=person))

    assert send_due() == 0
    assert Letter.objects.filter(attempts=1).count() == 1  # the others did not wait

    Job.objects.update(created_at=timezone.now() - timedelta(minutes=11))
    [due] = [each for each in health().due if each.kind == "letter"]
    assert (due.waiting, due.is_late) == (3, True)
    settings.EMAIL_PORT = port
    again()
    assert send_due() == 3


def test_a_letter_in_hand_of_a_worker_that_died_is_sent_later(mailbox, person):
    letter = Letter(kind="address", address="a@b.org", person=person)
    letters.post(letter)
    assert queue._claim("letter", letter.pk)

    assert send_due() == 1


def test_a_new_password_is_sent_to_a_confirmed_address_alone(mailbox, person):
    EmailAddress.objects.create(user=person, email="x@example.org", verified=False)
    for who in ("carol", "x@example.org", "nobody", "nobody@example.org"):
        letters.mail_new_password(who)
    assert not Letter.objects.exists()

    EmailAddress.objects.update(verified=True)
    for _ in range(3):
        letters.mail_new_password("X@example.org")
    assert Letter.objects.count() == 1

    send_due()
    [(_, letter)] = mailbox.letters
    [code] = re.findall(r"/login/new-password/#(\S+)", str(letter))
    assert letters.person_of_reset(code) == person
    person.set_password("another-long-one")
    person.save()
    assert letters.person_of_reset(code) is None
    assert letters.person_of_reset("") is None


@pytest.fixture
def told(lab, other_lab, private_study, person):
    """Events of a study of one's own lab, of a stranger's public and private one."""
    EmailAddress.objects.create(user=person, email="c@example.org", verified=True)
    public = Study.objects.create(
        lab=other_lab, slug="open", title="An open study", visibility="public"
    )
    hidden = Study.objects.create(lab=other_lab, slug="hidden", title="A hidden one")
    digests.ask_for_digest(person, "day", labs=True)
    old = timezone.now() - timedelta(minutes=5)
    for study in (private_study, public, hidden):
        Event.objects.create(
            lab=study.lab,
            study=study,
            kind="runs",
            sentence=Sentence("4 new runs"),
            at=old,
        )
    return public, hidden


def test_a_digest_tells_of_ones_labs_and_of_what_one_follows(mailbox, person, told):
    public, hidden = told
    Digest.objects.update(due_at=timezone.now())
    # What was public when it was followed and is not any more is not told.
    Follow.objects.create(person=person, study=public)
    Follow.objects.create(person=person, study=hidden)

    assert send_due() == 1

    [(to, letter)] = mailbox.letters
    text = letter.get_content()
    assert to == ["c@example.org"]
    assert "A secret" in text
    assert "An open study" in text
    assert "A hidden one" not in text
    assert "https://lab.example.org/studies/beta-lab/open/" in text
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert (
        letter["List-Unsubscribe"].strip().startswith("<https://lab.example.org/unsub")
    )
    # The same is not told twice, and of nothing no letter is sent.
    Digest.objects.update(due_at=timezone.now())
    assert send_due() == 0
    assert Letter.objects.filter(state="done").count() == 2


def test_who_has_left_a_lab_is_told_nothing_of_it(mailbox, person, told):
    Membership.objects.all().delete()
    Digest.objects.update(due_at=timezone.now())

    assert send_due() == 0
    assert mailbox.letters == []


def test_the_address_that_ends_a_digest_is_ones_own(person):
    other = get_user_model().objects.create_user("mallory")
    digests.ask_for_digest(person, "week", labs=False)
    code = digests.leaving(other.pk).rpartition("/unsubscribe/")[2].strip("/")

    assert digests.who_leaves(code) == other.pk
    assert digests.who_leaves(code[:-1]) is None
    assert not digests.end_digest(other.pk)
    assert digests.end_digest(person.pk)
