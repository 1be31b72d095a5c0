"""The energy of a study's work as its machines' meters logged it, by system."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks import tools
from benchmarks.analysis.energy import EnergyRatio, MeterFacts, energy_ratio
from benchmarks.comparing.ordering import natural
from benchmarks.models import Meter, Sample, Study, System
from benchmarks.power.energy import known_mean
from benchmarks.power.run_energies import MeteredWork


@dataclass(frozen=True, kw_only=True)
class LoggedSystem:
    """What one system took for a workload by one meter: means over its measured runs.

    ``per_work`` are the runs' J per operation, or J where nothing is counted;
    ``ratio`` sets them against the table's reference.
    """

    system: System
    meter: Meter
    works: tuple[MeteredWork, ...]
    energy_j: float | None
    work_s: float | None
    mean_w: float | None
    idle_w: float | None
    above_idle_j: float | None
    operations: float | None
    joules_per_operation: float | None
    operations_per_joule: float | None
    energy_delay_js: float | None
    per_work: tuple[float, ...]
    ratio: EnergyRatio | None = None

    @property
    def unmeasured(self) -> int:
        """Of how many runs too little was measured."""
        return sum(work.energy.energy_j is None for work in self.works)

    @property
    def n(self) -> int:
        return len(self.works) - self.unmeasured


@dataclass(frozen=True)
class LoggedTable:
    """One workload on the systems it was metered on; the reference comes first."""

    workload: str
    is_cpu_only: bool
    systems: tuple[LoggedSystem, ...]


def logged_energy(
    study: Study, works: Sequence[MeteredWork]
) -> tuple[LoggedTable, ...]:
    """Return a table for each workload, in one query; what ran together is no table."""
    alone = [work for work in works if not work.energy.is_shared]
    cases = _cases([work.lead.pk for work in alone])
    groups: dict[Any, list[MeteredWork]] = defaultdict(list)
    for work in alone:
        groups[_key(work, cases)].append(work)
    return tuple(_table(study, groups[key]) for key in sorted(groups, key=str))


def meter_facts(meter: Meter) -> MeterFacts:
    """Return what of a meter matters to a ratio."""
    # A meter that is carried from machine to machine keeps its name.
    name = f"{meter.name} of lab {meter.lab_id}"
    return MeterFacts(name, meter.gain_error, meter.is_cpu_only)


def _cases(run_ids: Sequence[int]) -> Mapping[int, frozenset[int]]:
    pairs = Sample.objects.filter(run__in=run_ids).values_list("run", "case").distinct()
    found: dict[int, set[int]] = defaultdict(set)
    for run_id, case_id in pairs:
        found[run_id].add(case_id)
    return {run_id: frozenset(cases) for run_id, cases in found.items()}


def _key(work: MeteredWork, cases: Mapping[int, frozenset[int]]) -> tuple[Any, ...]:
    """Return what makes two runs the same work: tool, step, circumstances, cases."""
    run = work.lead
    done = tuple(sorted(cases.get(run.pk, ())))
    place = (run.scenario, run.vms or 0, run.load)
    return (run.tool, _step(work), work.meter.is_cpu_only, place, done)


def _step(work: MeteredWork) -> str:
    order = work.lead.facts.get("order")
    step = order.get("step") if isinstance(order, dict) else None
    return step if isinstance(step, str) else ""


def _table(study: Study, works: Sequence[MeteredWork]) -> LoggedTable:
    by_place: dict[tuple[int, int], list[MeteredWork]] = defaultdict(list)
    for work in works:
        by_place[work.lead.system_id, work.meter.pk].append(work)
    systems = [_system(members) for members in by_place.values()]
    systems.sort(key=lambda each: (natural(each.system.label), each.meter.name))
    base = _reference(study, systems)
    ordered = [base, *(each for each in systems if each is not base)]
    first = works[0]
    title = tools.get(first.lead.tool).title
    return LoggedTable(
        workload=", ".join(filter(None, [title, _step(first)])),
        is_cpu_only=first.meter.is_cpu_only,
        systems=tuple(_against(each, base) for each in ordered),
    )


def _reference(study: Study, systems: Sequence[LoggedSystem]) -> LoggedSystem:
    """Return the study's reference, else the native machine, else the first."""
    wanted = study.reference_system_id
    chosen = (each for each in systems if each.system.pk == wanted)
    native = (each for each in systems if each.system.is_native)
    return next(chosen, None) or next(native, None) or systems[0]


def _against(own: LoggedSystem, base: LoggedSystem) -> LoggedSystem:
    if own is base:
        return own
    meters = (meter_facts(own.meter), meter_facts(base.meter))
    return replace(own, ratio=energy_ratio(own.per_work, base.per_work, meters))


def _system(works: Sequence[MeteredWork]) -> LoggedSystem:
    good = [work.energy for work in works if work.energy.energy_j is not None]
    done = [each.per_work for each in good]
    counted = [each.joules_per_operation for each in done if each]
    told = [each for each in counted if each is not None]
    joules = [each.energy_j for each in good if each.energy_j]
    return LoggedSystem(
        system=works[0].lead.system,
        meter=works[0].meter,
        works=tuple(works),
        energy_j=known_mean(each.energy_j for each in good),
        work_s=known_mean(each.duration_s for each in good),
        mean_w=known_mean(each.mean_w for each in good),
        idle_w=known_mean(each.idle_w for each in good),
        above_idle_j=known_mean(each.above_idle_j for each in good),
        operations=known_mean(each.operations for each in good),
        joules_per_operation=known_mean(counted),
        operations_per_joule=known_mean(
            getattr(each, "operations_per_joule", None) for each in done
        ),
        energy_delay_js=known_mean(
            getattr(each, "energy_delay_js", None) for each in done
        ),
        per_work=tuple(told if told and len(told) == len(good) else joules),
    )
