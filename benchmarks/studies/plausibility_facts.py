"""Plain data of a study for the plausibility rules."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple, cast

from django.db import connection
from django.db.models import Case as Choice
from django.db.models import F, FloatField, QuerySet, Value, When
from django.db.models.functions import Sqrt

from benchmarks.comparison.comparison_row import CIRCUMSTANCES
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.host_facts import (
    core_count,
    disk_bus_byte_per_s,
    line_rate_bit_per_s,
)
from benchmarks.models import (
    Case,
    Cell,
    Flag,
    Run,
    Sample,
    Study,
    System,
)
from benchmarks.models.run import RUN_ORDER_SQL, RUNS_OF_CELLS_SQL, runs_of_cells_sql
from benchmarks.parsing.failed_work import FAILURE_CODES
from benchmarks.plausibility.rules import RULES
from benchmarks.plausibility.study_facts import (
    Better,
    CellFact,
    Id,
    OriginalCell,
    RunFact,
    SampleFact,
    StudyFacts,
)
from benchmarks.sentences import sentence_from_json
from benchmarks.studies.copies import CellCopy

FAILED_WORK = RULES["failed-work"]
# Limits the memory of a check.
MAX_OTHER_CELLS = 50_000
RUN_GROUP_FIELDS = ("system_id", *CIRCUMSTANCES)
RUN_MEANS = f"""
    {runs_of_cells_sql("cell.study_id = %s")}
    SELECT run.cell_id, array_agg(run.mean ORDER BY {RUN_ORDER_SQL}),
           array_agg(run.session_id ORDER BY {RUN_ORDER_SQL})
    {RUNS_OF_CELLS_SQL}
    GROUP BY run.cell_id
