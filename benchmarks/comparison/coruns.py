"""Co-runs of a study: slots, sums, fairness and curves (`docs/method.md`, co-runs)."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection

from benchmarks.analysis import corun_statistics as formulas
from benchmarks.comparison.comparison_row import FIGURE_FIELDS, CellFigure, cell_figure
from benchmarks.comparison.comparison_table import COMPONENTS, rank_by_order
from benchmarks.host_facts import core_count
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import Case, Cell, Efficiency, Study, System
from benchmarks.models.run import (
    AGGREGATE_SLOTS,
    CELL_ID_OF_SAMPLE_SQL,
    COMBINED_SCENARIO,
    CONCURRENT_SCENARIOS,
    DISK_AND_NETWORK,
    PARALLEL,
    SAMPLES_OF_CELLS_SQL,
    SCENARIOS,
    SINGLE,
    UNDER_LOAD,
    runs_of_cells_sql,
)
from benchmarks.natural_sort import natural_sort_key
from benchmarks.sentences import Sentence

# The other VMs run other work, so the values of slots cannot be added.
LOADED_SCENARIOS = (UNDER_LOAD, COMBINED_SCENARIO)
SINGLE_VM_PHRASE = Sentence("one VM alone")
NATIVE_PHRASE = Sentence("the native machine")
NOT_SLOTS = ("1", "", "mean")
NATIVE_STATES = ("paired", "other_session", "stale", "scaling")
# In a fixed order, because sums of floats depend on it.
RUN_MEANS_SQL = f"""
    {runs_of_cells_sql("cell.study_id = %s AND cell.id = ANY(%s)", "corun_id")}
    SELECT {CELL_ID_OF_SAMPLE_SQL}, coalesce(run.corun_id, -run.id),
           avg(sample.value ORDER BY run.id, sample.sequence)
    {SAMPLES_OF_CELLS_SQL}
    GROUP BY 1, 2
    ORDER BY 1, 2
