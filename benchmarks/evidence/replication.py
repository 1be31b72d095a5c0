"""Confirmation and contradiction of a study's findings by other labs.

See docs/method.md, Replication.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import stdev
from typing import Any, Final, Literal

from django.db import connection

from benchmarks.analysis.meta_analysis import UNDECIDED, interval_direction
from benchmarks.analysis.verdicts import NORMAL_QUANTILE
from benchmarks.evidence.queries import HALF_WIDTH_SQL, LAB_NAME_SQL, VISIBLE_STUDY_SQL
from benchmarks.models import Case, Effect, Lab, Study
from benchmarks.viewer import ANYONE, Viewer

Outcome = Literal["confirmed", "contradicted", "undecided", "single_runs"]


@dataclass(frozen=True, slots=True)
class BenchmarkEffect:
    """The mean of a study's cells for one benchmark on a hypervisor.

    ``standard_error`` is the mean of the cells' errors, because cells of a machine
    share its days; single runs have none. The default of ``half_width`` is
    `NORMAL_QUANTILE` errors.
    """

    study: Hashable
    lab: str
    hypervisor: str
    benchmark: tuple[str, str]
    log_ratio: float
    standard_error: float | None
    cell_count: int = 1
    half_width: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.standard_error is None:
            return None
        half_width = (
            NORMAL_QUANTILE * self.standard_error
            if self.half_width is None
            else self.half_width
        )
        return self.log_ratio - half_width, self.log_ratio + half_width

    @property
    def direction(self) -> int:
        return (
            UNDECIDED if self.interval is None else interval_direction(*self.interval)
        )


@dataclass(frozen=True, slots=True)
class ReplicationResult:
    effect: BenchmarkEffect
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Replication:
    """A finding of a study, and the results of other labs on it.

    ``between_sd`` is the standard deviation of the labs' mean log ratios, ``within_sd``
    the mean standard error of the labs with repeated runs.
    """

    effect: BenchmarkEffect
    results: tuple[ReplicationResult, ...]
    between_sd: float
    within_sd: float | None

    @property
    def outcome(self) -> Outcome:
        outcomes = {result.outcome for result in self.results}
        order: tuple[Outcome, ...] = ("contradicted", "confirmed", "undecided")
        return next(
            (outcome for outcome in order if outcome in outcomes), "single_runs"
        )

    def labs(self, outcome: Outcome) -> tuple[str, ...]:
        labs = {
            result.effect.lab for result in self.results if result.outcome == outcome
        }
        return tuple(sorted(labs))


def replications(
    study: Hashable, effects: Iterable[BenchmarkEffect]
) -> tuple[Replication, ...]:
    """Return the replications of a study by other labs, by hypervisor and benchmark.

    ``effects`` are those of all studies.
    """
    by_question: dict[Hashable, list[BenchmarkEffect]] = defaultdict(list)
    for effect in effects:
        by_question[effect.hypervisor, effect.benchmark].append(effect)
    results = []
    for members in by_question.values():
        by_study: dict[Hashable, list[BenchmarkEffect]] = defaultdict(list)
        for effect in members:
            by_study[effect.study].append(effect)
        by_study_mean = {
            key: _study_average(effect) for key, effect in by_study.items()
        }
        own = by_study_mean.pop(study, None)
        if own is None:
            continue
        others = [effect for effect in by_study_mean.values() if effect.lab != own.lab]
        if others:
            results.append(_replication(own, others))
    return tuple(
        sorted(
            results,
            key=lambda replication: (
                replication.effect.hypervisor,
                replication.effect.benchmark,
            ),
        )
    )


def reproducing_labs(replications: Sequence[Replication]) -> tuple[str, ...]:
    """Return the labs that confirmed a finding, or none if a lab contradicts one."""
    if any(replication.outcome == "contradicted" for replication in replications):
        return ()
    return tuple(
        sorted(
            {
                lab
                for replication in replications
                for lab in replication.labs("confirmed")
            }
        )
    )


def _replication(
    own: BenchmarkEffect, others: Sequence[BenchmarkEffect]
) -> Replication:
    results = sorted(
        (ReplicationResult(finding, _outcome(own, finding)) for finding in others),
        key=lambda result: (result.effect.lab, result.effect.log_ratio),
    )
    by_lab: dict[str, list[BenchmarkEffect]] = defaultdict(list)
    for finding in (own, *others):
        by_lab[finding.lab].append(finding)
    means = sorted(
        _mean(findings, lambda finding: finding.log_ratio)
        for findings in by_lab.values()
    )
    repeated = (
        [finding for finding in findings if finding.standard_error is not None]
        for findings in by_lab.values()
    )
    sds = sorted(
        _mean(findings, lambda finding: finding.standard_error or 0.0)
        for findings in repeated
        if findings
    )
    within = fsum(sds) / len(sds) if sds else None
    return Replication(own, tuple(results), stdev(means), within)


def _outcome(own: BenchmarkEffect, other: BenchmarkEffect) -> Outcome:
    if own.standard_error is None or other.standard_error is None:
        return "single_runs"
    if UNDECIDED in (own.direction, other.direction):
        return "undecided"
    return "confirmed" if own.direction == other.direction else "contradicted"


def _study_average(findings: Sequence[BenchmarkEffect]) -> BenchmarkEffect:
    findings_used = [
        finding for finding in findings if finding.standard_error is not None
    ] or list(findings)
    first = findings_used[0]
    return BenchmarkEffect(
        first.study,
        first.lab,
        first.hypervisor,
        first.benchmark,
        _weighted_mean(findings_used, lambda finding: finding.log_ratio),
        None
        if first.standard_error is None
        else _weighted_mean(
            findings_used, lambda finding: finding.standard_error or 0.0
        ),
        sum(finding.cell_count for finding in findings_used),
        None
        if first.half_width is None
        else _weighted_mean(findings_used, lambda finding: finding.half_width or 0.0),
    )


def _weighted_mean(
    findings: Sequence[BenchmarkEffect], value: Callable[[BenchmarkEffect], float]
) -> float:
    total = fsum(value(finding) * finding.cell_count for finding in findings)
    return total / sum(finding.cell_count for finding in findings)


def _mean(
    findings: Sequence[BenchmarkEffect], value: Callable[[BenchmarkEffect], float]
) -> float:
    return fsum(map(value, findings)) / len(findings)


COUNTED_EXCLUSIONS: Final = ("", Effect.Exclusion.SINGLE_RUN)
EFFECTS_SQL: Final = f"""
    SELECT effect.study_id, {LAB_NAME_SQL} AS measured_by, effect.hypervisor,
           benchmark.tool, benchmark.metric,
           avg(effect.log_ratio), avg(sqrt(effect.variance)), count(*),
           avg({HALF_WIDTH_SQL})
    FROM {Effect._meta.db_table} AS effect
    JOIN {Study._meta.db_table} AS study ON study.id = effect.study_id
    JOIN {Lab._meta.db_table} AS lab ON lab.id = study.lab_id
    JOIN {Case._meta.db_table} AS benchmark ON benchmark.id = effect.case_id
    WHERE (effect.study_id = %(study)s
           OR {VISIBLE_STUDY_SQL} AND study.lab_id <> ALL(%(excluded_labs)s))
      AND effect.log_ratio IS NOT NULL AND effect.exclusion = ANY(%(counted)s)
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
class StudyReplications:
    replications: tuple[Replication, ...]
    studies: Mapping[int, Study]


