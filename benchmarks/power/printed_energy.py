"""Energy that power meters printed for the workloads of a study, by system."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Protocol, TypeVar

from benchmarks.analysis.energy_ratio import MeterTotal
from benchmarks.models import Study, System
from benchmarks.natural_sort import natural_sort_key
from benchmarks.power.metered_workloads import MeterReading, meter_readings
from benchmarks.sentences import Sentence


@dataclass(frozen=True, kw_only=True)
class SystemEnergy:
    """Means over the metered runs of a system in one workload.

    A meter may run longer than the work: ``meter_total_j`` is the energy that it
    printed for its own duration ``meter_s``. ``energy_j`` is mean power times the
    duration of the work, ``without_idle_j`` the printed total minus idle power while
    the meter ran longer. Ratios are relative to the reference system: ``printed_ratio``
    of the printed totals, ``energy_ratio`` of ``energy_j``.
    """

    system: System
    run_ids: tuple[int, ...]
    meter_total_j: float
    meter_s: float
    mean_w: float
    work_s: float | None
    energy_j: float | None
    without_idle_j: float | None
    operations: float | None
    joules_per_operation: float | None
    operations_per_joule: float | None
    energy_delay_js: float | None
    reason: str
    printed_ratio: float | None = None
    energy_ratio: float | None = None
    without_idle_ratio: float | None = None

    @property
    def overrun_s(self) -> float | None:
        return None if self.work_s is None else self.meter_s - self.work_s

    @property
    def contradicts_total(self) -> bool:
        """Whether the printed total is above and the energy of the work below the
        reference, or the reverse.
        """
        if self.printed_ratio is None or self.energy_ratio is None:
            return False
        return (self.printed_ratio - 1) * (self.energy_ratio - 1) < 0


@dataclass(frozen=True)
class EnergyTable:
    workload: str
    unit: str
    reference: System
    systems: tuple[SystemEnergy, ...]


@dataclass(frozen=True)
class UnassessedReading:
    reading: MeterReading
    reason: str


@dataclass(frozen=True)
class StudyEnergy:
    tables: tuple[EnergyTable, ...]
    not_assessed: tuple[UnassessedReading, ...]
    readings: tuple[MeterReading, ...]


class HasSystem(Protocol):
    @property
    def system(self) -> System: ...


Row = TypeVar("Row", bound=HasSystem)


def study_energy(study: Study, idle_w: float | None = None) -> StudyEnergy:
    readings = meter_readings(study)
    not_assessed = []
    groups: dict[tuple[Any, ...], list[MeterReading]] = defaultdict(list)
    for reading in readings:
        if not (reading.meter_j or 0) > 0:
            reason = Sentence(
                "The meter reported power but not energy, and the duration is not "
                "known."
            )
            not_assessed.append(UnassessedReading(reading, reason))
        elif not (reading.meter_s or 0) > 0:
            reason = Sentence("The meter reported energy but not how long it ran.")
            not_assessed.append(UnassessedReading(reading, reason))
        else:
            run = reading.run
            workload_key = (reading.workload, reading.case.pk)
            conditions = (run.scenario, run.vms or 0, run.load)
            groups[*workload_key, *conditions].append(reading)

    def rank(group: tuple[tuple[Any, ...], list[MeterReading]]) -> tuple[float, str]:
        """Return a sort key: workloads with known durations come first."""
        key, members = group
        unknown = sum(member.work.seconds is None for member in members)
        return unknown / len(members), str(key)

    return StudyEnergy(
        tables=tuple(
            _table(study, members, idle_w)
            for _, members in sorted(groups.items(), key=rank)
        ),
        not_assessed=tuple(not_assessed),
        readings=readings,
    )


def _table(
    study: Study, readings: Sequence[MeterReading], idle_w: float | None
) -> EnergyTable:
    by_system: dict[int, list[MeterReading]] = defaultdict(list)
    for reading in readings:
        by_system[reading.run.system_id].append(reading)
    systems = [_system_energy(members, idle_w) for members in by_system.values()]
    systems.sort(key=lambda energy: natural_sort_key(energy.system.label))
    ordered = reference_first(study, systems)
    reference = ordered[0]
    return EnergyTable(
        workload=readings[0].workload,
        unit=readings[0].case.unit,
        reference=reference.system,
        systems=tuple(
            replace(
                energy,
                printed_ratio=_ratio(energy.meter_total_j, reference.meter_total_j),
                energy_ratio=_ratio(energy.energy_j, reference.energy_j),
                without_idle_ratio=_ratio(
                    energy.without_idle_j, reference.without_idle_j
                ),
            )
            for energy in ordered
        ),
    )


def _ratio(value: float | None, reference: float | None) -> float | None:
    return value / reference if value is not None and reference else None


def _system_energy(
    readings: Sequence[MeterReading], idle_w: float | None
) -> SystemEnergy:
    totals = [
        MeterTotal(
            total_j=reading.meter_j or 0.0,
            metered_s=reading.meter_s or 0.0,
            work_s=reading.work.seconds,
            operations=reading.work.operations,
        )
        for reading in readings
    ]
    unknown = [total.metered_s for total in totals if total.work_s is None]
    works = [total.per_work for total in totals]
    return SystemEnergy(
        system=readings[0].run.system,
        run_ids=tuple(reading.run.pk for reading in readings),
        meter_total_j=fmean(total.total_j for total in totals),
        meter_s=fmean(total.metered_s for total in totals),
        mean_w=fmean(total.mean_w for total in totals),
        work_s=mean_of_known(total.work_s for total in totals),
        energy_j=mean_of_known(total.energy_j for total in totals),
        without_idle_j=mean_of_known(total.without_idle_j(idle_w) for total in totals),
        operations=mean_of_known(total.operations for total in totals),
        joules_per_operation=mean_of_known(
            w.joules_per_operation if w else None for w in works
        ),
        operations_per_joule=mean_of_known(
            w.operations_per_joule if w else None for w in works
        ),
        energy_delay_js=mean_of_known(w.energy_delay_js if w else None for w in works),
        reason=Sentence(
            "The meter ran {ran:.6g} s, but the duration of the work is not "
            "reported, so its energy is not known.",
            ran=unknown[0],
        )
        if unknown
        else "",
    )


def mean_of_known(values: Iterable[float | None]) -> float | None:
    numbers = list(values)
    known_numbers = [number for number in numbers if number is not None]
    return (
        fmean(known_numbers)
        if known_numbers and len(known_numbers) == len(numbers)
        else None
    )


def reference_first(study: Study, rows: Sequence[Row]) -> list[Row]:
    chosen = (row for row in rows if row.system.pk == study.reference_system_id)
    native = (row for row in rows if row.system.is_native)
    first = next(chosen, None) or next(native, None) or rows[0]
    return [first, *(row for row in rows if row is not first)]
