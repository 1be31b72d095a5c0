"""What power meters read in a study, and what each system took for the work."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Protocol, TypeVar

from django.db.models import Q

from benchmarks.analysis.energy import (
    METERS,
    WORK_TIMES,
    MeterTotal,
)
from benchmarks.comparing.table import natural
from benchmarks.models import Case, Run, Sample, Study, System
from benchmarks.own_tools.lookup import known_tool
from benchmarks.sentences import Sentence

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


@dataclass(frozen=True, kw_only=True)
class SystemEnergy:
    """Means over a system's runs of a workload.

    ``energy_j`` is mean power times the work's time, ``less_wait_j`` the total without
    idle power. Ratios are to the table's reference; ``reason`` says why there is no
    energy.
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
class NotAssessed:
    reading: MeterReading
    reason: str


@dataclass(frozen=True)
class Energy:
    tables: tuple[EnergyTable, ...]
    not_assessed: tuple[NotAssessed, ...]
    metered: tuple[MeterReading, ...]


class OfSystem(Protocol):
    """What a table of energies has a row for."""

    @property
    def system(self) -> System: ...


Row = TypeVar("Row", bound=OfSystem)


def study_energy(study: Study, waiting_w: float | None = None) -> Energy:
    """Return the energy of every workload; ``waiting_w`` is the idle power."""
    readings = meter_readings(study)
    not_assessed = []
    groups: dict[tuple[Any, ...], list[MeterReading]] = defaultdict(list)
    for reading in readings:
        if not (reading.meter_j or 0) > 0:
            why = Sentence(
                "The meter reported power, but no energy: over which time is not known."
            )
            not_assessed.append(NotAssessed(reading, why))
        elif not (reading.meter_s or 0) > 0:
            why = Sentence("The meter reported energy, but not how long it ran.")
            not_assessed.append(NotAssessed(reading, why))
        else:
            run = reading.run
            work = (reading.workload, reading.case.pk)
            circumstances = (run.scenario, run.vms or 0, run.load)
            groups[*work, *circumstances].append(reading)

    def rank(group: tuple[tuple[Any, ...], list[MeterReading]]) -> tuple[float, str]:
        """Works whose energy is known of most systems come first."""
        key, members = group
        unknown = sum(member.work.seconds is None for member in members)
        return unknown / len(members), str(key)

    return Energy(
        tables=tuple(
            _table(study, members, waiting_w)
            for _, members in sorted(groups.items(), key=rank)
        ),
        not_assessed=tuple(not_assessed),
        metered=readings,
    )


def _table(
    study: Study, readings: Sequence[MeterReading], waiting_w: float | None
) -> EnergyTable:
    by_system: dict[int, list[MeterReading]] = defaultdict(list)
    for reading in readings:
        by_system[reading.run.system_id].append(reading)
    systems = [_of_system(members, waiting_w) for members in by_system.values()]
    systems.sort(key=lambda energy: natural(energy.system.label))
    ordered = reference_first(study, systems)
    base = ordered[0]
    return EnergyTable(
        workload=readings[0].workload,
        unit=readings[0].case.unit,
        reference=base.system,
        systems=tuple(
            replace(
                energy,
                printed_ratio=_ratio(energy.printed_j, base.printed_j),
                energy_ratio=_ratio(energy.energy_j, base.energy_j),
                less_wait_ratio=_ratio(energy.less_wait_j, base.less_wait_j),
            )
            for energy in ordered
        ),
    )


def _ratio(value: float | None, other: float | None) -> float | None:
    return value / other if value is not None and other else None


def _of_system(
    readings: Sequence[MeterReading], waiting_w: float | None
) -> SystemEnergy:
    totals = [
        MeterTotal(
            meter_j=reading.meter_j or 0.0,
            meter_s=reading.meter_s or 0.0,
            work_s=reading.work.seconds,
            operations=reading.work.operations,
        )
        for reading in readings
    ]
    unknown = [total.meter_s for total in totals if total.work_s is None]
    works = [total.per_work for total in totals]
    return SystemEnergy(
        system=readings[0].run.system,
        run_ids=tuple(reading.run.pk for reading in readings),
        printed_j=fmean(total.meter_j for total in totals),
        meter_s=fmean(total.meter_s for total in totals),
        mean_w=fmean(total.mean_w for total in totals),
        work_s=known_mean(total.work_s for total in totals),
        energy_j=known_mean(total.energy_j for total in totals),
        less_wait_j=known_mean(total.less_wait_j(waiting_w) for total in totals),
        operations=known_mean(total.operations for total in totals),
        joules_per_operation=known_mean(
            w.joules_per_operation if w else None for w in works
        ),
        operations_per_joule=known_mean(
            w.operations_per_joule if w else None for w in works
        ),
        energy_delay_js=known_mean(w.energy_delay_js if w else None for w in works),
        reason=Sentence(
            "The meter ran {ran:.6g} s, but how long the work took is not stated: "
            "its energy is not known.",
            ran=unknown[0],
        )
        if unknown
        else "",
    )


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


def known_mean(values: Iterable[float | None]) -> float | None:
    numbers = list(values)
    known = [number for number in numbers if number is not None]
    return fmean(known) if known and len(known) == len(numbers) else None


def reference_first(study: Study, rows: Sequence[Row]) -> list[Row]:
    """Move the study's reference, else the native machine, to the front."""
    chosen = (row for row in rows if row.system.pk == study.reference_system_id)
    native = (row for row in rows if row.system.is_native)
    first = next(chosen, None) or next(native, None) or rows[0]
    return [first, *(row for row in rows if row is not first)]
