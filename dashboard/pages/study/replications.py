"""Who confirmed or contradicted a study, as lines of a table."""

from dataclasses import dataclass
from math import expm1

from django.urls import reverse

from benchmarks.evidence.replication import Finding, Outcome, Replicated, Replication
from benchmarks.models import Study
from dashboard import wording
from dashboard.kit import figures
from dashboard.wording import evidence
from dashboard.wording.evidence import metric_name, outcome_name

ORDER: tuple[Outcome, ...] = ("contradicted", "confirmed", "undecided", "single_runs")
MOST_LINES = 40
MOST_REPLIES = 5


@dataclass(frozen=True)
class ReplyLine:
    """What one other study found, and whether it agrees."""

    lab: str
    study: str
    address: str
    ratio: str
    interval: str
    outcome: Outcome
    word: str


@dataclass(frozen=True)
class ReplicationLine:
    """One finding with the replies to it; ``more`` are not shown."""

    benchmark: str
    hypervisor: str
    ratio: str
    interval: str
    outcome: Outcome
    word: str
    replies: tuple[ReplyLine, ...]
    more: int
    between: str
    within: str


@dataclass(frozen=True)
class ReplicationLines:
    """All lines, those that contradict first, and how many findings are of each kind.

    ``more`` lines are not shown.
    """

    lines: tuple[ReplicationLine, ...]
    counts: tuple[tuple[int, str], ...]
    more: int


def replication_lines(replicated: Replicated) -> ReplicationLines:
    """Return what other labs say to a study's findings."""
    found = sorted(replicated.found, key=lambda it: ORDER.index(it.outcome))
    counts = tuple(
        (n, outcome_name(outcome))
        for outcome in ORDER
        if (n := sum(it.outcome == outcome for it in found))
    )
    shown = found[:MOST_LINES]
    return ReplicationLines(
        tuple(_line(each, replicated) for each in shown),
        counts,
        len(found) - len(shown),
    )


def _line(found: Replication, replicated: Replicated) -> ReplicationLine:
    own = found.own
    replies = sorted(found.replies, key=lambda it: ORDER.index(it.outcome))
    return ReplicationLine(
        benchmark=metric_name(*own.benchmark),
        hypervisor=own.hypervisor,
        ratio=evidence.ratio_text(own.log_ratio, own.interval),
        interval=evidence.ends_text(own.interval),
        outcome=found.outcome,
        word=outcome_name(found.outcome),
        replies=tuple(
            _reply(reply.finding, reply.outcome, replicated.studies[_id(reply.finding)])
            for reply in replies[:MOST_REPLIES]
        ),
        more=max(len(replies) - MOST_REPLIES, 0),
        between=_percent(found.between),
        within=_percent(found.within),
    )


def _id(finding: Finding) -> int:
    return int(str(finding.study))


def _reply(finding: Finding, outcome: Outcome, study: Study) -> ReplyLine:
    return ReplyLine(
        lab=finding.lab,
        study=study.slug,
        address=reverse("dashboard:study", args=[study.lab.slug, study.slug]),
        ratio=evidence.ratio_text(finding.log_ratio, finding.interval),
        interval=evidence.ends_text(finding.interval),
        outcome=outcome,
        word=outcome_name(outcome),
    )


def _percent(sd: float | None) -> str:
    """Write a standard deviation of ln ratios as a part of the ratio."""
    if sd is None:
        return wording.NONE
    return f"{figures.number(100 * expm1(sd), '.2g')}\N{NO-BREAK SPACE}%"
