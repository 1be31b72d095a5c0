"""A study as the plain values that the rules of plausibility look at."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, cast

from django.db import connection
from django.db.models import QuerySet

from benchmarks.comparing.row import CIRCUMSTANCES
from benchmarks.models import (
    Case,
    Cell,
    Run,
    Sample,
    Study,
    System,
)
from benchmarks.models.run import PLACE_OF_RUN, RUNS_OF_CELLS, of_cells
from benchmarks.own_tools.lookup import known_tool
from benchmarks.platforms import cores, disk_bus_byte_per_s, line_rate_bit_per_s
from benchmarks.plausibility.facts import (
    Better,
    CellFact,
    RunFact,
    SampleFact,
    StudyFacts,
)
from benchmarks.sentences import kept_words

# A case of a hundred labs must not fill the memory of who checks one study.
OTHERS_AT_MOST = 50_000
PLACE = ("system_id", *CIRCUMSTANCES)
RUN_MEANS = f"""
    {of_cells("cell.study_id = %s")}
    SELECT run.cell_id, array_agg(run.mean ORDER BY {PLACE_OF_RUN}),
           array_agg(run.sitting_id ORDER BY {PLACE_OF_RUN})
    {RUNS_OF_CELLS}
    GROUP BY run.cell_id
"""


COLUMNS = {
    **{name: f"{name}_id" for name in ("study", "system", "case")},
    **{name: name for name in ("id", *CIRCUMSTANCES, "n", "mean", "decimals", "clock")},
    **{"session": "session__name", "first_at": "first_at", "last_at": "last_at"},
    "baseline": "efficiency__baseline_id",
    "baseline_study": "efficiency__baseline__study_id",
}
"""Fields of `CellFact`, each with the column that it is read from."""
OF_RUN = ("host", "system_label", "is_native", "vcpus", "host_cores")
Row = Mapping[str, Any]


Facts = dict[str, Any]


class Stated(NamedTuple):
    """Facts about what cells and runs refer to, by id."""

    systems: Mapping[int, Facts]
    cases: Mapping[int, Facts]
    studies: Mapping[int, Study]


class RunMeans(NamedTuple):
    """The means of a cell's runs, and the names of the sessions they are of."""

    means: tuple[float, ...]
    sittings: tuple[str, ...]


NO_RUNS = RunMeans((), ())


def study_facts(study: Study, *, with_runs: bool = True) -> StudyFacts:
    """Return a study for the rules, in a fixed number of queries."""
    # Runs first: a run that arrives between two queries is left out. Its upload has
    # queued another check.
    runs: list[Run] = []
    if with_runs:
        parsed = Run.objects.filter(study=study, status=Run.Status.PARSED)
        runs = list(parsed.select_related("corun").order_by("pk"))
    measured = Cell.objects.filter(n__gt=0).order_by("pk")
    own = _rows(measured.filter(study=study))
    means = run_means(study)
    # Only studies that every viewer of this study's flags may see.
    near = measured.filter(lab=study.lab_id, case__in={row["case"] for row in own})
    if not study.is_private:
        near = near.filter(study__visibility=Study.Visibility.PUBLIC)
    others = _rows(near.exclude(study=study)[:OTHERS_AT_MOST])
    stated = _stated([*own, *others], runs)
    return StudyFacts(
        id=study.pk,
        cells=tuple(
            _cell_fact(row, means.get(row["id"], NO_RUNS), stated) for row in own
        ),
        runs=tuple(_run_facts(study, runs, own, stated)),
        others=tuple(_cell_fact(row, NO_RUNS, stated) for row in others),
        varied=tuple(study.factors),
    )


