"""Who confirmed what a study found, and who contradicted it.

A replication is another lab's study with the same benchmark (tool and metric) on the
same hypervisor. Both sides are averaged first: over the cells of a benchmark, and over
the studies of a lab. Whether one agrees with the other is asked of directions, as an
evidence level does: slower, faster or as fast, each decided by the whole interval.

- confirmed: both decide, and for the same;
- contradicted: both decide, and for the opposite, or one for "as fast";
- undecided: one of the two does not decide.

Single runs decide nothing. They are shown, because they may be all there is, and they
count for no level.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import stdev
from typing import Any, Final, Literal

from django.db import connection

from benchmarks.analysis.pooling import UNDECIDED, direction
from benchmarks.analysis.verdicts import SURE
from benchmarks.evidence.reading import LAB, REACH, SEEN
from benchmarks.models import Case, Effect, Lab, Study
from benchmarks.viewer import ANYONE, Viewer

Outcome = Literal["confirmed", "contradicted", "undecided", "single_runs"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one study found of a benchmark on a hypervisor, averaged over its cells.

    ``log_ratio`` is the mean ln ratio of ``cells`` cells, ``sd`` their mean standard
    error: cells of a machine share its days, so that an average is no surer than its
    parts. ``sd`` is None of single runs. ``reach`` is half of their mean
    interval; None: that of endless runs.
    """

    study: Hashable
    lab: str
    hypervisor: str
    benchmark: tuple[str, str]
    log_ratio: float
    sd: float | None
    cells: int = 1
    reach: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.sd is None:
            return None
        reach = SURE * self.sd if self.reach is None else self.reach
        return self.log_ratio - reach, self.log_ratio + reach

    @property
    def direction(self) -> int:
        return UNDECIDED if self.interval is None else direction(*self.interval)


@dataclass(frozen=True, slots=True)
class Reply:
    """What another lab's study says to a finding."""

    finding: Finding
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Replication:
    """One finding of a study, and what other labs say to it.

    ``between`` is the standard deviation of the labs' mean ln ratios, ``within`` the
    mean standard error of those that repeated their runs; None where nobody did.
    """

    own: Finding
    replies: tuple[Reply, ...]
    between: float
    within: float | None

    @property
    def outcome(self) -> Outcome:
        outcomes = {reply.outcome for reply in self.replies}
        order: tuple[Outcome, ...] = ("contradicted", "confirmed", "undecided")
        return next((each for each in order if each in outcomes), "single_runs")

    def labs(self, outcome: Outcome) -> tuple[str, ...]:
        found = {it.finding.lab for it in self.replies if it.outcome == outcome}
        return tuple(sorted(found))


def replications(
    study: Hashable, findings: Iterable[Finding]
) -> tuple[Replication, ...]:
    """Return, by hypervisor and benchmark, what others say to a study's findings.

    ``findings`` are those of the study and of all others, several of one study and
    benchmark among them (single runs apart). What nobody else measured is left out.
    """
    by_question: dict[Hashable, list[Finding]] = defaultdict(list)
    for each in findings:
        by_question[each.hypervisor, each.benchmark].append(each)
    found = []
    for members in by_question.values():
        by_study: dict[Hashable, list[Finding]] = defaultdict(list)
        for each in members:
            by_study[each.study].append(each)
        whole = {key: _whole(each) for key, each in by_study.items()}
        own = whole.pop(study, None)
        if own is None:
            continue
        others = [each for each in whole.values() if each.lab != own.lab]
        if others:
            found.append(_replication(own, others))
    return tuple(sorted(found, key=lambda it: (it.own.hypervisor, it.own.benchmark)))


def reproducing_labs(found: Sequence[Replication]) -> tuple[str, ...]:
    """Return the labs by which a study counts as reproduced: none if any contradicts.

    Each confirmed a finding of it with runs that both sides repeated.
    """
    if any(it.outcome == "contradicted" for it in found):
        return ()
    return tuple(sorted({lab for it in found for lab in it.labs("confirmed")}))


def _replication(own: Finding, others: Sequence[Finding]) -> Replication:
    replies = sorted(
        (Reply(finding, _outcome(own, finding)) for finding in others),
        key=lambda reply: (reply.finding.lab, reply.finding.log_ratio),
    )
    by_lab: dict[str, list[Finding]] = defaultdict(list)
    for finding in (own, *others):
        by_lab[finding.lab].append(finding)
    means = sorted(
        _mean(findings, lambda finding: finding.log_ratio)
        for findings in by_lab.values()
    )
    with_sd = (
        [finding for finding in findings if finding.sd is not None]
        for findings in by_lab.values()
    )
    sds = sorted(
        _mean(findings, lambda finding: finding.sd or 0.0)
        for findings in with_sd
        if findings
    )
    within = fsum(sds) / len(sds) if sds else None
    return Replication(own, tuple(replies), stdev(means), within)


