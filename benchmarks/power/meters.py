"""What power meters read in a study, and the work that they were read for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from benchmarks import tools
from benchmarks.models import Case, Run, Sample, Study
from benchmarks.plausibility.rules.coruns import METERS, WORK_TIMES

METER_TOOLS = METERS | {"rapl"}
OPERATIONS = ("transactions", "replies", "events", "operations")
ENERGY, METER_TIME, POWER = "energy", "meter time", "power mean"
ELAPSED = ("elapsed_s", "duration_s")
CORUN = "corun"

Place = tuple[Any, ...] | None


@dataclass(frozen=True)
class Work:
    """The runs that a meter was read for.

    ``seconds`` is the longest one's time, ``operations`` what all did together.
    """

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
        """What ran meanwhile: as stated, else by the tools that did the work."""
        titles = sorted({tools.get(run.tool).title for run in self.work.runs})
        stated = self.case.parameters.get("workload", "")
        return stated or ", ".join(titles) or self.case.label


def meter_readings(study: Study) -> tuple[MeterReading, ...]:
    """Return every reading with its work, in four queries.

    A meter belongs to the work of its co-run; without one, to that of its session on
    the same system, if no other meter was read there.
    """
    meters = list(_runs(study).filter(tool__in=METER_TOOLS))
    partners = _partners(study, meters)
    work_runs = {run.pk: run for runs in partners.values() for run in runs}
    wanted = (*WORK_TIMES, *OPERATIONS)
    read = _samples(meters, (ENERGY, METER_TIME, POWER))
    did = _samples(work_runs.values(), wanted)
    return tuple(
        reading
        for meter in meters
        for reading in _readings(
            meter, read.get(meter.pk, ()), _work(partners.get(meter.pk, ()), did)
        )
    )


def took_s(run: Run, samples: Iterable[Sample]) -> float | None:
    """Return how long a run took: by its facts, else what its tool printed."""
    stated = (run.facts.get(name) for name in ELAPSED)
    for each in stated:
        if isinstance(each, int | float) and each > 0:
            return float(each)
    times = [each.value for each in samples if each.case.metric in WORK_TIMES]
    return max((time for time in times if time > 0), default=None)


def _runs(study: Study) -> Any:
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED)
    return runs.select_related("system__host").order_by("pk")


def _partners(study: Study, meters: Sequence[Run]) -> Mapping[int, tuple[Run, ...]]:
    """Return the runs of work beside each meter's run."""
    coruns = {meter.corun_id for meter in meters if meter.corun_id}
    sessions = {meter.session_id for meter in meters if meter.session_id}
    near = Q(corun__in=coruns) | Q(corun=None, session__in=sessions)
    by_place: dict[Place, list[Run]] = defaultdict(list)
    for run in _runs(study).filter(near).exclude(tool__in=METER_TOOLS):
        by_place[_place(run)].append(run)
    met: dict[Place, list[Run]] = defaultdict(list)
    for meter in meters:
        met[_place(meter)].append(meter)
    partners: dict[int, tuple[Run, ...]] = {}
    for place, there in met.items():
        is_clear = place is not None and (place[0] == CORUN or len(there) == 1)
        for meter in there if is_clear else ():
            partners[meter.pk] = tuple(by_place[place])
    return partners


def _place(run: Run) -> Place:
    if run.corun_id:
        return (CORUN, run.corun_id)
    return ("session", run.session_id, run.system_id) if run.session_id else None


def _samples(runs: Iterable[Run], metrics: Iterable[str]) -> Mapping[int, list[Sample]]:
    found: dict[int, list[Sample]] = defaultdict(list)
    samples = Sample.objects.filter(
        run__in=[run.pk for run in runs], case__metric__in=metrics
    )
    for sample in samples.select_related("case").order_by("run_id", "sequence"):
        found[sample.run_id].append(sample)
    return found


def _work(runs: Sequence[Run], samples: Mapping[int, list[Sample]]) -> Work:
    times = [took_s(run, samples.get(run.pk, ())) for run in runs]
    known = [time for time in times if time is not None]
    done = [operations_of(samples.get(run.pk, ())) for run in runs]
    counted = [each for each in done if each and each > 0]
    return Work(
        runs=tuple(runs),
        # A run of unknown length may have been the longest.
        seconds=max(known) if known and len(known) == len(times) else None,
        operations=sum(counted) if counted and len(counted) == len(done) else None,
    )


def operations_of(samples: Sequence[Sample]) -> float | None:
    """Return what a run did, where its tool counts something."""
    for metric in OPERATIONS:
        counts = [each.value for each in samples if each.case.metric == metric]
        if counts:
            return sum(counts)
    return None


def _readings(
    meter: Run, samples: Sequence[Sample], work: Work
) -> Iterable[MeterReading]:
    """Return one reading for each energy (processors count several), or one in all."""
    times = [each.value for each in samples if each.case.metric == METER_TIME]
    powers = [each for each in samples if each.case.metric == POWER]
    energies = [each for each in samples if each.case.metric == ENERGY]
    seconds = max(times, default=None) or took_s(meter, ())
    for each in energies:
        mean_w = each.value / seconds if seconds else None
        yield MeterReading(meter, each.case, each.value, seconds, mean_w, work)
    if powers and not energies:
        first = powers[0]
        yield MeterReading(meter, first.case, None, seconds, first.value, work)