"""

CoRunRows = tuple[tuple[float, ...], ...]
GroupKey = tuple[Any, ...]


@dataclass(frozen=True)
class SlotValue:
    slot: str
    figure: CellFigure
    n: int
    cell_id: int

    @classmethod
    def from_cell(cls, cell: Cell, unit: str) -> "SlotValue":
        return cls(cell.slot, cell_figure(cell, unit), cell.n, cell.pk)

    @property
    def value(self) -> float | None:
        return self.figure.value


@dataclass(frozen=True)
class CoRunSlots:
    """One case that several VMs of a system ran at the same time.

    ``coruns`` has the values of all slots in each co-run; it is empty if one is
    missing. ``single`` is the same system with one VM.
    """

    id: int
    case: Case
    system: System
    scenario: str
    vms: int
    load: str
    slots: tuple[SlotValue, ...]
    missing: tuple[str, ...]
    printed: Mapping[str, float]
    single: SlotValue | None
    native: SlotValue | None
    coruns: CoRunRows

    @property
    def unclear_sources(self) -> tuple[Sentence, ...]:
        sources = [
            *((Sentence("VM {slot}", slot=slot.slot), slot) for slot in self.slots),
            (SINGLE_VM_PHRASE, self.single),
            (NATIVE_PHRASE, self.native),
        ]
        return tuple(
            name for name, source in sources if source and source.value is None
        )

    @property
    def values(self) -> tuple[float, ...]:
        means = [slot.value for slot in self.slots]
        known_means = tuple(value for value in means if value is not None)
        return known_means if len(known_means) == len(means) else ()


@dataclass(frozen=True, kw_only=True)
class CoRunFigures:
    """The figures of a co-run, None if unknown.

    ``sum`` is computed if all slots exist, otherwise printed. Times have no sum.
    """

    sum: float | None
    is_sum_printed: bool
    mean: float | None
    minimum: float | None
    maximum: float | None
    jain: float | None
    jain_low: float | None
    jain_high: float | None
    corun_count: int
    sum_check: formulas.SumCheck | None
    scaling: float | None
    scaling_to_native: float | None
    slowdown: float | None
    interference: float | None
    target: formulas.Target | None
    virtual_cores: int | None
    physical_cores: int | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class CoRunResult:
    slots: CoRunSlots
    figures: CoRunFigures


@dataclass(frozen=True)
class ConsolidationCurve:
    case: Case
    system: System
    consolidation: formulas.Consolidation


@dataclass(frozen=True)
class StudyCoRuns:
    coruns: tuple[CoRunResult, ...]
    curves: tuple[ConsolidationCurve, ...]


def study_coruns(
    study: Study, *, filters: Mapping[str, Any] | None = None
) -> StudyCoRuns:
    cell_filters = dict(filters or {})
    scenario = cell_filters.pop("scenario", None)
    measured = CoRunCells.load(study, cell_filters)
    coruns = []
    for key in measured.slot_cells:
        slots = measured.slots(key)
        figures = _figures(slots, *measured.without_load(key))
        coruns.append(CoRunResult(slots, figures))
    coruns.sort(
        key=lambda corun: (
            rank_by_order(COMPONENTS, corun.slots.case.component),
            corun.slots.case.tool,
            natural_sort_key(corun.slots.case.label),
            corun.slots.case.pk,
            natural_sort_key(corun.slots.system.label),
            corun.slots.system.pk,
            rank_by_order(SCENARIOS, corun.slots.scenario),
            corun.slots.vms,
            corun.slots.load,
        )
    )
    selected = tuple(
        corun for corun in coruns if scenario in (None, corun.slots.scenario)
    )
    return StudyCoRuns(selected, tuple(_curves(selected, measured)))


@dataclass(frozen=True)
class CoRunCells:
    """The cells that a study's co-runs need, read in at most eight queries.

    ``run_means`` has means by cell and co-run. For a run outside a co-run, the key is
    the negative id of the run.
    """

    slot_cells: Mapping[GroupKey, Mapping[str, Cell]]
    singles: Mapping[tuple[int, int], Cell]
    natives: Mapping[int, Cell]
    run_means: Mapping[int, Mapping[int, float]]

    @classmethod
    def load(cls, study: Study, filters: Mapping[str, Any]) -> "CoRunCells":
        measured_cells = Cell.objects.filter(study=study, n__gt=0).only(*FIGURE_FIELDS)
        cells = list(
            measured_cells.filter(
                scenario__in=CONCURRENT_SCENARIOS, **filters
            ).order_by("pk")
        )
        cases = Case.objects.in_bulk({cell.case_id for cell in cells})
        hosted = System.objects.select_related("host")
        systems = hosted.in_bulk({cell.system_id for cell in cells})
        groups: dict[GroupKey, dict[str, Cell]] = defaultdict(dict)
        for cell in cells:
            cell.case, cell.system = cases[cell.case_id], systems[cell.system_id]
            if _is_vm(cell.slot) or cell.slot in AGGREGATE_SLOTS:
                key = (cell.system_id, cell.case_id, cell.scenario, cell.vms, cell.load)
                groups[key][cell.slot] = cell
        grouped = [cell for slots in groups.values() for cell in slots.values()]

        single_cells = measured_cells.filter(
            scenario=SINGLE,
            slot__in=NOT_SLOTS,
            system__in={cell.system_id for cell in grouped},
            case__in={cell.case_id for cell in grouped},
        ).order_by("pk")
        worst_first = sorted(single_cells, key=lambda cell: -NOT_SLOTS.index(cell.slot))
        singles = {(cell.system_id, cell.case_id): cell for cell in worst_first}

        # A slot is compared with the system's single VM, which is compared with the
        # machine.
        compared_ids = {cell.pk for cell in (*grouped, *singles.values())}
        efficiencies = Efficiency.objects.filter(
            cell__in=compared_ids,
            state__in=NATIVE_STATES,
            baseline__system__hypervisor=NATIVE,
        )
        pairs = dict(efficiencies.values_list("cell", "baseline"))
        native_cells = Cell.objects.only(*FIGURE_FIELDS).in_bulk(set(pairs.values()))
        # Baselines may have been deleted since the pairs were read.
        natives = {
            pk: native_cells[baseline_id]
            for pk, baseline_id in pairs.items()
            if baseline_id in native_cells
        }
        natives |= _unique_natives([cell for cell in grouped if cell.pk not in natives])

        means: dict[int, dict[int, float]] = defaultdict(dict)
        repeated_ids = [cell.pk for cell in (*grouped, *singles.values()) if cell.n > 1]
        with connection.cursor() as cursor:
            cursor.execute(RUN_MEANS_SQL, [study.pk, repeated_ids])
            for cell_id, corun, mean in cursor.fetchall():
                means[cell_id][corun] = mean
        return cls(dict(groups), singles, natives, dict(means))

    def slots(self, key: GroupKey) -> CoRunSlots:
        cells = self.slot_cells[key]
        names = sorted(filter(_is_vm, cells), key=int)
        first = cells[names[0]] if names else next(iter(cells.values()))
        unit = first.case.unit
        slots = tuple(SlotValue.from_cell(cells[name], unit) for name in names)
        missing = _missing(first, names)
        is_complete = not missing and all(slot.value is not None for slot in slots)
        means = {kind: _mean(cells[kind]) for kind in AGGREGATE_SLOTS if kind in cells}
        rows: CoRunRows = ()
        if names and is_complete:
            repeated = [self.run_means.get(cells[name].pk, {}) for name in names]
            shared = sorted(set(repeated[0]).intersection(*repeated[1:]))
            rows = tuple(
                tuple(slot_means[corun] for slot_means in repeated) for corun in shared
            )
            if len(rows) < 2:
                rows = (tuple(cells[name].mean or 0.0 for name in names),)

        single = self.singles.get((first.system_id, first.case_id))
        compared = (cells.get("sum"), single, first)
        natives = (self.natives.get(cell.pk) for cell in compared if cell)
        native = next((cell for cell in natives if cell), None)
        return CoRunSlots(
            id=first.pk,
            case=first.case,
            system=first.system,
            scenario=first.scenario,
            vms=first.vms or len(names),
            load=first.load,
            slots=slots,
            missing=missing,
            printed={kind: mean for kind, mean in means.items() if mean is not None},
            single=SlotValue.from_cell(single, unit) if single else None,
            native=SlotValue.from_cell(native, unit) if native else None,
            coruns=rows,
        )

    @cached_property
    def _parallel(self) -> Mapping[tuple[int, int], Mapping[int, Mapping[str, Cell]]]:
        by_vms: dict[tuple[int, int], dict[int, Mapping[str, Cell]]] = defaultdict(dict)
        for (system, case, scenario, vms, _), slots in self.slot_cells.items():
            if scenario == PARALLEL:
                by_vms[system, case][vms] = slots
        return by_vms

    def without_load(self, key: GroupKey) -> tuple[float | None, Mapping[int, float]]:
        """Return two facts about co-runs of the system and case without extra load.

        The first is the sum over as many VMs as in ``key``, None except in the combined
        disk and network scenario. The second is the mean per VM, by number of VMs.
        """
        system, case, scenario, vms, _ = key
        parallel = self._parallel.get((system, case), {})
        unloaded = None
        times = {}
        for count, cells in parallel.items():
            vm_cells = [cell for slot, cell in cells.items() if _is_vm(slot)]
            values = [_mean(cell) for cell in vm_cells]
            known_values = [value for value in values if value is not None]
            total = sum(known_values) if len(known_values) == len(values) else None
            mean = _mean(cells["mean"]) if "mean" in cells else None
            if vm_cells:
                mean = None if total is None else total / len(vm_cells)
            if mean:
                times[count] = mean
            if count == vms and "sum" in cells:
                unloaded = _mean(cells["sum"])
            elif count == vms and vm_cells:
                names = sorted(cell.slot for cell in vm_cells)
                unloaded = None if _missing(vm_cells[0], names) else total
        return unloaded if scenario == DISK_AND_NETWORK else None, times


def _unique_natives(cells: Sequence[Cell]) -> dict[int, Cell]:
    if not cells:
        return {}
    native_cells = Cell.objects.filter(
        lab__in={cell.system.lab_id for cell in cells},
        case__in={cell.case_id for cell in cells},
        system__host__in={cell.system.host_id for cell in cells},
        system__hypervisor=NATIVE,
        scenario=SINGLE,
        n__gt=0,
    )
    by_machine: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)
    for cell in native_cells.select_related("system"):
        by_machine[_machine(cell)].append(cell)
    natives = {}
    for cell in cells:
        bits = cell.system.guest_bits
        candidates = by_machine[_machine(cell)]
        matching = [
            native for native in candidates if native.system.guest_bits == bits
        ] or [
            native for native in candidates if None in (bits, native.system.guest_bits)
        ]
        guest_os = cell.system.guest_os.casefold()
        same_os = [
            native
            for native in matching
            if native.system.guest_os.casefold() == guest_os
        ]
        if len(same_os or matching) == 1:
            natives[cell.pk] = (same_os or matching)[0]
    return natives


def _machine(cell: Cell) -> tuple[Any, ...]:
    return (cell.system.host_id, cell.case_id)


def _is_vm(slot: str) -> bool:
    return slot.isascii() and slot.isdigit()


def _mean(cell: Cell) -> float | None:
    return cell_figure(cell).value


def _missing(cell: Cell, names: Sequence[str]) -> tuple[str, ...]:
    if cell.scenario in LOADED_SCENARIOS or not names:
        return ()
    # Some tools count VMs from 0.
    first = 0 if names[0] == "0" else 1
    expected = map(str, range(first, first + (cell.vms or 0)))
    return tuple(slot for slot in expected if slot not in names)


def _figures(
    slots: CoRunSlots, sum_without_load: float | None, times: Mapping[int, float]
) -> CoRunFigures:
    values, better = slots.values, slots.case.better
    is_complete = bool(values) and not slots.missing
    reasons = _unclear_reasons(slots.unclear_sources)
    total, printed_sum = None, slots.printed.get("sum")
    if better != "lower" and slots.scenario not in LOADED_SCENARIOS:
        total = sum(values) if is_complete else printed_sum
    mean = sum(values) / len(values) if is_complete else slots.printed.get("mean")
    fairness = _fairness(slots, reasons) if is_complete and len(values) > 1 else None
    sum_check = None
    if is_complete and printed_sum is not None and better != "lower" and any(values):
        with suppress(ValueError):  # a slot below 0 cannot be added
            sum_check = formulas.check_sum(values, printed_sum)

    single = slots.single.value if slots.single else None
    native = slots.native.value if slots.native else None
    loaded, unloaded = (
        (total, sum_without_load)
        if slots.scenario == DISK_AND_NETWORK
        else (None, None)
    )
    if slots.scenario in LOADED_SCENARIOS:
        loaded, unloaded = (values[0] if values else None), single
    rate = total if better == "higher" else None
    pace = mean if better != "neither" else None
    target = _target(slots, mean, times, reasons)
    return CoRunFigures(
        sum=total,
        is_sum_printed=total is not None and not is_complete,
        mean=mean,
        minimum=min(values) if is_complete else None,
        maximum=max(values) if is_complete else None,
        jain=fairness.jain if fairness else None,
        jain_low=fairness.low if fairness else None,
        jain_high=fairness.high if fairness else None,
        corun_count=len(slots.coruns),
        sum_check=sum_check,
        scaling=_ratio(formulas.scaling, rate, single),
        scaling_to_native=_ratio(formulas.scaling, rate, native),
        slowdown=_ratio(formulas.slowdown, pace, single),
        interference=formulas.interference(loaded, unloaded)
        if loaded and unloaded
        else None,
        target=target,
        virtual_cores=slots.vms * slots.system.vcpus if slots.system.vcpus else None,
        physical_cores=core_count(slots.system.host.facts),
        reasons=tuple(reasons),
    )


def _unclear_reasons(sources: Sequence[Sentence]) -> list[str]:
    if not sources:
        return []
    first, *rest = sources
    if not rest:
        return [
            Sentence(
                "No single value describes {side}, so nothing is calculated from it.",
                side=first,
            )
        ]
    return [
        Sentence(
            "No single value describes {side} and {n} more, so nothing is calculated "
            "from them.",
            side=first,
            n=len(rest),
        )
    ]


def _fairness(slots: CoRunSlots, reasons: list[str]) -> formulas.Fairness | None:
    rows, better = slots.coruns, slots.case.better
    if better == "neither":
        return None
    if better == "lower":
        if not all(value > 0 for row in rows for value in row):
            reasons.append(
                Sentence("A VM has a time of 0, from which no speed can be calculated.")
            )
            return None
        rows = tuple(tuple(1 / value for value in row) for row in rows)
    try:
        return formulas.fairness(rows)
    except ValueError as error:
        reasons.append(
            Sentence(
                "The fairness index cannot be calculated: {why}.", why=error.args[0]
            )
        )
        return None


def _target(
    slots: CoRunSlots,
    mean: float | None,
    times: Mapping[int, float],
    reasons: list[str],
) -> formulas.Target | None:
    case, vcpus = slots.case, slots.system.vcpus
    is_time = (case.component, case.better, case.unit) == ("CPU", "lower", "s")
    if not is_time or slots.scenario != PARALLEL or not mean:
        return None
    cores = core_count(slots.system.host.facts)
    single = slots.single.value if slots.single else None
    if not vcpus:
        reasons.append(
            Sentence("No target: the number of vCPUs per VM is not reported.")
        )
    elif cores is None:
        reasons.append(
            Sentence(
                "No target: the number of CPU cores of the machine is not reported."
            )
        )
    elif not single:
        if SINGLE_VM_PHRASE not in slots.unclear_sources:
            reasons.append(Sentence("No target: one VM alone was not measured."))
    else:
        # The time of as many VMs as cores cannot be its own target.
        vms, rest = divmod(cores, vcpus)
        full = None if rest or vms == slots.vms else times.get(vms)
        virtual = slots.vms * vcpus
        return formulas.cpu_target(
            mean, single_s=single, virtual=virtual, cores=cores, full_s=full
        )
    return None


def _ratio(
    formula: Callable[[Sequence[float], float], float],
    total: float | None,
    base: float | None,
) -> float | None:
    if not total or not base or min(total, base) <= 0:
        return None
    with suppress(ValueError):  # out of the range of rates
        # A single slot leaves both formulas unchanged.
        return formula([total], base)
    return None


def _curves(
    coruns: Sequence[CoRunResult], measured: CoRunCells
) -> Iterator[ConsolidationCurve]:
    curves: dict[tuple[int, int], list[CoRunSlots]] = defaultdict(list)
    for corun in coruns:
        slots = corun.slots
        is_rate = slots.case.better == "higher" and corun.figures.jain is not None
        if slots.scenario == PARALLEL and is_rate and len(slots.slots) == slots.vms:
            curves[slots.system.pk, slots.case.pk].append(slots)
    for key, members in curves.items():
        points: dict[int, CoRunRows] = {slots.vms: slots.coruns for slots in members}
        single = measured.singles.get(key)
        if single and (mean := _mean(single)) is not None:
            single_means = list(measured.run_means.get(single.pk, {}).values()) or [
                mean
            ]
            if all(map(formulas.is_rate, single_means)):
                points[1] = tuple((value,) for value in single_means)
        if len(points) > 1:
            curve = formulas.consolidation(points)
            yield ConsolidationCurve(members[0].case, members[0].system, curve)