def study_replications(viewer: Viewer, study: Study) -> StudyReplications:
    results = replications(study.pk, _findings(viewer, study, ()))
    ids = {
        result.effect.study for replication in results for result in replication.results
    }
    studies = Study.objects.select_related("lab").in_bulk(ids) if ids else {}
    return StudyReplications(results, studies)


def reproduced_by(study: Study) -> tuple[str, ...]:
    """Return the labs that reproduced a study, the same for all viewers.

    Only public studies of other labs count, because uploaders could invent
    institutions.
    """
    return reproducing_labs(
        replications(study.pk, _findings(ANYONE, study, (study.lab_id,)))
    )


def _findings(
    viewer: Viewer, study: Study, excluded_labs: tuple[int, ...]
) -> list[BenchmarkEffect]:
    parameters: dict[str, Any] = {
        "labs": sorted(viewer.lab_ids),
        "study": study.pk,
        "excluded_labs": list(excluded_labs),
        "counted": list(COUNTED_EXCLUSIONS),
    }
    with connection.cursor() as cursor:
        cursor.execute(EFFECTS_SQL, parameters)
        return [
            BenchmarkEffect(pk, lab, hypervisor, (tool, metric), *numbers)
            for pk, lab, hypervisor, tool, metric, *numbers in cursor
        ]
