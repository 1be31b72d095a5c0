"""Queries of evidence on questions, and the stored evidence of public studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

from django.db import connection, transaction

from benchmarks import rls
from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.analysis.verdicts import NORMAL_QUANTILE
from benchmarks.evidence.synthesis import (
    NO_EVIDENCE,
    BenchmarkAverage,
    MachineEffect,
    PooledEffect,
    Synthesis,
    syntheses_by_question,
)
from benchmarks.models import Case, Effect, Host, Lab, PublicEvidence, Study, System
from benchmarks.models.study import visible_studies
from benchmarks.viewer import ANYONE, Viewer

MAX_CELLS: Final = 50

LAB_NAME_SQL: Final = """
    COALESCE(NULLIF(study.institution, ''), NULLIF(study.author, ''), lab.name)
"""
_EFFECTS: Final = f"{Effect._meta.db_table} AS effect"
# Joined first, so that each requested question is one index lookup.
_REQUESTED: Final = f"""
    unnest(%(hypervisors)s::text[], %(works)s::text[]) AS requested (hypervisor, work)
    JOIN {_EFFECTS}
    ON effect.hypervisor = requested.hypervisor AND effect.work_class = requested.work
"""
_FROM: Final = f"""
    JOIN {Study._meta.db_table} AS study ON study.id = effect.study_id
    JOIN {Lab._meta.db_table} AS lab ON lab.id = study.lab_id
    JOIN {Case._meta.db_table} AS benchmark ON benchmark.id = effect.case_id
"""
# The same condition as in `visible_studies`.
VISIBLE_STUDY_SQL: Final = f"""(
    study.visibility = 'public' OR study.lab_id = ANY(%(labs)s)
    OR study.visibility = 'shared' AND EXISTS (
        SELECT FROM {Study.shared_with.through._meta.db_table} AS shared
        WHERE shared.study_id = study.id AND shared.lab_id = ANY(%(labs)s)
    )
)"""
# At least the width that follows from the variance, which includes possible shifts by
# the order of the runs.
HALF_WIDTH_SQL: Final = f"""
    avg(greatest((effect.log_high - effect.log_low) / 2,
                 {NORMAL_QUANTILE!r} * sqrt(effect.variance)))
"""
_AVERAGES: Final = f"""
    avg(effect.log_ratio), avg(sqrt(effect.variance)), count(*), {HALF_WIDTH_SQL},
    array_agg(DISTINCT effect.study_id)
"""
# Repeated cells are averaged separately from cells of unknown variance.
_KNOWN: Final = "effect.variance IS NULL, effect.log_ratio IS NULL"
AVERAGES_SQL: Final = f"""
    SELECT effect.hypervisor, effect.work_class, effect.host_id,
           {LAB_NAME_SQL} AS measured_by,
           benchmark.tool, benchmark.metric, effect.exclusion, {_AVERAGES}
    FROM {_REQUESTED} {_FROM}
    WHERE {VISIBLE_STUDY_SQL}
    GROUP BY effect.hypervisor, effect.work_class, effect.host_id, measured_by,
             benchmark.tool, benchmark.metric, effect.exclusion, {_KNOWN}
"""
IO_OPTIONS: Final = ("storage", "disk", "bus", "cache", "nic", "network", "guest_tools")
_PATH: Final = "concat_ws(', ', {})".format(
    ", ".join(f"NULLIF(system.options->>'{name}', '')" for name in IO_OPTIONS)
)
STUDY_AVERAGES_SQL: Final = f"""
    SELECT effect.hypervisor, effect.work_class, effect.host_id,
           {LAB_NAME_SQL} AS measured_by,
           benchmark.tool, benchmark.metric, effect.exclusion, {_AVERAGES},
           effect.virtualization, {_PATH} AS path,
           array_agg(effect.cell_id),
           min(effect.log_ratio), max(effect.log_ratio), host.slug, host.title,
           study.id, lab.slug, study.slug, study.title, study.author,
           study.institution, study.published, study.data_licence
    FROM {{effects}} {_FROM}
    JOIN {System._meta.db_table} AS system ON system.id = effect.system_id
    JOIN {Host._meta.db_table} AS host ON host.id = effect.host_id
    WHERE {VISIBLE_STUDY_SQL} AND effect.work_class <> ''
          AND (%(studies)s::bigint[] IS NULL OR study.id = ANY(%(studies)s))
    GROUP BY effect.hypervisor, effect.work_class, effect.host_id, measured_by,
             benchmark.tool, benchmark.metric, effect.exclusion, study.id, lab.id,
             host.id, effect.virtualization, path, {_KNOWN}
    ORDER BY study.id, benchmark.tool, benchmark.metric
