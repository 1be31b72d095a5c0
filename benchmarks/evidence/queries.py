"""Queries of evidence on questions, and the stored evidence of public studies."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from django.db import connection

from benchmarks import rls
from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.analysis.verdicts import NORMAL_QUANTILE
from benchmarks.evidence.baseline_doubts import unmeasured_doubt_variance
from benchmarks.evidence.synthesis import (
    BenchmarkAverage,
    Configuration,
    MachineEffect,
    PooledEffect,
    Screening,
    Synthesis,
    screened_syntheses,
)
from benchmarks.models import Case, Effect, Host, Lab, PublicEvidence, Study, System
from benchmarks.models.study import visible_studies
from benchmarks.study_sources import Source, sources_from_json
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
    greatest((effect.log_high - effect.log_low) / 2,
             {NORMAL_QUANTILE!r} * sqrt(effect.variance))
"""
# Sums by system first, because systems of a machine may differ. Repeated cells are
# averaged separately from cells of unknown variance.
_BY_SYSTEM: Final = f"""
    SELECT effect.hypervisor, effect.work_class, effect.host_id, effect.machine_id,
           effect.study_id, {LAB_NAME_SQL} AS measured_by,
           benchmark.tool, benchmark.metric, benchmark.component,
           effect.exclusion, effect.doubt <> '' AS is_doubtful, effect.system_id,
           effect.virtualization, effect.provider, effect.machine_model,
           count(*) AS n, sum(effect.log_ratio) AS logs,
           sum(sqrt(effect.variance)) AS errors, sum({HALF_WIDTH_SQL}) AS widths,
           min(effect.log_ratio) AS lowest, max(effect.log_ratio) AS highest,
           array_agg(effect.cell_id) AS cells, max(effect.doubt) AS doubt
    FROM {{effects}} {_FROM}
    WHERE {VISIBLE_STUDY_SQL} AND effect.work_class <> ''
          AND (%(studies)s::bigint[] IS NULL OR study.id = ANY(%(studies)s))
          AND (%(hosts)s::bigint[] IS NULL OR effect.host_id = ANY(%(hosts)s))
    GROUP BY effect.hypervisor, effect.work_class, effect.host_id, effect.machine_id,
             effect.study_id, measured_by, benchmark.tool, benchmark.metric,
             benchmark.component, effect.exclusion, is_doubtful, effect.system_id,
             effect.virtualization, effect.provider, effect.machine_model,
             effect.variance IS NULL, effect.log_ratio IS NULL
"""
_AVERAGES: Final = """
    part.hypervisor, part.work_class, part.machine_id, part.measured_by, part.tool,
    part.metric, part.exclusion, sum(part.logs) / sum(part.n),
    sum(part.errors) / sum(part.n), sum(part.n)::integer,
    sum(part.widths) / sum(part.n), array_agg(DISTINCT part.study_id),
    part.is_doubtful, part.component, part.provider, part.machine_model,
    array_agg(part.system_id),
    array_agg(part.logs / part.n), array_agg(part.widths / part.n),
    array_agg(part.n)
"""
_GROUPED_BY: Final = """
    part.hypervisor, part.work_class, part.machine_id, part.measured_by, part.tool,
    part.metric, part.component, part.exclusion, part.is_doubtful,
    part.provider, part.machine_model,
    part.errors IS NULL, part.logs IS NULL
"""
AVERAGES_SQL: Final = f"""
    SELECT {_AVERAGES} FROM ({_BY_SYSTEM.format(effects=_REQUESTED)}) AS part
    GROUP BY {_GROUPED_BY}
"""
IO_OPTIONS: Final = ("storage", "disk", "bus", "cache", "nic", "network", "guest_tools")
_PATH: Final = "concat_ws(', ', {})".format(
    ", ".join(f"NULLIF(system.options->>'{name}', '')" for name in IO_OPTIONS)
)
STUDY_AVERAGES_SQL: Final = f"""
    SELECT {_AVERAGES}, part.virtualization, {_PATH} AS path,
           string_agg(array_to_string(part.cells, ' '), ' '),
           min(part.lowest), max(part.highest),
           max(part.doubt), host.id, host.slug, host.title,
           study.id, lab.slug, study.slug, study.title, study.author,
           study.institution, study.published, study.data_licence,
           study.sources::text
    FROM ({_BY_SYSTEM}) AS part
    JOIN {Study._meta.db_table} AS study ON study.id = part.study_id
    JOIN {Lab._meta.db_table} AS lab ON lab.id = study.lab_id
    JOIN {System._meta.db_table} AS system ON system.id = part.system_id
    JOIN {Host._meta.db_table} AS host ON host.id = part.host_id
    GROUP BY {_GROUPED_BY}, study.id, lab.id, host.id, part.virtualization, path
    ORDER BY study.id, part.tool, part.metric
"""
AVERAGE_COLUMNS: Final = 20


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
    stored_sources: str = "[]"

    @property
    def name(self) -> str:
        return f"{self.lab}/{self.slug}"

    @property
    def sources(self) -> tuple[Source, ...]:
        return sources_from_json(json.loads(self.stored_sources))


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
    doubt: str = ""
    """A value of `Effect.Doubt`: one of the reasons if there are several."""

    @property
    def decade(self) -> str:
        year = self.study.published[:4]
        return f"{year[:3]}0s" if year.isdigit() else ""


