"""Who confirmed or contradicted a study, as lines of a table."""

from collections import Counter
from math import expm1
from typing import Any

from django.urls import reverse

from benchmarks.evidence.replication import Finding, Outcome, Replicated, Replication
from dashboard import wording
from dashboard.kit import figures
from dashboard.wording import evidence
from dashboard.wording.evidence import metric_name, outcome_name

# As the table shows them.
ORDER: tuple[Outcome, ...] = ("contradicted", "confirmed", "undecided", "single_runs")
MOST_LINES = 40
MOST_REPLIES = 5


def replication_lines(replicated: Replicated) -> dict[str, Any]:
    """Return what other labs found on a study's findings, contradictions first."""
    found = sorted(replicated.found, key=lambda it: ORDER.index(it.outcome))
    counts = Counter(it.outcome for it in found)
    return {
        "lines": [_line(it, replicated) for it in found[:MOST_LINES]],
        "counts": [(counts[it], outcome_name(it)) for it in ORDER if counts[it]],
        "more": max(len(found) - MOST_LINES, 0),
    }


def _line(found: Replication, replicated: Replicated) -> dict[str, Any]:
    own = found.own
    replies = []
    for reply in sorted(found.replies, key=lambda it: ORDER.index(it.outcome)):
        study = replicated.studies[int(str(reply.finding.study))]
        replies.append(
            {
                **_finding(reply.finding, reply.outcome),
                "lab": reply.finding.lab,
                "study": study.slug,
                "address": reverse(
                    "dashboard:study", args=[study.lab.slug, study.slug]
                ),
            }
        )
    return {
        **_finding(own, found.outcome),
        "benchmark": metric_name(*own.benchmark),
        "hypervisor": own.hypervisor,
        "replies": replies[:MOST_REPLIES],
        "more": max(len(replies) - MOST_REPLIES, 0),
        "between": _percent(found.between),
        "within": _percent(found.within),
    }


def _finding(finding: Finding, outcome: Outcome) -> dict[str, Any]:
    return {
        "ratio": evidence.ratio_text(finding.log_ratio, finding.interval),
        "interval": evidence.ends_text(finding.interval),
        "outcome": outcome,
        "word": outcome_name(outcome),
    }


def _percent(sd: float | None) -> str:
    """Return a standard deviation of ln ratios as a percentage of the ratio."""
    if sd is None:
        return wording.NONE
    return f"{figures.number(100 * expm1(sd), '.2g')}\N{NO-BREAK SPACE}%"
