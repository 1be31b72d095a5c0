"""Webhooks: who is told, signed how, tried again when, and what is kept of it."""

import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.errors import InvalidError
from benchmarks.models import AuditEntry, Delivery, Event, Job, Webhook
from benchmarks.studies.saving import update_study
from benchmarks.together import webhooks
from benchmarks.together.events import tell_published
from benchmarks.together.webhooks import (
    Reply,
    make_webhook,
    secret_of,
    send_test,
)
from benchmarks.unattended import queue
from tests import jobs

URL = "https://hooks.example/virtlab"


@pytest.fixture
def make(lab, person):
    def made(url=URL, kinds=Event.Kind.values, study=None, of=lab):
        return make_webhook(
            lab=of,
            person=person,
            url=url,
            kinds=kinds,
            site="https://virtlab.example",
            study=study,
        )

    return made


@pytest.fixture
def posted(monkeypatch):
    """What was posted; the answers are those of ``statuses``, then 200."""

    class Posted(list):
        statuses = ()

        def __call__(self, url, body, headers):
            self.append((url, body, headers))
            status = self.statuses.pop(0) if self.statuses else 200
            return Reply(status, "" if status else "It is away.", 5)

    made = Posted()
    monkeypatch.setattr(webhooks, "post", made)
    return made


def deliver():
    """Do what the sweeper's hints have a worker do."""
    for kind, webhook in queue.to_be_sent():
        queue.run(kind, webhook)


def test_an_event_is_told_once_and_signed(make, study, posted):
    webhook = make()
    tell_published(study, 1, 7)
    deliver()
    deliver()

    [(url, body, headers)] = posted
    message = json.loads(body)
    assert (url, message["event"], message["study"]) == (URL, "published", "study")
    assert message["page"] == "https://virtlab.example/studies/alpha-lab/study/"
    signed = f"{headers['Virtlab-Timestamp']}.".encode() + body
    key = secret_of(webhook).encode()
    wanted = hmac.new(key, signed, hashlib.sha256).hexdigest()
    assert headers["Virtlab-Signature"] == f"sha256={wanted}"
    kept = Delivery.objects.get()
    assert (kept.state, kept.status, kept.attempts) == ("done", 200, 1)


def test_each_webhook_has_a_secret_that_is_not_stored(make):
    first, second = make(), make()

    assert secret_of(first) != secret_of(second)
    stored = json.dumps(list(Webhook.objects.values()), default=str)
    assert secret_of(first).removeprefix("whs_") not in stored
    assert AuditEntry.objects.filter(kind="made_webhook").count() == 2


def test_what_was_not_asked_for_is_not_told(make, other_lab, study, posted):
    make(kinds=["runs"])
    make(of=other_lab)  # tells of that lab's own studies
    tell_published(study, 1, 7)
    deliver()

    assert not posted


def test_a_lab_is_told_of_anothers_study_while_it_sees_it(
    make, other_lab, study, posted
):
    make(of=other_lab, study=study)
    tell_published(study, 1, 7)
    deliver()
    assert len(posted) == 1

    tell_published(study, 2, 8)
    update_study(study=study, visibility="private")
    deliver()
    assert len(posted) == 1
    assert Delivery.objects.filter(state="waiting").count() == 0


def test_what_fails_is_tried_again_later_and_at_last_given_up(make, study, posted):
    make()
    tell_published(study, 1, 7)
    posted.statuses = [500, None, 302] + [404] * 9
    for n in range(1, 9):
        deliver()
        kept = Delivery.objects.get()
        assert kept.attempts == n
        if n < 8:
            wait = kept.next_at - timezone.now()
            least = min(2 ** (n - 1), 60)
            assert timedelta(minutes=least - 1) < wait <= timedelta(minutes=least)
            deliver()  # not yet
            assert len(posted) == n
        jobs.make_due()

    assert Delivery.objects.get().state == "failed"
    deliver()
    assert len(posted) == 8
    # What another's server does is no trouble of ours.
    assert not Job.objects.exists()


def test_an_error_of_ours_is_kept_to_its_webhook(make, study, posted, monkeypatch):
    broken, _ = make("https://broken.example/"), make()
    tell_published(study, 1, 7)
    tell = webhooks.message_of

    def message_of(webhook, delivery):
        if webhook == broken:
            raise KeyError("title")
        return tell(webhook, delivery)

    monkeypatch.setattr(webhooks, "message_of", message_of)
    deliver()

    assert [url for url, *_ in posted] == [URL]
    work = Job.objects.get()
    assert (work.kind, work.partition, work.failures) == ("webhook", broken.pk, 1)
    assert "KeyError" in work.error


def test_a_test_is_told_and_not_tried_again(make, posted):
    send_test(make())
    posted.statuses = [500]
    deliver()

    assert json.loads(posted[0][1])["event"] == "test"
    assert Delivery.objects.get().state == "failed"


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "ftp://a.example/", ""])
def test_no_address_of_ours_is_taken(make, url):
    with pytest.raises(InvalidError):
        make(url)


def test_a_webhook_tells_something_and_there_are_not_too_many(make, monkeypatch):
    with pytest.raises(InvalidError):
        make(kinds=[])
    monkeypatch.setattr(webhooks, "MOST", 1)
    make()
    with pytest.raises(InvalidError):
        make()