"""


CELL_FACT_COLUMNS = {
    **{name: f"{name}_id" for name in ("study", "system", "case")},
    **{name: name for name in ("id", *CIRCUMSTANCES, "n", "mean", "decimals", "clock")},
    **{name: name for name in ("first_at", "last_at")},
    "declared_session": "declared_session__name",
    "baseline": "efficiency__baseline_id",
    "baseline_study": "efficiency__baseline__study_id",
    "stated_deviation": "stated_deviation",
}
"""Fields of `CellFact` and their columns."""
RUN_FACT_FIELDS = ("host", "system_label", "is_native", "vcpus", "host_cores")
Row = Mapping[str, Any]


Facts = dict[str, Any]


class ReferencedFacts(NamedTuple):
    systems: Mapping[int, Facts]
    cases: Mapping[int, Facts]
    studies: Mapping[int, Study]


class CellRunMeans(NamedTuple):
    means: tuple[float, ...]
    sessions: tuple[str, ...]


NO_RUNS = CellRunMeans((), ())


def study_facts(study: Study, *, with_runs: bool = True) -> StudyFacts:
    """Use a fixed number of queries.

    Without ``with_runs``, it contains no facts of runs.
    """
    # Runs are read first: later ones are ignored, and their uploads queue a check.
    runs: list[Run] = []
    decisions: Mapping[int, str] = {}
    if with_runs:
        parsed = Run.objects.filter(study=study, status=Run.Status.PARSED)
        runs = list(parsed.select_related("corun").order_by("pk"))
        decisions = failure_decisions(study.flags.exclude(status=Flag.Status.OPEN))
    measured = Cell.objects.filter(n__gt=0).order_by("pk")
    own_cells = _rows(measured.filter(study=study))
    means = run_means(study)
    # Only cells that every viewer of this study's flags can see.
    related = measured.filter(
        lab=study.lab_id, case__in={row["case"] for row in own_cells}
    )
    if not study.is_private:
        related = related.filter(study__visibility=Study.Visibility.PUBLIC)
    other_cells = _rows(related.exclude(study=study)[:MAX_OTHER_CELLS])
    referenced = _referenced_facts([*own_cells, *other_cells], runs)
    run_facts = {
        run: replace(fact, failure_decision=decisions.get(run.pk, ""))
        for run, fact in zip(
            runs, _run_facts(study, runs, own_cells, referenced), strict=True
        )
    }
    return StudyFacts(
        id=study.pk,
        cells=tuple(
            _cell_fact(row, means.get(row["id"], NO_RUNS), referenced)
            for row in own_cells
        ),
        runs=tuple(fact for run, fact in run_facts.items() if not run.is_failed),
        failed_runs=tuple(
            fact
            for run, fact in run_facts.items()
            if run.is_failed or fact.failure_decision
        ),
        other_study_cells=tuple(
            _cell_fact(row, NO_RUNS, referenced) for row in other_cells
        ),
        varied=tuple(study.factors),
    )


def failure_decisions(flags: QuerySet[Flag]) -> dict[int, str]:
    """Map runs to the fingerprints of the flags among ``flags`` about their failure.

    Flags that are resolved because their runs changed still apply to the others.
    """
    rows = flags.filter(rule=FAILED_WORK.id).order_by("pk")
    return {
        int(subject["id"]): fingerprint
        for fingerprint, subjects in rows.values_list("fingerprint", "subjects")
        for subject in subjects
    }


def with_originals(facts: StudyFacts, copies: Mapping[int, CellCopy]) -> StudyFacts:
    originals = Cell.objects.select_related("study", "system__host").in_bulk(
        {copy.original_id for copy in copies.values()}
    )
    copied = Cell.objects.select_related("system").in_bulk(list(copies))
    by_cell: dict[Id, OriginalCell] = {
        pk: OriginalCell(
            id=original.pk,
            study=original.study_id,
            study_label=original.study.slug,
            host=original.system.host.slug,
            system=original.system_id,
            system_label=original.system.label,
            is_same_host=original.system.host_id == copied[pk].system.host_id,
            is_same_lab=original.lab_id == copied[pk].lab_id,
            shared=copies[pk].runs.shared,
            factor=copies[pk].runs.factor,
        )
        for pk in copies
        for original in [originals[copies[pk].original_id]]
    }
    return replace(facts, originals=by_cell)


def _rows(cells: QuerySet[Cell]) -> list[Row]:
    # Null without m2, and for measured runs.
    deviation = Sqrt(F("m2") / (F("n") - Value(1.0)))
    stated = When(summarized_runs__gt=1, then=deviation)
    cells = cells.annotate(stated_deviation=Choice(stated, output_field=FloatField()))
    rows = cells.values_list(*CELL_FACT_COLUMNS.values())
    return [dict(zip(CELL_FACT_COLUMNS, row, strict=True)) for row in rows]


def _referenced_facts(rows: Sequence[Row], runs: Sequence[Run]) -> ReferencedFacts:
    systems = {row["system"] for row in rows} | {run.system_id for run in runs}
    systems_by_id = System.objects.select_related("host").in_bulk(systems)
    cases = Case.objects.in_bulk({row["case"] for row in rows})
    system_facts = {
        pk: {
            "host": system.host.slug,
            "host_cores": core_count(system.host.facts),
            "line_rate_bit_per_s": line_rate_bit_per_s(system.host.facts),
            "disk_bus_byte_per_s": disk_bus_byte_per_s(system.host.facts),
            "system_label": system.label,
            "is_native": system.is_native,
            "is_emulated": system.is_emulated,
            "options": system.options,
            **system.stated_fields,
        }
        for pk, system in systems_by_id.items()
    }
    case_facts = {
        pk: {
            "tool": case.tool,
            "metric": case.metric,
            "case_label": f"{require_tool(case.tool).title} {case.label}",
            "parameters": case.parameters,
            "component": case.component,
            "unit": case.unit,
            "better": cast(Better, case.better),
            "zero_allowed": require_tool(case.tool).metric(case.metric).allows_zero,
        }
        for pk, case in cases.items()
    }
    studies = Study.objects.in_bulk({row["study"] for row in rows})
    return ReferencedFacts(system_facts, case_facts, studies)


def run_means(study: Study) -> Mapping[int, CellRunMeans]:
    """Return run means by cell, in the order of runs."""
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [study.pk])
        rows = cursor.fetchall()
    names: dict[int | None, str] = dict(study.sessions.values_list("pk", "name"))
    return {
        cell_id: CellRunMeans(
            tuple(means), tuple(names.get(session_id, "") for session_id in session_ids)
        )
        for cell_id, means, session_ids in rows
    }


def _cell_fact(row: Row, runs: CellRunMeans, referenced: ReferencedFacts) -> CellFact:
    columns = {**row, "declared_session": row["declared_session"] or ""}
    return CellFact(
        **columns,
        **referenced.systems[row["system"]],
        **referenced.cases[row["case"]],
        study_label=referenced.studies[row["study"]].slug,
        run_means=runs.means,
        session_names=runs.sessions,
    )


def _run_facts(
    study: Study, runs: Sequence[Run], rows: Sequence[Row], referenced: ReferencedFacts
) -> Iterator[RunFact]:
    if not runs:
        return
    # The cells of a run differ only in their cases.
    cells_by_key: dict[tuple[Any, ...], dict[int, int]] = defaultdict(dict)
    for row in rows:
        group_key = (row["system"], *(row[name] for name in CIRCUMSTANCES))
        cells_by_key[group_key][row["case"]] = row["id"]
    key_of = attrgetter(*RUN_GROUP_FIELDS)
    cells_of = {run.pk: cells_by_key.get(key_of(run), {}) for run in runs}
    measured = {row["case"]: referenced.cases[row["case"]] for row in rows}
    samples: dict[int, list[SampleFact]] = defaultdict(list)
    stored_samples = Sample.objects.filter(lab=study.lab_id, run__study=study)
    for run_id, case_id, value, repetition in stored_samples.order_by(
        "run_id", "sequence"
    ).values_list("run_id", "case_id", "value", "repetition"):
        case = measured.get(case_id)
        if case is None or run_id not in cells_of:
            continue
        samples[run_id].append(
            SampleFact(
                **{name: case[name] for name in ("metric", "unit", "parameters")},
                value=value,
                repetition=repetition,
                cell=cells_of[run_id].get(case_id),
            )
        )
    for run in runs:
        system, facts = referenced.systems[run.system_id], run.facts
        system_facts = {name: system[name] for name in RUN_FACT_FIELDS}
        yield RunFact(
            id=run.pk,
            study=run.study_id,
            upload=str(run.key),
            system=run.system_id,
            **system_facts,
            tool=run.tool,
            tool_version=run.tool_version,
            scenario=run.scenario,
            vms=run.vms,
            slot=run.slot,
            load=run.load,
            corun=run.corun.name if run.corun else "",
            clock=run.clock,
            started_at=run.started_at,
            duration_s=_duration_s(facts),
            requested_s=_number(facts, "requested_s"),
            samples=tuple(samples.get(run.pk, ())),
            facts={
                key: value
                for key, value in facts.items()
                if isinstance(value, str | int | float | bool)
            },
            parse_warnings=tuple(
                (warning["code"], sentence_from_json(warning))
                for warning in run.warnings
                if not (run.failure_dismissed and warning["code"] in FAILURE_CODES)
            ),
            failure=run.failure,
            document=run.document,
            table=run.table,
        )


def _duration_s(facts: Mapping[str, Any]) -> float | None:
    stated_s = _number(facts, "elapsed_s", "duration_s")
    if stated_s is not None:
        return stated_s
    for group, name in (("clock", "external_us"), ("execution", "local_us")):
        timed = facts.get(group)
        if (
            isinstance(timed, dict)
            and (duration_us := _number(timed, name)) is not None
        ):
            return duration_us / 1e6
    return None


def _number(facts: Mapping[str, Any], *names: str) -> float | None:
    stated = (facts.get(name) for name in names)
    return next(
        (float(value) for value in stated if isinstance(value, int | float)), None
    )
