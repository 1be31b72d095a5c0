"""Webhooks: addresses to which a lab's events are sent, signed, retried and logged.

Each address is a unit of its own, tried again after one minute, then after twice as
long each time, eight times in all.

Nothing is sent into our own network: the name is looked up once, every address it has
must be public, and the connection goes to one of these. No redirect is followed, no
proxy is used, and all of it ends at a deadline.
"""

import hmac
import http.client
import ipaddress
import json
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.models import AuditEntry, Delivery, Event, Job, Lab, Study, Webhook
from benchmarks.sentences import Sentence
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
    """Store an address; ``agent`` names the agent if no person did it.

    The caller checks that the lab sees ``study``.
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
        AuditEntry.log(
            lab,
            AuditEntry.Kind.MADE_WEBHOOK,
            str(parts.hostname),
            person=person,
            agent=agent,
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
    AuditEntry.log(
        webhook.lab, AuditEntry.Kind.CHANGED_WEBHOOK, str(parts.hostname), agent=agent
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
    AuditEntry.log(
        webhook.lab,
        AuditEntry.Kind.DELETED_WEBHOOK,
        str(checked_url(webhook.url).hostname),
        person=person,
        agent=agent,
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


DEADLINE_S: Final = 10.0
MOST_READ: Final = 64 * 1024
MOST_LETTERS: Final = 1_000
PORTS: Final = {"https": 443, "http": 80}
# Python calls these public, but an IPv4 address stands in each of them.
TRANSLATED: Final = tuple(
    ipaddress.ip_network(it) for it in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16")
)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Reply:
    """What an address answered, or why nothing came of it."""

    status: int | None
    problem: str
    took_ms: int

    @property
    def is_taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def is_public(address: Address) -> bool:
    """Return whether an address is one of the open internet."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return is_public(address.ipv4_mapped)
        if any(address in network for network in TRANSLATED):
            return False
    return address.is_global and not address.is_multicast


def checked_url(url: str) -> SplitResult:
    """Return the parts of an address that may be posted to, or raise InvalidError."""
    problem = InvalidError(
        "webhook",
        "Send an address such as https://example.org/hook, without a password.",
    )
    if len(url) > MOST_LETTERS or not url.isascii() or not url.isprintable():
        raise problem
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise problem from None
    if parts.scheme not in PORTS or not parts.hostname or " " in url or port == 0:
        raise problem
    if parts.username is not None or parts.password is not None or "\\" in url:
        raise problem
    with suppress(ValueError):
        _require_public([ipaddress.ip_address(parts.hostname)])
    return parts


def _require_public(addresses: list[Address]) -> None:
    if settings.WEBHOOK_PRIVATE_ADDRESSES:
        return
    if not all(is_public(address) for address in addresses):
        raise InvalidError(
            "webhook", "The address leads into a private network: it is not asked."
        )


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
    """Send a body once; return what came of it. Nothing others cause is raised."""
    began = time.monotonic()
    status, problem = None, ""
    try:
        status = _posted(checked_url(url), body, headers)
    except InvalidError as error:
        problem = str(error)
    except TimeoutError:
        problem = f"No answer within {DEADLINE_S:.0f} s."
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        problem = f"{type(error).__name__}: {error}"
    if status is not None and 300 <= status < 400:
        problem = "Redirects are not followed."
    took_ms = round((time.monotonic() - began) * 1000)
    if status is None and took_ms >= DEADLINE_S * 1000:
        problem = f"No answer within {DEADLINE_S:.0f} s."
    return Reply(status, problem[:300], took_ms)


def _posted(parts: SplitResult, body: bytes, headers: Mapping[str, str]) -> int:
    host, port = str(parts.hostname), parts.port or PORTS[parts.scheme]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # A link-local address may carry its interface: fe80::1%eth0.
    numbers = [str(place[0]).partition("%")[0] for *_, place in found]
    _require_public([ipaddress.ip_address(number) for number in numbers])
    opened = socket.create_connection((numbers[0], port), timeout=DEADLINE_S)

    def shut() -> None:
        with suppress(OSError):  # it may be closed by now
            opened.shutdown(socket.SHUT_RDWR)

    # A socket's timeout is for each read: a slow sender would hold a worker.
    deadline = threading.Timer(DEADLINE_S, shut)
    deadline.daemon = True
    deadline.start()
    try:
        line: socket.socket = opened
        if parts.scheme == "https":
            context = ssl.create_default_context()
            line = context.wrap_socket(opened, server_hostname=host)
        connection = http.client.HTTPConnection(host, port, timeout=DEADLINE_S)
        connection.sock = line
        place = parts.path or "/"
        target = f"{place}?{parts.query}" if parts.query else place
        name = f"[{host}]" if ":" in host else host
        at = name if port == PORTS[parts.scheme] else f"{name}:{port}"
        connection.request(
            "POST", target, body, {**headers, "Host": at, "Connection": "close"}
        )
        answer = connection.getresponse()
        answer.read(MOST_READ)
        return answer.status
    finally:
        deadline.cancel()
        opened.close()
