"""A study as the plain values that the rules of plausibility look at."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from django.db import connection
from django.db.models import Q, QuerySet

from benchmarks import tools
from benchmarks.models import Case, Cell, Efficiency, Run, Sample, Study, System
from benchmarks.models.run import CELL_SAMPLES
from benchmarks.platforms import cores, disk_bus_byte_per_s, line_rate_bit_per_s
from benchmarks.plausibility.facts import CellFact, RunFact, SampleFact, StudyFacts
from benchmarks.sentences import kept_words

OTHERS_AT_MOST = 50_000


def study_facts(study: Study) -> StudyFacts:
    """Return a study with all it is checked with, in a fixed number of queries."""
    cells = list(_with_all(Cell.objects.filter(study=study, n__gt=0)))
    means = run_means(study)
    facts = tuple(_cell_fact(cell, means.get(cell.pk, ())) for cell in cells)
    return StudyFacts(
        id=study.pk,
        label=study.slug,
        cells=facts,
        runs=tuple(_run_facts(study, cells)),
        others=tuple(_cell_fact(cell, ()) for cell in _others(study, cells)),
        varied=tuple(study.factors),
    )


def run_means(study: Study) -> Mapping[int, tuple[float, ...]]:
    """Return the run means of every cell, in the order of the runs."""
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [study.pk])
        return {cell_id: tuple(means) for cell_id, means in cursor.fetchall()}


RUN_MEANS = f"""
    SELECT id, array_agg(mean ORDER BY started_at NULLS FIRST, run_id)
    FROM (SELECT cell.id, run.id AS run_id, run.started_at, avg(sample.value) AS mean
          {CELL_SAMPLES}
          WHERE cell.study_id = %s
          GROUP BY cell.id, run.id) AS each
    GROUP BY id
"""


def _with_all(cells: QuerySet[Cell]) -> QuerySet[Cell]:
    related = ("system__host", "case", "session", "study", "efficiency__baseline")
    return cells.select_related(*related).order_by("pk")


def _others(study: Study, cells: Sequence[Cell]) -> Iterable[Cell]:
    """Return cells of other studies that whoever sees this one may see as well."""
    seen = Q(study__visibility=Study.Visibility.PUBLIC)
    if study.visibility == Study.Visibility.PRIVATE:
        seen |= Q(lab=study.lab_id)
    same = Cell.objects.filter(
        seen, case__in={cell.case_id for cell in cells}, n__gt=0
    ).exclude(study=study)
    return _with_all(same)[:OTHERS_AT_MOST]


def _cell_fact(cell: Cell, means: tuple[float, ...]) -> CellFact:
    return CellFact(
        id=cell.pk,
        study=cell.study_id,
        study_label=cell.study.slug,
        lab=cell.lab_id,
        **_system_fields(cell.system),
        **_case_fields(cell.case),
        **_baseline_fields(cell),
        scenario=cell.scenario,
        vms=cell.vms,
        slot=cell.slot,
        load=cell.load,
        n=cell.n,
        mean=cast(float, cell.mean),
        means=means,
        decimals=cell.decimals,
        clock=cell.clock,
        session=cell.session.name if cell.session else "",
        first_at=cell.first_at,
        last_at=cell.last_at,
        document=cell.document,
        table=cell.table,
    )


def _system_fields(system: System) -> dict[str, Any]:
    facts = system.host.facts
    return {
        "host": system.host.slug,
        "system": system.pk,
        "system_label": system.label,
        "is_native": system.is_native,
        **system.stated,
        "options": system.options,
        "host_cores": cores(facts),
        "line_rate_bit_per_s": line_rate_bit_per_s(facts),
        "disk_bus_byte_per_s": disk_bus_byte_per_s(facts),
    }


def _case_fields(case: Case) -> dict[str, Any]:
    return {
        "tool": case.tool,
        "metric": case.metric,
        "case": case.pk,
        "case_label": f"{tools.get(case.tool).title} {case.label}",
        "parameters": case.parameters,
        "component": case.component,
        "unit": case.unit,
        "better": case.better,
    }


def _baseline_fields(cell: Cell) -> dict[str, Any]:
    against = getattr(cell, "efficiency", None)
    baseline = against.baseline if against else None
    if against is None or baseline is None:
        return {}
    is_native = against.state != Efficiency.State.RELATIVE
    return {
        "baseline": baseline.pk,
        "baseline_mean": baseline.mean,
        "baseline_n": baseline.n,
        "baseline_variance": baseline.m2 / (baseline.n - 1) if baseline.n > 1 else None,
        "efficiency": against.ratio if is_native else None,
    }


def _run_facts(study: Study, cells: Sequence[Cell]) -> Iterable[RunFact]:
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED)
    cases = {cell.case_id: cell.case for cell in cells}
    places = {_place(cell, cell.case_id): cell.pk for cell in cells}
    rows = Sample.objects.filter(run__study=study).order_by("run_id", "sequence")
    found: dict[int, list[SampleFact]] = defaultdict(list)
    for run_id, *place, case_id, value, repetition in rows.values_list(
        "run_id",
        *(f"run__{name}" for name in ("system_id", "scenario", "vms", "slot", "load")),
        "case_id",
        "value",
        "repetition",
    ):
        case = cases[case_id]
        found[run_id].append(
            SampleFact(
                metric=case.metric,
                value=value,
                unit=case.unit,
                parameters=case.parameters,
                repetition=repetition,
                cell=places.get((*place, case_id)),
            )
        )
    samples = found
    for run in runs.select_related("system__host", "corun").order_by("pk"):
        yield _run_fact(run, samples.get(run.pk, ()))


def _place(it: Cell | Run, case_id: int) -> tuple[Any, ...]:
    return (it.system_id, it.scenario, it.vms, it.slot, it.load, case_id)


def _run_fact(run: Run, samples: Iterable[SampleFact]) -> RunFact:
    system, facts = run.system, run.facts
    return RunFact(
        id=run.pk,
        study=run.study_id,
        host=system.host.slug,
        system=system.pk,
        system_label=system.label,
        is_native=system.is_native,
        vcpus=system.vcpus,
        host_cores=cores(system.host.facts),
        tool=run.tool,
        scenario=run.scenario,
        vms=run.vms,
        slot=run.slot,
        load=run.load,
        corun=run.corun.name if run.corun else "",
        clock=run.clock,
        started_at=run.started_at,
        duration_s=_duration_s(facts),
        requested_s=_seconds(facts, "requested_s"),
        samples=tuple(samples),
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
    stated = _seconds(facts, "elapsed_s", "duration_s")
    if stated is not None:
        return stated
    for group, name in (("clock", "external_us"), ("execution", "local_us")):
        timed = facts.get(group)
        if isinstance(timed, dict) and (found := _seconds(timed, name)) is not None:
            return found / 1e6
    return None


def _seconds(facts: Mapping[str, Any], *names: str) -> float | None:
    stated = (facts.get(name) for name in names)
    return next((float(each) for each in stated if isinstance(each, int | float)), None)
