"""Webhooks: addresses that a lab has told what happens, signed, tried again, logged.

What is told is an event as `events` wrote it. Each address is a unit of its own: one
that does not answer holds up no other, and no upload. What it answers is in its log; it
is told again after one minute, then after twice as long each time, eight times in all.
"""

import hmac
import json
import secrets
import time
from collections.abc import Collection
from hashlib import sha256
from typing import Any, Final
from urllib.parse import SplitResult

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.labs.audit import log_action
from benchmarks.models import AuditEntry, Delivery, Event, Job, Lab, Study, Webhook
from benchmarks.sentences import Sentence
from benchmarks.together.posting import checked_url, post
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind, Later, delay
from benchmarks.viewer import Viewer

MOST: Final = 20
"""How many webhooks a lab has."""
MOST_ATTEMPTS: Final = 8


def make_webhook(
    *,
    lab: Lab,
    url: str,
    kinds: Collection[str],
    site: str,
    study: Study | None = None,
    person: User | None = None,
    agent: str = "",
) -> Webhook:
    """Store an address; ``study`` was found to be one that the lab sees.

    ``agent`` is the name of an agent, for where it was no person.
    """
    parts = _checked(url, kinds)
    with transaction.atomic():
        # Of two who make the last one at once one waits here.
        Lab.objects.select_for_update(no_key=True).get(pk=lab.pk)
        if Webhook.objects.filter(lab=lab).count() >= MOST:
            raise InvalidError(
                "webhook", "There are {n} webhooks already. Delete one first.", n=MOST
            )
        webhook = Webhook.objects.create(
            lab=lab,
            study=study,
            url=url,
            kinds=sorted(kinds),
            salt=secrets.token_hex(16),
            site=site,
            person=person,
            made_by=person.get_username() if person else agent,
        )
        # Not the whole address: some hold a secret of their own.
        log_action(
            lab=lab,
            person=person,
            agent=agent,
            kind=AuditEntry.Kind.MADE_WEBHOOK,
            about=str(parts.hostname),
        )
    return webhook


def _checked(url: str, kinds: Collection[str]) -> SplitResult:
    if not kinds:
        raise InvalidError("webhook", "Choose its events.")
    return checked_url(url)


@transaction.atomic
def change_webhook(
    *,
    webhook: Webhook,
    url: str,
    kinds: Collection[str],
    study: Study | None,
    agent: str = "",
) -> Webhook:
    """Tell another address, or of other things; the secret stays."""
    parts = _checked(url, kinds)
    webhook.url, webhook.kinds, webhook.study = url, sorted(kinds), study
    webhook.save(update_fields=["url", "kinds", "study"])
    log_action(
        lab=webhook.lab,
        person=None,
        agent=agent,
        kind=AuditEntry.Kind.CHANGED_WEBHOOK,
        about=str(parts.hostname),
    )
    return webhook


def secret_of(webhook: Webhook) -> str:
    """Return the key with which its deliveries are signed."""
    made_of = f"{webhook.pk}:{webhook.salt}"
    digest = salted_hmac("virtlab.webhook", made_of, algorithm="sha256").hexdigest()
    return f"whs_{digest}"


def kept_webhooks(lab_ids: Collection[int]) -> QuerySet[Webhook]:
    """Return the webhooks of these labs, whose keeper asks."""
    rows = Webhook.objects.filter(lab__in=lab_ids)
    return rows.select_related("lab", "study__lab").order_by("pk")


def find_webhook(lab_ids: Collection[int], pk: int) -> Webhook:
    """Return a webhook of one of these labs, or raise NotFoundError."""
    webhook = kept_webhooks(lab_ids).filter(pk=pk).first()
    if webhook is None:
        raise NotFoundError(Sentence("webhook"), pk)
    return webhook


def deliveries_of(webhook: Webhook) -> QuerySet[Delivery]:
    """Return what became of each telling."""
    return Delivery.objects.filter(webhook=webhook).order_by("-pk")


@transaction.atomic
def delete_webhook(
    *, webhook: Webhook, person: User | None = None, agent: str = ""
) -> None:
    """Tell an address nothing more; its log goes with it."""
    log_action(
        lab=webhook.lab,
        person=person,
        agent=agent,
        kind=AuditEntry.Kind.DELETED_WEBHOOK,
        about=str(checked_url(webhook.url).hostname),
    )
    webhook.delete()


