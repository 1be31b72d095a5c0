"""What power meters read in a study, and the work they were read for."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from benchmarks.analysis.energy import METERS, WORK_TIMES
from benchmarks.models import Case, Run, Sample, Study
from benchmarks.own_tools.lookup import known_tool

METER_TOOLS = METERS | {"rapl"}
OPERATIONS = ("transactions", "replies", "events", "operations")
ENERGY, METER_TIME, POWER = "energy", "meter time", "power mean"
ELAPSED = ("elapsed_s", "duration_s")
CORUN = "corun"
Place = tuple[Any, ...] | None


@dataclass(frozen=True)
class Work:
    """The runs that a meter was read for: the longest time, all their operations."""

    runs: tuple[Run, ...] = ()
    seconds: float | None = None
    operations: float | None = None


@dataclass(frozen=True)
class MeterReading:
    """One reading of a meter; ``case`` is that of its energy, or of its power."""

    run: Run
    case: Case
    meter_j: float | None
    meter_s: float | None
    mean_w: float | None
    work: Work

    @property
    def workload(self) -> str:
        titles = sorted({known_tool(run.tool).title for run in self.work.runs})
        stated = self.case.parameters.get("workload", "")
        return stated or ", ".join(titles) or self.case.label


def meter_readings(study: Study) -> tuple[MeterReading, ...]:
    """Return every reading with the work of its co-run or session, in four queries."""
    meters = list(_runs(study).filter(tool__in=METER_TOOLS))
    partners = _partners(study, meters)
    work_runs = {run.pk: run for runs in partners.values() for run in runs}
    printed = samples_by_run(meters, (ENERGY, METER_TIME, POWER))
    done = samples_by_run(work_runs.values(), (*WORK_TIMES, *OPERATIONS))
    readings: list[MeterReading] = []
    for meter in meters:
        runs = partners.get(meter.pk, ())
        times = [took_s(run, done[run.pk]) for run in runs]
        known = [time for time in times if time is not None]
        work = Work(
            runs=tuple(runs),
            # A run of unknown length may have been the longest.
            seconds=max(known) if known and len(known) == len(times) else None,
            operations=sum_of_all(operations_of(done[run.pk]) for run in runs),
        )
        readings += _readings(meter, printed[meter.pk], work)
    return tuple(readings)


def _runs(study: Study) -> Any:
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED, duplicate_of=None)
    return runs.select_related("system__host").order_by("pk")


def _partners(study: Study, meters: Sequence[Run]) -> Mapping[int, tuple[Run, ...]]:
    coruns = {meter.corun_id for meter in meters if meter.corun_id}
    sessions = {meter.session_id for meter in meters if meter.session_id}
    near = Q(corun__in=coruns) | Q(corun=None, session__in=sessions)
    by_place: dict[Place, list[Run]] = defaultdict(list)
    for run in _runs(study).filter(near).exclude(tool__in=METER_TOOLS):
        by_place[_place(run)].append(run)
    metered = Counter(_place(meter) for meter in meters)
    partners: dict[int, tuple[Run, ...]] = {}
    for meter in meters:
        place = _place(meter)
        if place and (place[0] == CORUN or metered[place] == 1):
            partners[meter.pk] = tuple(by_place[place])
    return partners


def _place(run: Run) -> Place:
    if run.corun_id:
        return (CORUN, run.corun_id)
    return ("session", run.session_id, run.system_id) if run.session_id else None


def _readings(
    meter: Run, samples: Sequence[Sample], work: Work
) -> Iterable[MeterReading]:
    """Return one reading for each energy (processors count several), or one in all."""
    by_metric: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_metric[sample.case.metric].append(sample)
    times = [sample.value for sample in by_metric[METER_TIME]]
    # Its facts alone: the samples of a meter are no times of work.
    seconds = max(times, default=None) or took_s(meter, ())
    for energy in by_metric[ENERGY]:
        mean_w = energy.value / seconds if seconds else None
        yield MeterReading(meter, energy.case, energy.value, seconds, mean_w, work)
    if by_metric[POWER] and not by_metric[ENERGY]:
        power = by_metric[POWER][0]
        yield MeterReading(meter, power.case, None, seconds, power.value, work)


def took_s(run: Run, samples: Iterable[Sample]) -> float | None:
    """Return how long a run took: by its facts, else by what its tool printed."""
    for stated in (run.facts.get(name) for name in ELAPSED):
        if isinstance(stated, int | float) and stated > 0:
            return float(stated)
    times = [sample.value for sample in samples if sample.case.metric in WORK_TIMES]
    return max((time for time in times if time > 0), default=None)


def samples_by_run(
    runs: Iterable[Run], metrics: Iterable[str]
) -> Mapping[int, list[Sample]]:
    """Return each run's samples of these metrics with their cases, in one query."""
    by_run: dict[int, list[Sample]] = {}
    labs = set()
    for run in runs:
        by_run[run.pk] = []
        labs.add(run.lab_id)
    samples = Sample.objects.filter(
        lab__in=labs, run__in=by_run, case__metric__in=metrics
    )
    for sample in samples.select_related("case").order_by("run_id", "sequence"):
        by_run[sample.run_id].append(sample)
    return by_run


def operations_of(samples: Sequence[Sample]) -> float | None:
    """Return what a run did, where its tool counts something."""
    for metric in OPERATIONS:
        counts = [sample.value for sample in samples if sample.case.metric == metric]
        if counts:
            return sum(counts)
    return None


def sum_of_all(operations: Iterable[float | None]) -> float | None:
    counts = list(operations)
    known = [count for count in counts if count and count > 0]
    return sum(known) if known and len(known) == len(counts) else None
