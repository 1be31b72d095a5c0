"""A study as the plain values that the rules of plausibility look at."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, cast

from django.db import connection
from django.db.models import Q

from benchmarks.comparing.row import CIRCUMSTANCES
from benchmarks.models import Cell, Efficiency, Run, Sample, Session, Study
from benchmarks.models.run import CELL_SAMPLES, MEAN_IN_ORDER, PLACE_OF_RUN
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
NOT_OF_NATIVE = (Efficiency.State.RELATIVE, Efficiency.State.SLOWDOWN)
PLACE = ("system_id", *CIRCUMSTANCES)
RUN_MEANS = f"""
    SELECT id, array_agg(mean ORDER BY place), array_agg(sitting ORDER BY place)
    FROM (SELECT cell.id, {PLACE_OF_RUN} AS place, {MEAN_IN_ORDER} AS mean,
                 coalesce(session.name, '') AS sitting
          {CELL_SAMPLES}
          LEFT JOIN {Session._meta.db_table} AS session ON session.id = run.sitting_id
          WHERE cell.study_id = %s
          GROUP BY cell.id, run.id, session.name) AS runs
    GROUP BY id
"""


class RunMeans(NamedTuple):
    """The means of a cell's runs, and the names of the sessions they are of."""

    means: tuple[float, ...]
    sittings: tuple[str, ...]


NO_RUNS = RunMeans((), ())


def study_facts(study: Study) -> StudyFacts:
    """Return a study with all it is checked with, in a fixed number of queries."""
    # Runs first: a run is stored together with its cells, and one that arrives between
    # two of these queries is left out. It has noted that the study is checked again.
    parsed = Run.objects.filter(study=study, status=Run.Status.PARSED)
    runs = list(parsed.select_related("system__host", "corun").order_by("pk"))
    related = ("system__host", "case", "session", "study", "efficiency__baseline")
    measured = Cell.objects.filter(n__gt=0).select_related(*related).order_by("pk")
    cells = list(measured.filter(study=study))
    means = run_means(study)
    # Whoever sees this study's flags may see the cells of these studies as well.
    seen = Q(study__visibility=Study.Visibility.PUBLIC)
    if study.visibility == Study.Visibility.PRIVATE:
        seen |= Q(lab=study.lab_id)
    others = measured.filter(seen, case__in={cell.case_id for cell in cells})
    return StudyFacts(
        id=study.pk,
        label=study.slug,
        cells=tuple(_cell_fact(cell, means.get(cell.pk, NO_RUNS)) for cell in cells),
        runs=tuple(_run_facts(study, runs, cells)),
        others=tuple(
            _cell_fact(cell, NO_RUNS)
            for cell in others.exclude(study=study)[:OTHERS_AT_MOST]
        ),
        varied=tuple(study.factors),
    )


def run_means(study: Study) -> Mapping[int, RunMeans]:
    """Return the run means of every cell, in the order of the runs."""
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [study.pk])
        return {
            cell_id: RunMeans(tuple(means), tuple(sittings))
            for cell_id, means, sittings in cursor.fetchall()
        }


def _cell_fact(cell: Cell, runs: RunMeans) -> CellFact:
    system, case, facts = cell.system, cell.case, cell.system.host.facts
    efficiency = getattr(cell, "efficiency", None)
    against: dict[str, Any] = {}
    if efficiency is not None and (baseline := efficiency.baseline) is not None:
        is_native = efficiency.state not in NOT_OF_NATIVE
        several = baseline.n > 1
        against = {
            "baseline": baseline.pk,
            "baseline_mean": baseline.mean,
            "baseline_n": baseline.n,
            "baseline_variance": baseline.m2 / (baseline.n - 1) if several else None,
            # Against a reference system, or the same one alone, it is no efficiency:
            # no rule takes it for one.
            "efficiency": efficiency.ratio if is_native else None,
        }
    return CellFact(
        id=cell.pk,
        study=cell.study_id,
        study_label=cell.study.slug,
        lab=cell.lab_id,
        host=system.host.slug,
        host_cores=cores(facts),
        line_rate_bit_per_s=line_rate_bit_per_s(facts),
        disk_bus_byte_per_s=disk_bus_byte_per_s(facts),
        system=system.pk,
        system_label=system.label,
        is_native=system.is_native,
        is_emulated=system.is_emulated,
        options=system.options,
        **system.stated,
        tool=case.tool,
        metric=case.metric,
        case=case.pk,
        case_label=f"{known_tool(case.tool).title} {case.label}",
        parameters=case.parameters,
        component=case.component,
        unit=case.unit,
        better=cast(Better, case.better),
        zero_allowed=known_tool(case.tool).metric(case.metric).zero_allowed,
        **against,
        scenario=cell.scenario,
        vms=cell.vms,
        slot=cell.slot,
        load=cell.load,
        n=cell.n,
        mean=cast(float, cell.mean),
        means=runs.means,
        sittings=runs.sittings,
        decimals=cell.decimals,
        clock=cell.clock,
        session=cell.session.name if cell.session else "",
        first_at=cell.first_at,
        last_at=cell.last_at,
        document=cell.document,
        table=cell.table,
    )


def _run_facts(
    study: Study, runs: Sequence[Run], cells: Sequence[Cell]
) -> Iterator[RunFact]:
    known = {run.pk for run in runs}
    cases = {cell.case_id: cell.case for cell in cells}
    place_of = attrgetter(*PLACE, "case_id")
    cell_ids = {place_of(cell): cell.pk for cell in cells}
    rows = Sample.objects.filter(run__study=study).order_by("run_id", "sequence")
    names = [f"run__{name}" for name in PLACE]
    samples: dict[int, list[SampleFact]] = defaultdict(list)
    for run_id, *place, case_id, value, repetition in rows.values_list(
        "run_id", *names, "case_id", "value", "repetition"
    ):
        case = cases.get(case_id)
        if case is None or run_id not in known:
            continue
        samples[run_id].append(
            SampleFact(
                metric=case.metric,
                value=value,
                unit=case.unit,
                parameters=case.parameters,
                repetition=repetition,
                cell=cell_ids.get((*place, case_id)),
            )
        )
    for run in runs:
        system, facts = run.system, run.facts
        yield RunFact(
            id=run.pk,
            study=run.study_id,
            upload=str(run.key),
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
