"""Energy of a study: the printed totals of meters, and the energy of the work."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from benchmarks.analysis.energy import EnergyRow, MeterTotal, energy_table
from benchmarks.comparing.ordering import natural
from benchmarks.models import Study, System
from benchmarks.power.meters import MeterReading, meter_readings
from benchmarks.sentences import Sentence


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
    chosen = (each for each in systems if _is_chosen(study, each))
    native = (each for each in systems if each.system.is_native)
    return next(chosen, None) or next(native, None) or systems[0]


def _is_chosen(study: Study, energy: SystemEnergy) -> bool:
    return energy.system.pk == study.reference_system_id


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
