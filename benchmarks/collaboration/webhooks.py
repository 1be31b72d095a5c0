"""Signed delivery of events to URLs that labs choose, with retries and a log.

A failed delivery is retried after a minute, then after twice as long each time, eight
attempts in all.

Requests cannot reach the internal network: the host name is resolved once, all its
addresses must be public, and the connection goes to one of them, without redirects or
proxies.
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
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs, RetryLater, retry_delay
from benchmarks.models import AuditEntry, Delivery, Event, Job, Lab, Study, Webhook
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer

MAX_WEBHOOKS: Final = 20
"""The limit for each lab."""
MAX_DELIVERY_ATTEMPTS: Final = 8


def create_webhook(
    *,
    lab: Lab,
    target_url: str,
    kinds: Collection[str],
    site_url: str,
    study: Study | None = None,
    person: User | None = None,
    agent: str = "",
) -> Webhook:
    """Create a webhook for one study, or for all studies of the lab.

    The caller checks that the lab can see ``study``. Raises InvalidError.
    """
    parts = _checked(target_url, kinds)
    with transaction.atomic():
        # Concurrent requests must not exceed the limit.
        Lab.objects.select_for_update(no_key=True).get(pk=lab.pk)
        if Webhook.objects.filter(lab=lab).count() >= MAX_WEBHOOKS:
            raise InvalidError(
                "invalid_webhook",
                "{n} webhooks already exist. Delete one first.",
                n=MAX_WEBHOOKS,
            )
        webhook = Webhook.objects.create(
            lab=lab,
            study=study,
            target_url=target_url,
            kinds=sorted(kinds),
            salt=secrets.token_hex(16),
            site_url=site_url,
            person=person,
            created_by=person.get_username() if person else agent,
        )
        # URLs may contain secrets: log only the host.
        AuditEntry.log(
            lab,
            AuditEntry.Kind.CREATED_WEBHOOK,
            str(parts.hostname),
            person=person,
            agent=agent,
        )
    return webhook


def _checked(url: str, kinds: Collection[str]) -> SplitResult:
    if not kinds:
        raise InvalidError("invalid_webhook", "Choose at least one event.")
    return validate_url(url)


@transaction.atomic
def update_webhook(
    *,
    webhook: Webhook,
    target_url: str,
    kinds: Collection[str],
    study: Study | None,
    agent: str = "",
) -> Webhook:
    """Keep the secret. Raises InvalidError."""
    parts = _checked(target_url, kinds)
    webhook.target_url, webhook.kinds, webhook.study = target_url, sorted(kinds), study
    webhook.save(update_fields=["target_url", "kinds", "study"])
    AuditEntry.log(
        webhook.lab, AuditEntry.Kind.CHANGED_WEBHOOK, str(parts.hostname), agent=agent
    )
    return webhook


def webhook_secret(webhook: Webhook) -> str:
    value = f"{webhook.pk}:{webhook.salt}"
    digest = salted_hmac("virtlab.webhook", value, algorithm="sha256").hexdigest()
    return f"whs_{digest}"


def webhooks_of_labs(lab_ids: Collection[int]) -> QuerySet[Webhook]:
    rows = Webhook.objects.filter(lab__in=lab_ids)
    return rows.select_related("lab", "study__lab").order_by("pk")


def find_webhook(lab_ids: Collection[int], pk: int) -> Webhook:
    """Return a webhook of these labs, or raise NotFoundError."""
    webhook = webhooks_of_labs(lab_ids).filter(pk=pk).first()
    if webhook is None:
        raise NotFoundError(Sentence("webhook"), pk)
    return webhook


def webhook_deliveries(webhook: Webhook) -> QuerySet[Delivery]:
    return Delivery.objects.filter(webhook=webhook)


@transaction.atomic
def delete_webhook(
    *, webhook: Webhook, person: User | None = None, agent: str = ""
) -> None:
    AuditEntry.log(
        webhook.lab,
        AuditEntry.Kind.DELETED_WEBHOOK,
        str(validate_url(webhook.target_url).hostname),
        person=person,
        agent=agent,
    )
    webhook.delete()


def send_test(webhook: Webhook) -> Delivery:
    delivery = Delivery.objects.create(lab_id=webhook.lab_id, webhook=webhook)
    queue.enqueue([_job_of(delivery)])
    return delivery


def queue_deliveries(event: Event) -> None:
    """Call this in the transaction that stores the event."""
    matching = Q(study=event.study_id) | Q(study=None, lab=event.lab_id)
    deliveries = Delivery.objects.bulk_create(
        Delivery(lab_id=webhook.lab_id, webhook=webhook, event=event)
        for webhook in Webhook.objects.filter(matching)
        if event.kind in webhook.kinds
    )
    queue.enqueue(map(_job_of, deliveries))


def _job_of(delivery: Delivery) -> Job:
    # With one partition, a webhook's deliveries are sent one by one.
    return Job(
        kind=JobKind.WEBHOOK,
        subject_id=delivery.pk,
        partition=delivery.webhook_id,
        lab_id=delivery.lab_id,
    )


@queue.job_handler(JobKind.WEBHOOK)
def _deliver(jobs: Jobs) -> None:
    related = "webhook__lab", "event__study__lab"
    rows = Delivery.objects.select_related(*related).filter(pk=jobs[0].subject_id)
    if (delivery := rows.first()) is None:
        return
    webhook = delivery.webhook
    viewer = Viewer(frozenset({webhook.lab_id}))
    visible = Event.objects.visible_to(viewer)
    if delivery.event and not visible.filter(pk=delivery.event.pk).exists():
        # The lab can no longer see the event.
        delivery.delete()
        return
    body = json.dumps(webhook_payload(webhook, delivery)).encode()
    stamp = str(int(time.time()))
    reply = post_once(
        webhook.target_url,
        body,
        {
            "Content-Type": "application/json",
            "User-Agent": f"Virtlab/{settings.VERSION}",
            "Virtlab-Event": delivery.event.kind if delivery.event else "test",
            "Virtlab-Delivery": str(delivery.pk),
            "Virtlab-Timestamp": stamp,
            "Virtlab-Signature": signature(webhook_secret(webhook), stamp, body),
        },
    )
    delivery.attempts += 1
    delivery.attempted_at = timezone.now()
    delivery.http_status, delivery.problem = reply.status, reply.problem
    delivery.duration_ms = reply.duration_ms
    if reply.is_success:
        delivery.state = Delivery.State.DONE
    elif delivery.attempts >= MAX_DELIVERY_ATTEMPTS or delivery.event is None:
        delivery.state = Delivery.State.FAILED
    else:
        delivery.next_attempt_at = timezone.now() + retry_delay(delivery.attempts)
    # The row may have been deleted with its webhook.
    names = (
        *("attempts", "attempted_at", "http_status", "problem", "duration_ms"),
        *("state", "next_attempt_at"),
    )
    Delivery.objects.filter(pk=delivery.pk).update(
        **{name: getattr(delivery, name) for name in names}
    )
    if delivery.state == Delivery.State.WAITING:
        raise RetryLater(delivery.next_attempt_at, skips_partition=True)


def signature(secret: str, stamp: str, body: bytes) -> str:
    """The timestamp prevents replays."""
    digest = hmac.new(secret.encode(), f"{stamp}.".encode() + body, sha256)
    return f"sha256={digest.hexdigest()}"


def webhook_payload(webhook: Webhook, delivery: Delivery) -> dict[str, Any]:
    event = delivery.event
    if event is None:
        return {
            "delivery": delivery.pk,
            "event": "test",
            "message": "This is a test.",
            "lab": webhook.lab.slug,
        }
    study = event.study
    return {
        "delivery": delivery.pk,
        "event": event.kind,
        "id": event.pk,
        "occurred_at": event.occurred_at.isoformat(),
        "lab": study.lab.slug,
        "study": study.slug,
        "title": study.title,
        "message": str(event.message),
        "content": event.content,
        # A stable public URL, independent of URL names.
        "page_url": f"{webhook.site_url}/studies/{study.lab.slug}/{study.slug}/",
    }


DEADLINE_S: Final = 10.0
MAX_WEBHOOK_RESPONSE_BYTES: Final = 64 * 1024
MAX_TARGET_URL_LENGTH: Final = 1_000
DEFAULT_PORTS: Final = {"https": 443, "http": 80}
# Python considers them public: IPv4 inside of IPv6, relays to IPv4, former site-local
# addresses, and networks that were reserved later.
RESERVED_NETWORKS: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "::/96",
        "fec0::/10",
        "3fff::/20",
        "5f00::/16",
        "192.88.99.0/24",
    )
)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class WebhookResponse:
    """The result of a request: the HTTP status, or None without a response.

    ``problem`` is empty if there was a response without redirect.
    """

    status: int | None
    problem: str
    duration_ms: int

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def is_public_address(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return is_public_address(address.ipv4_mapped)
    if any(address in network for network in RESERVED_NETWORKS):
        return False
    return address.is_global and not address.is_multicast


def validate_url(url: str) -> SplitResult:
    """Return the parts of a URL; raise InvalidError if deliveries may not use it."""
    problem = InvalidError(
        "invalid_webhook",
        "Send a URL such as https://example.org/hook, without a password.",
    )
    if len(url) > MAX_TARGET_URL_LENGTH or not url.isascii() or not url.isprintable():
        raise problem
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise problem from None
    if (
        parts.scheme not in DEFAULT_PORTS
        or not parts.hostname
        or " " in url
        or port == 0
    ):
        raise problem
    if parts.username is not None or parts.password is not None or "\\" in url:
        raise problem
    with suppress(ValueError):
        _check_addresses_are_public([ipaddress.ip_address(parts.hostname)])
    return parts


def _check_addresses_are_public(addresses: list[Address]) -> None:
    if settings.WEBHOOK_PRIVATE_ADDRESSES:
        return
    if not all(is_public_address(address) for address in addresses):
        raise InvalidError(
            "invalid_webhook",
            "The URL points to a private network, so it is not called.",
        )


def post_once(url: str, body: bytes, headers: Mapping[str, str]) -> WebhookResponse:
    """Return errors as the ``problem`` of the response."""
    began = time.monotonic()
    status, problem = None, ""
    try:
        status = _send_request(validate_url(url), body, headers)
    except InvalidError as error:
        problem = str(error)
    except TimeoutError:
        problem = f"No response within {DEADLINE_S:.0f} s."
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        problem = f"{type(error).__name__}: {error}"
    if status is not None and 300 <= status < 400:
        problem = "Redirects are not followed."
    took_ms = round((time.monotonic() - began) * 1000)
    if status is None and took_ms >= DEADLINE_S * 1000:
        problem = f"No response within {DEADLINE_S:.0f} s."
    return WebhookResponse(status, problem[:300], took_ms)


def _send_request(parts: SplitResult, body: bytes, headers: Mapping[str, str]) -> int:
    host, port = str(parts.hostname), parts.port or DEFAULT_PORTS[parts.scheme]
    address_infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # Without the interface, as in fe80::1%eth0.
    numbers = [str(path[0]).partition("%")[0] for *_, path in address_infos]
    _check_addresses_are_public([ipaddress.ip_address(number) for number in numbers])
    sock = socket.create_connection((numbers[0], port), timeout=DEADLINE_S)

    def shut() -> None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    # A socket timeout applies to each read: a slow server could block the worker.
    deadline = threading.Timer(DEADLINE_S, shut)
    deadline.daemon = True
    deadline.start()
    try:
        line: socket.socket = sock
        if parts.scheme == "https":
            context = ssl.create_default_context()
            line = context.wrap_socket(sock, server_hostname=host)
        connection = http.client.HTTPConnection(host, port, timeout=DEADLINE_S)
        connection.sock = line
        path = parts.path or "/"
        target = f"{path}?{parts.query}" if parts.query else path
        name = f"[{host}]" if ":" in host else host
        at = name if port == DEFAULT_PORTS[parts.scheme] else f"{name}:{port}"
        connection.request(
            "POST", target, body, {**headers, "Host": at, "Connection": "close"}
        )
        answer = connection.getresponse()
        answer.read(MAX_WEBHOOK_RESPONSE_BYTES)
        return answer.status
    finally:
        deadline.cancel()
        sock.close()