def averages_by_question(
    viewer: Viewer, questions: Collection[Question]
) -> Iterator[tuple[Question, BenchmarkAverage]]:
    labs = sorted(viewer.lab_ids)
    parameters: dict[str, Any] = {
        "labs": labs,
        "studies": None,
        "hosts": None,
        **_columns(questions),
    }
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
    hosts: Collection[int] | None = None,
) -> dict[Question, list[StudyAverage]]:
    """Return the results of all visible studies by question, in one query."""
    parameters: dict[str, Any] = {
        "labs": sorted(viewer.lab_ids),
        **_columns(questions or ()),
        "studies": None if studies is None else sorted(studies),
        "hosts": None if hosts is None else sorted(hosts),
    }
    with connection.cursor() as cursor:
        effects = _EFFECTS if questions is None else _REQUESTED
        cursor.execute(STUDY_AVERAGES_SQL.format(effects=effects), parameters)
        rows = cursor.fetchall()
    averages: dict[Question, list[StudyAverage]] = defaultdict(list)
    for row in rows:
        virtualization, path, cells, *rest = row[AVERAGE_COLUMNS:]
        lowest, highest, doubt, *rest = rest
        averages[Question(*row[:2])].append(
            StudyAverage(
                average=_benchmark_average(row[2:AVERAGE_COLUMNS]),
                host=HostInfo(*rest[:3]),
                study=StudyInfo(*rest[3:]),
                virtualization=virtualization,
                io_path=path,
                # Sorting in `array_agg` would sort all rows by all columns.
                cell_ids=tuple(sorted(map(int, cells.split()))[:MAX_CELLS]),
                lowest=lowest,
                highest=highest,
                doubt=doubt,
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
    machine, lab, tool, metric, exclusion, log_ratio, error, cells, width = row[:9]
    studies, is_doubtful, component, provider, model, *columns = row[9:]
    return BenchmarkAverage(
        # The machines of a provider count as one.
        *(f"provider {provider}" if model else machine, provider or lab),
        *((tool, metric), exclusion),
        *(log_ratio, error, cells, width),
        studies=tuple(studies),
        is_doubtful=is_doubtful,
        model=model,
        specimen=machine if model else 0,
        run_deviation=unmeasured_doubt_variance(component) ** 0.5,
        configurations=()
        if columns[1][0] is None
        else tuple(sorted(map(Configuration, *columns), key=_by_system)),
    )


def _by_system(configuration: Configuration) -> tuple[int, float]:
    return configuration.system, configuration.log_ratio


def configuration_labels(machines: Iterable[MachineEffect]) -> dict[int, str]:
    """Return what distinguishes each configuration of machines that list them.

    The keys are ids of systems.
    """
    groups = [[part.system for part in machine.configurations] for machine in machines]
    ids = {pk for group in groups for pk in group}
    systems = System.objects.in_bulk(ids) if ids else {}
    labels: dict[int, str] = {}
    for group in groups:
        facts = {pk: systems[pk].distinctive_facts for pk in group if pk in systems}
        names = dict.fromkeys(name for stated in facts.values() for name in stated)
        differing = [
            name
            for name in names
            if len({stated.get(name) for stated in facts.values()}) > 1
        ]
        for pk, stated in facts.items():
            labels[pk] = ", ".join(
                f"{name} {stated[name]}" for name in differing if name in stated
            )
    return labels


def evidence_matrix(
    viewer: Viewer, *, without_doubtful: bool = False
) -> dict[Question, Synthesis]:
    """Summaries of public studies are stored. If the viewer sees other studies on a
    question, all are pooled on request.
    """
    rows = PublicEvidence.objects.values_list("hypervisor", "work_class", "pools")
    summaries = {Question(*names): _deserialize(summary) for *names, summary in rows}
    if viewer.lab_ids:
        private = Effect.objects.exclude(study__visibility=Study.Visibility.PUBLIC)
        visible = private.filter(visible_studies(viewer, "study__"))
        questions = {
            Question(*names)
            for names in visible.exclude(work_class="")
            .order_by()
            .values_list("hypervisor", "work_class")
            .distinct()
        }
        if questions:
            pooled = screened_syntheses(averages_by_question(viewer, questions))
            summaries |= {
                question: synthesis.summary for question, synthesis in pooled.items()
            }
    if without_doubtful:
        return {
            question: synthesis.without_doubtful or synthesis
            for question, synthesis in summaries.items()
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
    pooled = screened_syntheses(averages_by_question(ANYONE, requested))
    PublicEvidence.objects.filter(
        pk__in=[rows[question].pk for question in requested if question not in pooled]
    ).delete()
    changed = [rows[question] for question in requested if question in pooled]
    for question in requested:
        if question in pooled:
            rows[question].pools = _serialize(pooled[question].summary)
    PublicEvidence.objects.bulk_update(changed, ["pools"], batch_size=200)


def _serialize(summary: Synthesis) -> dict[str, Any]:
    fields = asdict(summary)
    fields["strength"] = int(summary.strength)
    for name in OTHER_SYNTHESES:
        other = getattr(summary, name)
        fields[name] = other and _serialize(other)
    return fields


OTHER_SYNTHESES: Final = ("without_doubtful", "with_screened", "without_models")


def _deserialize(stored: Mapping[str, Any]) -> Synthesis:
    # Evidence of an earlier version has no synthesis without models.
    others = {name: stored.get(name) for name in OTHER_SYNTHESES}
    return Synthesis(
        machines=_machines(stored["machines"]),
        single_run_machines=_machines(stored["single_run_machines"]),
        pool=_pool(stored["pool"]),
        single_run_pool=_pool(stored["single_run_pool"]),
        strength=EvidenceStrength(stored["strength"]),
        excluded_counts=stored["excluded_counts"],
        lab_count=stored["lab_count"],
        screening=Screening(stored["screening"]),
        doubtful_count=stored["doubtful_count"],
        **{name: other and _deserialize(other) for name, other in others.items()},
    )


def _machines(stored: Collection[Mapping[str, Any]]) -> tuple[MachineEffect, ...]:
    return tuple(
        MachineEffect(
            **{
                **machine,
                "studies": tuple(machine["studies"]),
                "predicted": _ends(machine.get("predicted")),
                "flagged_models": tuple(machine.get("flagged_models", ())),
                "configurations": tuple(
                    Configuration(**part) for part in machine["configurations"]
                ),
            }
        )
        for machine in stored
    )


def _pool(stored: Mapping[str, Any]) -> PooledEffect:
    ends = {name: _ends(stored[name]) for name in ("interval", "predicted")}
    return PooledEffect(**{**stored, **ends, "weights": ()})


def _ends(stored: Sequence[float] | None) -> tuple[float, float] | None:
    return None if stored is None else (stored[0], stored[1])