def _rows(cells: QuerySet[Cell]) -> list[Row]:
    rows = cells.values_list(*COLUMNS.values())
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def _stated(rows: Sequence[Row], runs: Sequence[Run]) -> Stated:
    systems = {row["system"] for row in rows} | {run.system_id for run in runs}
    found = System.objects.select_related("host").in_bulk(systems)
    cases = Case.objects.in_bulk({row["case"] for row in rows})
    of_systems = {
        pk: {
            "host": system.host.slug,
            "host_cores": cores(system.host.facts),
            "line_rate_bit_per_s": line_rate_bit_per_s(system.host.facts),
            "disk_bus_byte_per_s": disk_bus_byte_per_s(system.host.facts),
            "system_label": system.label,
            "is_native": system.is_native,
            "is_emulated": system.is_emulated,
            "options": system.options,
            **system.stated,
        }
        for pk, system in found.items()
    }
    of_cases = {
        pk: {
            "tool": case.tool,
            "metric": case.metric,
            "case_label": f"{known_tool(case.tool).title} {case.label}",
            "parameters": case.parameters,
            "component": case.component,
            "unit": case.unit,
            "better": cast(Better, case.better),
            "zero_allowed": known_tool(case.tool).metric(case.metric).zero_allowed,
        }
        for pk, case in cases.items()
    }
    studies = Study.objects.in_bulk({row["study"] for row in rows})
    return Stated(of_systems, of_cases, studies)


def run_means(study: Study) -> Mapping[int, RunMeans]:
    """Return the run means of every cell, in the order of the runs."""
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [study.pk])
        rows = cursor.fetchall()
    names: dict[int | None, str] = dict(study.sessions.values_list("pk", "name"))
    return {
        cell_id: RunMeans(
            tuple(means), tuple(names.get(sitting, "") for sitting in sittings)
        )
        for cell_id, means, sittings in rows
    }


def _cell_fact(row: Row, runs: RunMeans, stated: Stated) -> CellFact:
    named = {**row, "session": row["session"] or ""}
    return CellFact(
        **named,
        **stated.systems[row["system"]],
        **stated.cases[row["case"]],
        study_label=stated.studies[row["study"]].slug,
        means=runs.means,
        sittings=runs.sittings,
    )


def _run_facts(
    study: Study, runs: Sequence[Run], rows: Sequence[Row], stated: Stated
) -> Iterator[RunFact]:
    if not runs:
        return
    # The cells of each place by their cases: a run has one place for all its samples.
    places: dict[tuple[Any, ...], dict[int, int]] = defaultdict(dict)
    for row in rows:
        place = (row["system"], *(row[name] for name in CIRCUMSTANCES))
        places[place][row["case"]] = row["id"]
    place_of = attrgetter(*PLACE)
    cells_of = {run.pk: places.get(place_of(run), {}) for run in runs}
    measured = {row["case"]: stated.cases[row["case"]] for row in rows}
    samples: dict[int, list[SampleFact]] = defaultdict(list)
    read = Sample.objects.filter(lab=study.lab_id, run__study=study)
    for run_id, case_id, value, repetition in read.order_by(
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
        system, facts = stated.systems[run.system_id], run.facts
        named = {name: system[name] for name in OF_RUN}
        yield RunFact(
            id=run.pk,
            study=run.study_id,
            upload=str(run.key),
            system=run.system_id,
            **named,
            tool=run.tool,
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
            marks=tuple((mark["code"], kept_words(mark)) for mark in run.warnings),
            document=run.document,
            table=run.table,
        )


def _duration_s(facts: Mapping[str, Any]) -> float | None:
    """How long a run took: as it states, else as the agent timed it, from outside."""
    stated_s = _number(facts, "elapsed_s", "duration_s")
    if stated_s is not None:
        return stated_s
    for group, name in (("clock", "external_us"), ("execution", "local_us")):
        timed = facts.get(group)
        if isinstance(timed, dict) and (took_us := _number(timed, name)) is not None:
            return took_us / 1e6
    return None


def _number(facts: Mapping[str, Any], *names: str) -> float | None:
    """The first of these facts that is a number: facts hold anything."""
    stated = (facts.get(name) for name in names)
    return next((float(one) for one in stated if isinstance(one, int | float)), None)
