"""Retention: delete expired sessions, old reports and other finished rows.

Uploads, studies, versions and the audit log are never deleted automatically.
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
    Making,
    Picture,
    PublishingJob,
    Report,
    Reread,
    Token,
)

EVERY_S: Final = 3600.0


@dataclass(frozen=True)
class Rule:
    """Rows that are deleted some days after a moment.

    ``over`` is its column, or returns the rows whose moment is before a time.
    """

    what: str
    days: int
    model: type[Model]
    over: str | Callable[[datetime], Q]

    def rows(self) -> QuerySet[Any]:
        before = timezone.now() - timedelta(days=self.days)
        if isinstance(self.over, str):
            over = Q(**{f"{self.over}__lt": before})
        else:
            over = self.over(before)
        return self.model._default_manager.filter(over)


MADE: Final[Mapping[str, type[Model]]] = {
    Job.Kind.PUBLISHING: PublishingJob,
    Job.Kind.REPORT: Report,
    Job.Kind.PICTURE: Picture,
    Job.Kind.WEBHOOK: Delivery,
    Job.Kind.LETTER: Letter,
}


def _left_behind(_before: datetime) -> Q:
    """Select the jobs of things that were deleted before they were made or sent."""
    gone = [
        Q(kind=kind) & ~Q(subject_id__in=model._default_manager.values("pk"))
        for kind, model in MADE.items()
    ]
    return reduce(or_, gone)


def _finished(before: datetime) -> Q:
    return Q(requested_at__lt=before) & ~Q(stage__in=Making.UNFINISHED)


def _failed(before: datetime) -> Q:
    return Q(stage=Making.Stage.FAILED, requested_at__lt=before)


def _any_of(*columns: str) -> Callable[[datetime], Q]:
    return lambda before: reduce(
        or_, (Q(**{f"{column}__lt": before}) for column in columns)
    )


RULES: Final = (
    Rule("sign-ins that expired", 0, SignIn, "expire_date"),
    # Both are made again on request.
    Rule("reports", 30, Report, _finished),
    Rule("pictures", 30, Picture, _finished),
    Rule(
        "invitations that are over",
        90,
        Invitation,
        _any_of("expires_at", "accepted_at", "withdrawn_at"),
    ),
    Rule("publishing that failed", 90, PublishingJob, _failed),
    Rule("deliveries of webhooks", 90, Delivery, "created_at"),
    Rule("jobs of what was deleted", 0, Job, _left_behind),
    Rule("letters", 30, Letter, "created_at"),
    Rule("events", 365, Event, "at"),
    Rule("rereads that are finished", 365, Reread, "finished_at"),
    # Their agents stay: runs refer to them.
    Rule("tokens that are over", 365, Token, _any_of("revoked_at", "expires_at")),
)


def counts() -> dict[str, int]:
    """Return how many rows each rule would delete now."""
    return {rule.what: rule.rows().count() for rule in RULES}


def tidy() -> dict[str, int]:
    """Apply all rules; return how many rows each deleted."""
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
