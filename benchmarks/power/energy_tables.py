"""What each system of a study took for the work that power meters metered."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Protocol, TypeVar

from benchmarks.analysis.energy import MeterTotal
from benchmarks.models import Study, System
from benchmarks.power.meters import MeterReading, meter_readings
from benchmarks.sentences import Sentence
from benchmarks.text import natural


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
