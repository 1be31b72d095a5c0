"""What power meters read in a study, and the work that they were read for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from django.db.models import Q

from benchmarks import tools
from benchmarks.analysis.energy import (
    METERS,
    WORK_TIMES,
    EnergyRow,
    MeterTotal,
    energy_table,
)
from benchmarks.comparing.table import natural
from benchmarks.models import Case, Run, Sample, Study, System
from benchmarks.sentences import Sentence

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


@dataclass(frozen=True, kw_only=True)
class SystemEnergy:
    """What one system took for a workload: means over its runs, each computed first.

    ``printed_j`` is the meter's total, ``energy_j`` its mean power over the time of the
    work, ``less_wait_j`` the total less the wait at a power that was asked for. Ratios
    are set against the table's reference. ``reason`` says why there is no energy.
    """

    system: System
    run_ids: tuple[int, ...]
    printed_j: float
    meter_s: float
    mean_w: float
    work_s: float | None
    energy_j: float | None
    less_wait_j: float | None
    operations: float | None
    joules_per_operation: float | None
    operations_per_joule: float | None
    energy_delay_js: float | None
    reason: str
    printed_ratio: float | None = None
    energy_ratio: float | None = None
    less_wait_ratio: float | None = None

    @property
    def overrun_s(self) -> float | None:
        """How much longer the meter ran than the work."""
        return None if self.work_s is None else self.meter_s - self.work_s

    @property
    def is_reversed(self) -> bool:
        """Above the reference by the printed total, below it by the work, or so."""
        if self.printed_ratio is None or self.energy_ratio is None:
            return False
        return (self.printed_ratio - 1) * (self.energy_ratio - 1) < 0


@dataclass(frozen=True)
class EnergyTable:
    """One workload on the systems it was metered on; ``reference`` comes first."""

    workload: str
    unit: str
    reference: System
    systems: tuple[SystemEnergy, ...]


@dataclass(frozen=True)
class Refused:
    """A reading of which no energy can be made, and why."""

    reading: MeterReading
    reason: str


@dataclass(frozen=True)
class Energy:
    """What a study's meters say; ``metered`` are all readings."""

    tables: tuple[EnergyTable, ...]
    refused: tuple[Refused, ...]
    metered: tuple[MeterReading, ...]


def study_energy(study: Study, waiting_w: float | None = None) -> Energy:
    """Return the energy of every workload, in a fixed number of queries.

    ``waiting_w`` is the power of the machine while the meter ran on after the work.
    """
    readings = meter_readings(study)
    groups: dict[Any, list[MeterReading]] = defaultdict(list)
    for each in readings:
        if not _refusal(each):
            groups[_key(each)].append(each)
    return Energy(
        tables=tuple(
            _table(study, members, waiting_w)
            for _, members in sorted(groups.items(), key=_rank)
        ),
        refused=tuple(
            Refused(each, why) for each in readings if (why := _refusal(each))
        ),
        metered=readings,
    )


def _key(reading: MeterReading) -> tuple[Any, ...]:
    run = reading.run
    work = (reading.workload, reading.case.pk)
    return (*work, run.scenario, run.vms or 0, run.load)


def _rank(group: tuple[tuple[Any, ...], Sequence[MeterReading]]) -> tuple[float, str]:
    """Works whose energy is known of most systems come first."""
    key, members = group
    unknown = sum(each.work.seconds is None for each in members)
    return unknown / len(members), str(key)


def _refusal(reading: MeterReading) -> str:
    if not (reading.meter_j or 0) > 0:
        return Sentence(
            "The meter told power, but no energy: nobody knows over which time."
        )
    if not (reading.meter_s or 0) > 0:
        return Sentence("The meter told energy, but not how long it ran.")
    return ""


def _table(
    study: Study, readings: Sequence[MeterReading], waiting_w: float | None
) -> EnergyTable:
    by_system: dict[int, list[MeterReading]] = defaultdict(list)
    for each in readings:
        by_system[each.run.system_id].append(each)
    systems = [_of_system(members, waiting_w) for members in by_system.values()]
    systems.sort(key=lambda each: natural(each.system.label))
    base = _reference(study, systems)
    ordered = [base, *(each for each in systems if each is not base)]
    first = readings[0]
    return EnergyTable(
        workload=first.workload,
        unit=first.case.unit,
        reference=base.system,
        systems=tuple(_beside(each, base) for each in ordered),
    )


def _reference(study: Study, systems: Sequence[SystemEnergy]) -> SystemEnergy:
    """Return the study's reference, else the native machine, else the first."""
    chosen = (each for each in systems if each.system.pk == study.reference_system_id)
    native = (each for each in systems if each.system.is_native)
    return next(chosen, None) or next(native, None) or systems[0]


def _of_system(
    readings: Sequence[MeterReading], waiting_w: float | None
) -> SystemEnergy:
    rows = [row for each in readings for row in _rows(each, waiting_w)]
    totals = [row.total for row in rows]
    works = [row.per_work for row in rows]
    return SystemEnergy(
        system=readings[0].run.system,
        run_ids=tuple(each.run.pk for each in readings),
        printed_j=fmean(each.meter_j for each in totals),
        meter_s=fmean(each.meter_s for each in totals),
        mean_w=fmean(each.mean_w for each in totals),
        work_s=known_mean(each.work_s for each in totals),
        energy_j=known_mean(row.energy_j for row in rows),
        less_wait_j=known_mean(row.less_wait_j for row in rows),
        operations=known_mean(each.operations for each in totals),
        joules_per_operation=known_mean(
            getattr(each, "joules_per_operation", None) for each in works
        ),
        operations_per_joule=known_mean(
            getattr(each, "operations_per_joule", None) for each in works
        ),
        energy_delay_js=known_mean(
            getattr(each, "energy_delay_js", None) for each in works
        ),
        reason=next((row.sentence for row in rows if row.energy_j is None), ""),
    )


def _rows(reading: MeterReading, waiting_w: float | None) -> Iterator[EnergyRow]:
    total = MeterTotal(
        label=str(reading.run.pk),
        meter_j=reading.meter_j or 0.0,
        meter_s=reading.meter_s or 0.0,
        work_s=reading.work.seconds,
        operations=reading.work.operations,
    )
    # A machine that waits does not take more than its mean over work and wait.
    is_possible = waiting_w is not None and waiting_w <= total.mean_w
    yield from energy_table([total], waiting_w=waiting_w if is_possible else None)


def known_mean(values: Iterable[float | None]) -> float | None:
    """Return the mean, or None if it is not known of every run."""
    found = list(values)
    known = [each for each in found if each is not None]
    return fmean(known) if known and len(known) == len(found) else None


def _beside(energy: SystemEnergy, base: SystemEnergy) -> SystemEnergy:
    def ratio(name: str) -> float | None:
        value, other = getattr(energy, name), getattr(base, name)
        return value / other if value is not None and other else None

    return replace(
        energy,
        printed_ratio=ratio("printed_j"),
        energy_ratio=ratio("energy_j"),
        less_wait_ratio=ratio("less_wait_j"),
    )