def _outcome(own: Finding, other: Finding) -> Outcome:
    if own.sd is None or other.sd is None:
        return "single_runs"
    if UNDECIDED in (own.direction, other.direction):
        return "undecided"
    return "confirmed" if own.direction == other.direction else "contradicted"


def _whole(findings: Sequence[Finding]) -> Finding:
    used = [each for each in findings if each.sd is not None] or list(findings)
    first = used[0]
    return Finding(
        first.study,
        first.lab,
        first.hypervisor,
        first.benchmark,
        _weighed(used, lambda it: it.log_ratio),
        None if first.sd is None else _weighed(used, lambda it: it.sd or 0.0),
        sum(each.cells for each in used),
        None if first.reach is None else _weighed(used, lambda it: it.reach or 0.0),
    )


def _weighed(findings: Sequence[Finding], of: Callable[[Finding], float]) -> float:
    total = fsum(of(each) * each.cells for each in findings)
    return total / sum(each.cells for each in findings)


def _mean(findings: Sequence[Finding], of: Callable[[Finding], float]) -> float:
    return fsum(map(of, findings)) / len(findings)


# What a pool takes, and single runs, which decide nothing.
COUNTED: Final = ("", Effect.Obstacle.SINGLE_RUN)
FINDINGS: Final = f"""
    SELECT effect.study_id, {LAB} AS measured_by, effect.hypervisor,
           benchmark.tool, benchmark.metric,
           avg(effect.log_ratio), avg(sqrt(effect.variance)), count(*), {REACH}
    FROM {Effect._meta.db_table} AS effect
    JOIN {Study._meta.db_table} AS study ON study.id = effect.study_id
    JOIN {Lab._meta.db_table} AS lab ON lab.id = study.lab_id
    JOIN {Case._meta.db_table} AS benchmark ON benchmark.id = effect.case_id
    WHERE (effect.study_id = %(study)s OR {SEEN} AND study.lab_id <> ALL(%(kept)s))
      AND effect.log_ratio IS NOT NULL AND effect.obstacle = ANY(%(counted)s)
      AND (effect.hypervisor, benchmark.tool, benchmark.metric) IN (
        SELECT own.hypervisor, own_case.tool, own_case.metric
        FROM {Effect._meta.db_table} AS own
        JOIN {Case._meta.db_table} AS own_case ON own_case.id = own.case_id
        WHERE own.study_id = %(study)s)
    GROUP BY effect.study_id, measured_by, effect.hypervisor, benchmark.tool,
             benchmark.metric, effect.variance IS NULL
    ORDER BY effect.study_id, effect.hypervisor, benchmark.tool, benchmark.metric
"""


@dataclass(frozen=True)
class Replicated:
    """What others say to a study; ``studies`` are theirs, by their ids."""

    found: tuple[Replication, ...]
    studies: Mapping[int, Study]


def study_replications(viewer: Viewer, study: Study) -> Replicated:
    """Return what others say to a study that the viewer sees, in two queries.

    Of others only what the viewer sees, too.
    """
    found = replications(study.pk, _findings(viewer, study, ()))
    ids = {reply.finding.study for each in found for reply in each.replies}
    studies = Study.objects.select_related("lab").in_bulk(ids) if ids else {}
    return Replicated(found, studies)


def reproduced_by(study: Study) -> tuple[str, ...]:
    """Return the labs by which a study counts as reproduced, the same for everybody.

    Only public studies count, and those that another lab keeps here: the name of an
    institution is free text, which who uploads two studies could write twice.
    """
    return reproducing_labs(
        replications(study.pk, _findings(ANYONE, study, (study.lab_id,)))
    )


def _findings(viewer: Viewer, study: Study, kept: tuple[int, ...]) -> list[Finding]:
    """Return a study's findings and others', except those of the ``kept`` labs."""
    named: dict[str, Any] = {
        "labs": sorted(viewer.lab_ids),
        "study": study.pk,
        "kept": list(kept),
        "counted": list(COUNTED),
    }
    with connection.cursor() as cursor:
        cursor.execute(FINDINGS, named)
        return [
            Finding(pk, lab, hypervisor, (tool, metric), *numbers)
            for pk, lab, hypervisor, tool, metric, *numbers in cursor
        ]