"""


class Question(NamedTuple):
    """A question: what a hypervisor costs in a class of work (a slug)."""

    hypervisor: str
    work_class: str


class StudyInfo(NamedTuple):
    pk: int
    lab: str
    slug: str
    title: str
    author: str
    institution: str
    published: str
    data_licence: str

    @property
    def name(self) -> str:
        return f"{self.lab}/{self.slug}"


class HostInfo(NamedTuple):
    pk: int
    slug: str
    title: str


@dataclass(frozen=True, slots=True)
class StudyAverage:
    """The mean of a study's cells for one benchmark on one host.

    ``lowest`` and ``highest`` are the extreme log ratios of the cells.
    """

    average: BenchmarkAverage
    study: StudyInfo
    host: HostInfo
    virtualization: str
    io_path: str
    cell_ids: tuple[int, ...]
    lowest: float | None
    highest: float | None

    @property
    def decade(self) -> str:
        year = self.study.published[:4]
        return f"{year[:3]}0s" if year.isdigit() else ""


def averages_by_question(
    viewer: Viewer, questions: Collection[Question]
) -> Iterator[tuple[Question, BenchmarkAverage]]:
    labs = sorted(viewer.lab_ids)
    parameters: dict[str, Any] = {"labs": labs, **_columns(questions)}
    with connection.cursor() as cursor:
        cursor.execute(AVERAGES_SQL, parameters)
        for hypervisor, work, *numbers in cursor.fetchall():
            yield Question(hypervisor, work), _benchmark_average(numbers)


def study_averages(viewer: Viewer, question: Question) -> list[StudyAverage]:
    return study_averages_by_question(viewer, [question]).get(question, [])


def study_averages_by_question(
    viewer: Viewer,
    questions: Collection[Question] | None = None,
    studies: Collection[int] | None = None,
) -> dict[Question, list[StudyAverage]]:
    """Return the results of all visible studies by question, in one query."""
    parameters: dict[str, Any] = {
        "labs": sorted(viewer.lab_ids),
        **_columns(questions or ()),
        "studies": None if studies is None else sorted(studies),
    }
    with connection.cursor() as cursor:
        effects = _EFFECTS if questions is None else _REQUESTED
        cursor.execute(STUDY_AVERAGES_SQL.format(effects=effects), parameters)
        rows = cursor.fetchall()
    averages: dict[Question, list[StudyAverage]] = defaultdict(list)
    for row in rows:
        virtualization, path, cell_ids, lowest, highest = row[12:17]
        averages[Question(*row[:2])].append(
            StudyAverage(
                average=_benchmark_average(row[2:12]),
                study=StudyInfo(*row[19:]),
                host=HostInfo(row[2], *row[17:19]),
                virtualization=virtualization,
                io_path=path,
                # Sorting in `array_agg` would sort all rows by all columns.
                cell_ids=tuple(sorted(cell_ids)[:MAX_CELLS]),
                lowest=lowest,
                highest=highest,
            )
        )
    return dict(averages)


def _columns(questions: Collection[Question]) -> dict[str, list[str]]:
    distinct = sorted(set(questions))
    return {
        "hypervisors": [question.hypervisor for question in distinct],
        "works": [question.work_class for question in distinct],
    }


def _benchmark_average(row: Sequence[Any]) -> BenchmarkAverage:
    host, lab, tool, metric, *columns = row
    *numbers, studies = columns
    average = BenchmarkAverage(host, lab, (tool, metric), *numbers)
    return replace(average, studies=tuple(studies))


POOL_COLUMNS: Final = (("without_flagged", False), ("with_flagged", True))


def evidence_matrix(
    viewer: Viewer, *, with_flagged: bool = False
) -> dict[Question, Synthesis]:
    """Return a summary of the evidence on each question.

    Summaries of public studies are stored. If the viewer sees other studies on a
    question, all are pooled on request.
    """
    column = "with_flagged" if with_flagged else "without_flagged"
    rows = PublicEvidence.objects.values_list("hypervisor", "work_class", column)
    summaries = {Question(*names): _deserialize(summary) for *names, summary in rows}
    if not viewer.lab_ids:
        return summaries
    private = Effect.objects.exclude(study__visibility=Study.Visibility.PUBLIC)
    visible = private.filter(visible_studies(viewer, "study__")).exclude(work_class="")
    questions = {
        Question(*names)
        for names in visible.order_by()
        .values_list("hypervisor", "work_class")
        .distinct()
    }
    if questions:
        parts = averages_by_question(viewer, questions)
        summaries |= {
            question: pooled.summary
            for question, pooled in syntheses_by_question(
                parts, with_flagged=with_flagged
            ).items()
        }
    return summaries


def study_questions(study: Study) -> set[Question]:
    effects = Effect.objects.filter(study=study).exclude(work_class="").order_by()
    return {
        Question(*names) for names in effects.values_list("hypervisor", "work_class")
    }


@rls.allow_all()
def refresh_public_evidence(questions: Iterable[Question]) -> None:
    """Pool public studies on these questions again, in the caller's transaction.

    Rows are locked, so the later of two checks reads the results of the earlier one.
    """
    requested = sorted(set(questions))
    if not requested:
        return
    PublicEvidence.objects.bulk_create(
        [
            PublicEvidence(
                hypervisor=question.hypervisor, work_class=question.work_class
            )
            for question in requested
        ],
        ignore_conflicts=True,
    )
    rows = {
        Question(row.hypervisor, row.work_class): row
        for row in PublicEvidence.objects.select_for_update()
        .filter(
            hypervisor__in={question.hypervisor for question in requested},
            work_class__in={question.work_class for question in requested},
        )
        # In a fixed order to avoid deadlocks.
        .order_by("hypervisor", "work_class")
    }
    parts = list(averages_by_question(ANYONE, requested))
    pooled = {
        column: syntheses_by_question(parts, with_flagged=with_flagged)
        for column, with_flagged in POOL_COLUMNS
    }
    empty, changed = [], []
    for question in requested:
        row = rows[question]
        if question not in pooled["without_flagged"]:
            empty.append(row.pk)
            continue
        for column, _ in POOL_COLUMNS:
            setattr(row, column, _serialize(pooled[column][question]))
        changed.append(row)
    PublicEvidence.objects.filter(pk__in=empty).delete()
    names = [column for column, _ in POOL_COLUMNS]
    PublicEvidence.objects.bulk_update(changed, names, batch_size=200)


@transaction.atomic
@rls.allow_all()
def refresh_outdated_evidence() -> None:
    """Pool questions again that were pooled before `PooledEffect` had a ``method``."""
    outdated = PublicEvidence.objects.exclude(without_flagged__pool__has_key="method")
    names = list(outdated.values_list("hypervisor", "work_class"))
    refresh_public_evidence(Question(*pair) for pair in names)


def _serialize(pooled: Synthesis) -> dict[str, Any]:
    summary = asdict(pooled.summary)
    summary["strength"] = int(pooled.strength)
    summary["excluded_counts"] = dict(pooled.excluded_counts)
    return summary


def _deserialize(stored: Mapping[str, Any]) -> Synthesis:
    if not stored:
        return NO_EVIDENCE
    return Synthesis(
        machines=_machines(stored["machines"]),
        single_run_machines=_machines(stored["single_run_machines"]),
        pool=_pool(stored["pool"]),
        single_run_pool=_pool(stored["single_run_pool"]),
        strength=EvidenceStrength(stored["strength"]),
        excluded_counts=stored["excluded_counts"],
        lab_count=stored["lab_count"],
    )


def _machines(stored: Collection[Mapping[str, Any]]) -> tuple[MachineEffect, ...]:
    return tuple(
        MachineEffect(**{**machine, "studies": tuple(machine.get("studies", ()))})
        for machine in stored
    )


def _pool(stored: Mapping[str, Any]) -> PooledEffect:
    ends = {
        name: None if stored[name] is None else (stored[name][0], stored[name][1])
        for name in ("interval", "predicted")
    }
    return PooledEffect(**{**stored, **ends, "weights": ()})