def send_test(webhook: Webhook) -> Delivery:
    """Have an address told that this is a test."""
    delivery = Delivery.objects.create(lab_id=webhook.lab_id, webhook=webhook)
    queue.put([_job_of(delivery)])
    return delivery


def note_deliveries(event: Event) -> None:
    """Note who is to be told of an event, in the transaction that writes it."""
    of_it = Q(study=event.study_id) | Q(study=None, lab=event.lab_id)
    noted = Delivery.objects.bulk_create(
        Delivery(lab_id=webhook.lab_id, webhook=webhook, event=event)
        for webhook in Webhook.objects.filter(of_it)
        if event.kind in webhook.kinds
    )
    queue.put(map(_job_of, noted))


def _job_of(delivery: Delivery) -> Job:
    # Those of one webhook are told one after the other.
    return Job(
        kind=Kind.WEBHOOK,
        subject_id=delivery.pk,
        partition=delivery.webhook_id,
        lab_id=delivery.lab_id,
    )


@queue.job(Kind.WEBHOOK)
def _deliver(jobs: Jobs) -> None:
    """Tell one event, or raise Later."""
    related = "webhook__lab", "event__study__lab"
    rows = Delivery.objects.select_related(*related).filter(pk=jobs[0].subject_id)
    if (delivery := rows.first()) is None:
        return
    webhook = delivery.webhook
    viewer = Viewer(frozenset({webhook.lab_id}))
    visible = Event.objects.visible_to(viewer)
    if delivery.event and not visible.filter(pk=delivery.event.pk).exists():
        # Hidden since: send nothing, not even that.
        delivery.delete()
        return
    body = json.dumps(message_of(webhook, delivery)).encode()
    stamp = str(int(time.time()))
    reply = post(
        webhook.url,
        body,
        {
            "Content-Type": "application/json",
            "User-Agent": f"Virtlab/{settings.VERSION}",
            "Virtlab-Event": delivery.event.kind if delivery.event else "test",
            "Virtlab-Delivery": str(delivery.pk),
            "Virtlab-Timestamp": stamp,
            "Virtlab-Signature": signature(secret_of(webhook), stamp, body),
        },
    )
    delivery.attempts += 1
    delivery.tried_at = timezone.now()
    delivery.status, delivery.problem = reply.status, reply.problem
    delivery.took_ms = reply.took_ms
    if reply.is_taken:
        delivery.state = Delivery.State.DONE
    elif delivery.attempts >= MOST_ATTEMPTS or delivery.event is None:
        delivery.state = Delivery.State.FAILED
    else:
        delivery.next_at = timezone.now() + delay(delivery.attempts)
    # It may have been deleted with its webhook: then there is nothing to keep.
    names = ("attempts", "tried_at", "status", "problem", "took_ms", "state", "next_at")
    Delivery.objects.filter(pk=delivery.pk).update(
        **{name: getattr(delivery, name) for name in names}
    )
    if delivery.state == Delivery.State.WAITING:
        raise Later(delivery.next_at, ends_round=True)


def signature(secret: str, stamp: str, body: bytes) -> str:
    """Return what an address checks: over the time as well, against old ones again."""
    digest = hmac.new(secret.encode(), f"{stamp}.".encode() + body, sha256)
    return f"sha256={digest.hexdigest()}"


def message_of(webhook: Webhook, delivery: Delivery) -> dict[str, Any]:
    """Return what an address is told."""
    event = delivery.event
    if event is None:
        return {
            "delivery": delivery.pk,
            "event": "test",
            "sentence": "This is a test.",
            "lab": webhook.lab.slug,
        }
    study = event.study
    return {
        "delivery": delivery.pk,
        "event": event.kind,
        "id": event.pk,
        "at": event.at.isoformat(),
        "lab": study.lab.slug,
        "study": study.slug,
        "title": study.title,
        "sentence": str(event.sentence),
        "content": event.content,
        # The page's address is a promise: it is written out, not looked up.
        "page": f"{webhook.site}/studies/{study.lab.slug}/{study.slug}/",
    }
