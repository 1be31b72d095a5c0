"""What failed in the background, as health, a study's page and a command show it."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q, QuerySet

from benchmarks.models import Study, System, UnfinishedWork
from benchmarks.sentences import Sentence, counted

Kind = UnfinishedWork.Kind


@dataclass(frozen=True)
class Trouble:
    """A unit that failed, for the members of its lab: errors may quote what is private.

    ``quarantined_at``: it was set aside, and waits for a change or for a person.
    """

    sentence: str
    meaning: str
    next_at: datetime
    quarantined_at: datetime | None


@dataclass(frozen=True)
class Stuck:
    """Work of one kind that failed: how much waits, is set aside, and since when."""

    kind: str
    failing: int
    quarantined: int
    oldest: datetime


def failed_work() -> QuerySet[UnfinishedWork]:
    """Return what failed, longest ago first."""
    return UnfinishedWork.objects.filter(failures__gt=0).order_by("tried_at", "pk")


def stuck_work() -> tuple[Stuck, ...]:
    """Return how much of each kind failed, in one query."""
    rows = failed_work().order_by("kind").values("kind")
    waits = Q(quarantined_at=None)
    numbers = rows.annotate(
        failing=Count("pk", filter=waits),
        quarantined=Count("pk", filter=~waits),
        oldest=Min("tried_at"),
    )
    return tuple(Stuck(**row) for row in numbers)


def work_of(study: Study) -> QuerySet[UnfinishedWork]:
    """Return what failed of a study: also the energy of its lab's machines there."""
    hosts = System.objects.filter(cells__study=study, host__lab=study.lab_id)
    return failed_work().filter(
        Q(study=study)
        | Q(plan__study=study)
        | Q(job__study=study)
        | Q(host__in=hosts.values("host"))
    )


def trouble_of(study: Study) -> tuple[Trouble, ...]:
    """Return what failed of a study, for the members of its lab."""
    rows = work_of(study).select_related("host", "plan")
    return tuple(
        Trouble(
            sentence=told(row),
            meaning=_meaning(row),
            next_at=row.next_at,
            quarantined_at=row.quarantined_at,
        )
        for row in rows
    )


def told(row: UnfinishedWork) -> str:
    """Say what failed, how often, and of what."""
    n, error = row.failures, row.error
    if row.kind == Kind.CHECK:
        return counted(
            "The check of this study failed: {error}",
            "The check of this study failed {n} times: {error}",
            n=n,
            error=error,
        )
    if row.kind == Kind.ENERGY:
        return counted(
            "The energy of the runs on {name} was not worked out: {error}",
            "The energy of the runs on {name} was not worked out, {n} times: {error}",
            n=n,
            name=str(row.host),
            error=error,
        )
    if row.kind == Kind.PLAN:
        return counted(
            "The plan {name} could not go on by itself: {error}",
            "The plan {name} could not go on by itself, {n} times: {error}",
            n=n,
            name=str(row.plan),
            error=error,
        )
    if row.kind == Kind.NEWS:
        return Sentence("News could not be added to the feeds: {error}", error=error)
    if row.kind == Kind.WEBHOOK:
        return Sentence("A webhook could not be served: {error}", error=error)
    return Sentence("A version could not be published: {error}", error=error)


def _meaning(row: UnfinishedWork) -> str:
    if row.kind == Kind.CHECK:
        return Sentence("Its sessions, flags and verdicts are out of date.")
    if row.kind == Kind.ENERGY:
        return Sentence("The energy shown for them is out of date.")
    if row.kind == Kind.PLAN:
        return Sentence("Its late steps and its budget do not end by themselves.")
    if row.kind == Kind.NEWS:
        return Sentence("Feeds list older news.")
    if row.kind == Kind.WEBHOOK:
        return Sentence("Nothing is sent to its address until then.")
    return Sentence("It can be published again.")
