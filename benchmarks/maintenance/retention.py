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
    ChartFile,
    Delivery,
    Event,
    GenerationRequest,
    Invitation,
    Job,
    OutgoingEmail,
    PublishingJob,
    Reparse,
    Report,
    Token,
)

INTERVAL_S: Final = 3600.0


@dataclass(frozen=True)
class RetentionRule:
    """A rule to delete rows some days after an event, such as their creation.

    ``expired`` is the column with the time of the event, or a function that returns the
    condition for events before a given time.
    """

    label: str
    days: int
    model: type[Model]
    expired: str | Callable[[datetime], Q]

    def rows(self) -> QuerySet[Any]:
        before = timezone.now() - timedelta(days=self.days)
        if isinstance(self.expired, str):
            expired = Q(**{f"{self.expired}__lt": before})
        else:
            expired = self.expired(before)
        return self.model._default_manager.filter(expired)


MODELS_BY_JOB_KIND: Final[Mapping[str, type[Model]]] = {
    Job.Kind.PUBLISHING: PublishingJob,
    Job.Kind.REPORT: Report,
    Job.Kind.CHART: ChartFile,
    Job.Kind.WEBHOOK: Delivery,
    Job.Kind.EMAIL: OutgoingEmail,
}


def _orphaned_jobs(_before: datetime) -> Q:
    orphaned = [
        Q(kind=kind) & ~Q(subject_id__in=model._default_manager.values("pk"))
        for kind, model in MODELS_BY_JOB_KIND.items()
    ]
    return reduce(or_, orphaned)


def _finished(before: datetime) -> Q:
    return Q(requested_at__lt=before) & ~Q(stage__in=GenerationRequest.UNFINISHED)


def _failed(before: datetime) -> Q:
    return Q(stage=GenerationRequest.Stage.FAILED, requested_at__lt=before)


def _any_of(*columns: str) -> Callable[[datetime], Q]:
    return lambda before: reduce(
        or_, (Q(**{f"{column}__lt": before}) for column in columns)
    )


RETENTION_RULES: Final = (
    RetentionRule("expired sessions", 0, SignIn, "expire_date"),
    # Reports and charts are generated again on request.
    RetentionRule("reports", 30, Report, _finished),
    RetentionRule("chart files", 30, ChartFile, _finished),
    RetentionRule(
        "closed invitations",
        90,
        Invitation,
        _any_of("expires_at", "accepted_at", "withdrawn_at"),
    ),
    RetentionRule("failed publishing jobs", 90, PublishingJob, _failed),
    RetentionRule("webhook deliveries", 90, Delivery, "created_at"),
    RetentionRule("jobs of deleted objects", 0, Job, _orphaned_jobs),
    RetentionRule("email", 30, OutgoingEmail, "created_at"),
    RetentionRule("events", 365, Event, "occurred_at"),
    RetentionRule("finished reparses", 365, Reparse, "finished_at"),
    # Tokens can be deleted, because runs refer to agents.
    RetentionRule(
        "revoked and expired tokens", 365, Token, _any_of("revoked_at", "expires_at")
    ),
)


def count_expired() -> dict[str, int]:
    return {rule.label: rule.rows().count() for rule in RETENTION_RULES}


def clean_up() -> dict[str, int]:
    """Delete expired rows; return their number by the label of the rule."""
    deleted = {}
    for rule in RETENTION_RULES:
        rows = rule.rows()
        _, by_model = rows.delete()
        deleted[rule.label] = by_model.get(rows.model._meta.label, 0)
    return deleted


class HourlyCleanup:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.next = 0.0

    def __call__(self) -> dict[str, int]:
        if self.clock() < self.next:
            return {}
        self.next = self.clock() + INTERVAL_S
        return clean_up()
