"""What is not kept for ever: sessions, reports, and what is over for long.

Uploads, studies, versions and the audit log are: only somebody deletes them.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Final

from django.contrib.sessions.models import Session as SignIn
from django.db.models import Model, Q, QuerySet
from django.utils import timezone

from benchmarks.models import (
    Delivery,
    Event,
    Invitation,
    Job,
    Letter,
    Picture,
    PublishingJob,
    Report,
    Reread,
    Token,
)

EVERY_S: Final = 3600.0


@dataclass(frozen=True)
class Rule:
    """What goes, so long after it was over."""

    what: str
    kept: timedelta
    over: Callable[[datetime], QuerySet[Any]]

    def rows(self) -> QuerySet[Any]:
        return self.over(timezone.now() - self.kept)


MADE: Final[Mapping[str, type[Model]]] = {
    Job.Kind.PUBLISHING: PublishingJob,
    Job.Kind.REPORT: Report,
    Job.Kind.PICTURE: Picture,
    Job.Kind.WEBHOOK: Delivery,
    Job.Kind.LETTER: Letter,
}


def _left_behind() -> QuerySet[Job]:
    """Return the jobs of what was deleted before it was made or sent."""
    gone = [
        Q(kind=kind) & ~Q(subject_id__in=model._default_manager.values("pk"))
        for kind, model in MADE.items()
    ]
    return Job.objects.filter(reduce(or_, gone))


RULES: Final = (
    Rule(
        "sign-ins that expired",
        timedelta(0),
        lambda before: SignIn.objects.filter(expire_date__lt=before),
    ),
    Rule(
        # Whoever asks for one again gets it made anew.
        "reports",
        timedelta(days=30),
        lambda before: Report.objects.filter(requested_at__lt=before).exclude(
            stage__in=Report.UNFINISHED
        ),
    ),
    Rule(
        "pictures",
        timedelta(days=30),
        lambda before: Picture.objects.filter(requested_at__lt=before).exclude(
            stage__in=Picture.UNFINISHED
        ),
    ),
    Rule(
        "invitations that are over",
        timedelta(days=90),
        lambda before: Invitation.objects.filter(
            Q(expires_at__lt=before)
            | Q(accepted_at__lt=before)
            | Q(withdrawn_at__lt=before)
        ),
    ),
    Rule(
        "publishing that failed",
        timedelta(days=90),
        lambda before: PublishingJob.objects.filter(
            stage=PublishingJob.Stage.FAILED, requested_at__lt=before
        ),
    ),
    Rule(
        "deliveries of webhooks",
        timedelta(days=90),
        lambda before: Delivery.objects.filter(created_at__lt=before),
    ),
    Rule(
        "jobs of what was deleted",
        timedelta(0),
        lambda _before: _left_behind(),
    ),
    Rule(
        "letters",
        timedelta(days=30),
        lambda before: Letter.objects.filter(created_at__lt=before),
    ),
    Rule(
        "events",
        timedelta(days=365),
        lambda before: Event.objects.filter(at__lt=before),
    ),
    Rule(
        "rereads that are finished",
        timedelta(days=365),
        lambda before: Reread.objects.filter(finished_at__lt=before),
    ),
    Rule(
        # Their agents stay: runs are theirs.
        "tokens that are over",
        timedelta(days=365),
        lambda before: Token.objects.filter(
            Q(revoked_at__lt=before) | Q(expires_at__lt=before)
        ),
    ),
)


def counts() -> dict[str, int]:
    """Return how much of each would go now."""
    return {rule.what: rule.rows().count() for rule in RULES}


def tidy() -> dict[str, int]:
    """Delete what is over; return how much of each went."""
    gone = {}
    for rule in RULES:
        rows = rule.rows()
        _, by_model = rows.delete()
        gone[rule.what] = by_model.get(rows.model._meta.label, 0)
    return gone


class Hourly:
    """Tidies once an hour, however often it is called."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.next = 0.0

    def __call__(self) -> dict[str, int]:
        if self.clock() < self.next:
            return {}
        self.next = self.clock() + EVERY_S
        return tidy()
