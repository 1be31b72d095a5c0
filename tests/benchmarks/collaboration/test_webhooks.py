"""Webhooks: recipients, signatures, retries and delivery log."""

import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.collaboration import webhooks
from benchmarks.collaboration.study_events import notify_version_published
from benchmarks.collaboration.webhooks import (
    WebhookResponse,
    create_webhook,
    send_test,
    webhook_secret,
)
from benchmarks.errors import InvalidError
from benchmarks.jobs import queue
from benchmarks.models import AuditEntry, Delivery, Event, Job, Webhook
from benchmarks.studies.saving import update_study
from tests import job_queue

URL = "https://hooks.example/virtlab"


@pytest.fixture
def make(lab, person):
    def create(url=URL, kinds=Event.Kind.values, study=None, of=lab):
        return create_webhook(
            lab=of,
            person=person,
            target_url=url,
            kinds=kinds,
            site_url="https://virtlab.example",
            study=study,
        )

    return create


@pytest.fixture
def posted(monkeypatch):
    """The posted requests; responses have the codes of ``statuses``, then 200."""

    class Posted(list):
        statuses = ()

        def __call__(self, url, body, headers):
            self.append((url, body, headers))
            status = self.statuses.pop(0) if self.statuses else 200
            return WebhookResponse(status, "" if status else "It is away.", 5)

    created = Posted()
    monkeypatch.setattr(webhooks, "post_once", created)
    return created


def deliver():
    """Run the jobs that the sweeper dispatches to workers."""
    for kind, webhook in queue.partitions_to_dispatch():
        queue.run_due_jobs(kind, webhook)


def test_event_is_delivered_once_and_signed(make, study, posted):
    webhook = make()
    notify_version_published(study, 1, 7)
    deliver()
    deliver()

    [(url, body, headers)] = posted
    message = json.loads(body)
    assert (url, message["event"], message["study"]) == (URL, "published", "study")
    assert message["page_url"] == "https://virtlab.example/studies/alpha-lab/study/"
    signed = f"{headers['Virtlab-Timestamp']}.".encode() + body
    key = webhook_secret(webhook).encode()
    expected = hmac.new(key, signed, hashlib.sha256).hexdigest()
    assert headers["Virtlab-Signature"] == f"sha256={expected}"
    stored = Delivery.objects.get()
    assert (stored.state, stored.http_status, stored.attempts) == ("done", 200, 1)


def test_webhook_secrets_are_not_stored(make):
    first, second = make(), make()

    assert webhook_secret(first) != webhook_secret(second)
    stored = json.dumps(list(Webhook.objects.values()), default=str)
    assert webhook_secret(first).removeprefix("whs_") not in stored
    assert AuditEntry.objects.filter(kind="created_webhook").count() == 2


def test_other_kinds_of_events_are_not_delivered(make, other_lab, study, posted):
    make(kinds=["runs"])
    make(of=other_lab)  # tells of that lab's own studies
    notify_version_published(study, 1, 7)
    deliver()

    assert not posted


def test_events_of_another_labs_study_are_delivered_while_visible(
    make, other_lab, study, posted
):
    make(of=other_lab, study=study)
    notify_version_published(study, 1, 7)
    deliver()
    assert len(posted) == 1

    notify_version_published(study, 2, 8)
    update_study(study=study, visibility="private")
    deliver()
    assert len(posted) == 1
    assert Delivery.objects.filter(state="waiting").count() == 0


def test_failed_delivery_is_retried_and_finally_given_up(make, study, posted):
    make()
    notify_version_published(study, 1, 7)
    posted.statuses = [500, None, 302] + [404] * 9
    for n in range(1, 9):
        deliver()
        stored = Delivery.objects.get()
        assert stored.attempts == n
        if n < 8:
            wait = stored.next_attempt_at - timezone.now()
            least = min(2 ** (n - 1), 60)
            assert timedelta(minutes=least - 1) < wait <= timedelta(minutes=least)
            deliver()  # not yet
            assert len(posted) == n
        job_queue.make_due()

    assert Delivery.objects.get().state == "failed"
    deliver()
    assert len(posted) == 8
    # Errors of the remote server are not failures of the job.
    assert not Job.objects.exists()


def test_internal_error_affects_only_its_webhook(make, study, posted, monkeypatch):
    broken, _ = make("https://broken.example/"), make()
    notify_version_published(study, 1, 7)
    tell = webhooks.webhook_payload

    def message_of(webhook, delivery):
        if webhook == broken:
            raise KeyError("title")
        return tell(webhook, delivery)

    monkeypatch.setattr(webhooks, "webhook_payload", message_of)
    deliver()

    assert [url for url, *_ in posted] == [URL]
    work = Job.objects.get()
    assert (work.kind, work.partition, work.failures) == ("webhook", broken.pk, 1)
    assert "KeyError" in work.error


def test_test_delivery_is_not_retried(make, posted):
    send_test(make())
    posted.statuses = [500]
    deliver()

    assert json.loads(posted[0][1])["event"] == "test"
    assert Delivery.objects.get().state == "failed"


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "ftp://a.example/", ""])
def test_internal_addresses_are_rejected(make, url):
    with pytest.raises(InvalidError):
        make(url)


def test_webhook_needs_kinds_and_number_is_limited(make, monkeypatch):
    with pytest.raises(InvalidError):
        make(kinds=[])
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 1)
    make()
    with pytest.raises(InvalidError):
        make()
