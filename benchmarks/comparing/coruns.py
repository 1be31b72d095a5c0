"""The co-runs of a study: slots, sums, shares and curves (`docs/method.md`, co-runs).

A missing slot is not 0, and runs without a single figure have no figures here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection

from benchmarks import platforms
from benchmarks.analysis import coruns as formulas
from benchmarks.comparing.row import BRIEF, CellFigure, cell_figure
from benchmarks.comparing.table import COMPONENTS, rank
from benchmarks.models import Case, Cell, Efficiency, Study, System
from benchmarks.models.run import (
    CELL_OF_SAMPLE,
    COMBINED,
    MIXED,
    PARALLEL,
    SAMPLES_OF_CELLS,
    SCENARIOS,
    SINGLE,
    TOGETHER,
    TOTALS,
    UNDER_LOAD,
    of_cells,
)
from benchmarks.sentences import Sentence
from benchmarks.text import natural

# Other VMs do other work meanwhile: what is measured has no sum.
BESIDE_OTHER_WORK = (UNDER_LOAD, MIXED)
ONE_ALONE = Sentence("one VM alone")
NATIVE_ALONE = Sentence("the native machine")
ALONE = ("1", "", "mean")
OF_NATIVE = ("paired", "other_session", "stale", "scaling")
# Means in an order of their own, as in `MEAN_IN_ORDER`: sums differ without one.
RUN_MEANS = f"""
    {of_cells("cell.study_id = %s AND cell.id = ANY(%s)", "corun_id")}
    SELECT {CELL_OF_SAMPLE}, coalesce(run.corun_id, -run.id),
           avg(sample.value ORDER BY run.id, sample.sequence)
    {SAMPLES_OF_CELLS}
    GROUP BY 1, 2
    ORDER BY 1, 2
"""

SlotRows = tuple[tuple[float, ...], ...]
GroupKey = tuple[Any, ...]


@dataclass(frozen=True)
class SlotValue:
    """The mean of one VM of a co-run over ``n`` runs, and the cell it stands in."""

    slot: str
    figure: CellFigure
    n: int
    cell_id: int

    @classmethod
    def of(cls, cell: Cell, unit: str) -> "SlotValue":
        return cls(cell.slot, cell_figure(cell, unit), cell.n, cell.pk)

    @property
    def value(self) -> float | None:
        return self.figure.value


@dataclass(frozen=True)
class CoRunSlots:
    """One case that several VMs of a system ran together.

    ``coruns`` has one row a co-run, empty while a slot is missing; ``single`` is the
    same system with one VM, ``native`` the bare machine.
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
    coruns: SlotRows

    @property
    def doubted(self) -> tuple[Sentence, ...]:
        named = [
            *((Sentence("VM {slot}", slot=it.slot), it) for it in self.slots),
            (ONE_ALONE, self.single),
            (NATIVE_ALONE, self.native),
        ]
        return tuple(name for name, side in named if side and side.value is None)

    @property
    def values(self) -> tuple[float, ...]:
        means = [slot.value for slot in self.slots]
        known = tuple(value for value in means if value is not None)
        return known if len(known) == len(means) else ()


@dataclass(frozen=True, kw_only=True)
class CoRunFigures:
    """The figures of a co-run; None is unknown.

    ``sum`` is recomputed if all slots are there, else the printed one; times have none.
    ``virtual`` cores of all VMs share ``cores`` physical ones.
    """

    sum: float | None
    is_sum_printed: bool
    mean: float | None
    minimum: float | None
    maximum: float | None
    jain: float | None
    jain_low: float | None
    jain_high: float | None
    repeated: int
    sum_check: formulas.SumCheck | None
    scaling: float | None
    scaling_to_native: float | None
    slowdown: float | None
    interference: float | None
    target: formulas.Target | None
    virtual: int | None
    cores: int | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class ComparedCoRun:
    of: CoRunSlots
    figures: CoRunFigures


@dataclass(frozen=True)
class Curve:
    case: Case
    system: System
    consolidation: formulas.Consolidation


@dataclass(frozen=True)
class StudyCoRuns:
    coruns: tuple[ComparedCoRun, ...]
    curves: tuple[Curve, ...]


def study_coruns(
    study: Study, *, filters: Mapping[str, Any] | None = None
) -> StudyCoRuns:
    """Return a study's co-runs in eight queries; ``filters`` narrow them."""
    chosen = dict(filters or {})
    scenario = chosen.pop("scenario", None)
    measured = MeasuredCells.of(study, chosen)
    coruns = []
    for key in measured.groups:
        slots = measured.slots_of(key)
        figures = _figures(slots, *measured.beside(key))
        coruns.append(ComparedCoRun(slots, figures))
    coruns.sort(
        key=lambda corun: (
            rank(COMPONENTS, corun.of.case.component),
            corun.of.case.tool,
            natural(corun.of.case.label),
            corun.of.case.pk,
            natural(corun.of.system.label),
            corun.of.system.pk,
            rank(SCENARIOS, corun.of.scenario),
            corun.of.vms,
            corun.of.load,
        )
    )
    wanted = tuple(it for it in coruns if scenario in (None, it.of.scenario))
    return StudyCoRuns(wanted, tuple(_curves(wanted, measured)))


@dataclass(frozen=True)
class MeasuredCells:
    """All cells of a study that a co-run may need, read in at most eight queries.

    ``means`` of repeated cells are by co-run; a run of no co-run has its negative id.
    """

    groups: Mapping[GroupKey, Mapping[str, Cell]]
    singles: Mapping[tuple[int, int], Cell]
    natives: Mapping[int, Cell]
    means: Mapping[int, Mapping[int, float]]

    @classmethod
    def of(cls, study: Study, filters: Mapping[str, Any]) -> "MeasuredCells":
        known = Cell.objects.filter(study=study, n__gt=0).only(*BRIEF)
        cells = list(known.filter(scenario__in=TOGETHER, **filters).order_by("pk"))
        cases = Case.objects.in_bulk({cell.case_id for cell in cells})
        hosted = System.objects.select_related("host")
        systems = hosted.in_bulk({cell.system_id for cell in cells})
        groups: dict[GroupKey, dict[str, Cell]] = defaultdict(dict)
        for cell in cells:
            cell.case, cell.system = cases[cell.case_id], systems[cell.system_id]
            if _is_vm(cell.slot) or cell.slot in TOTALS:
                key = (cell.system_id, cell.case_id, cell.scenario, cell.vms, cell.load)
                groups[key][cell.slot] = cell
        grouped = [cell for slots in groups.values() for cell in slots.values()]

        alone = known.filter(
            scenario=SINGLE,
            slot__in=ALONE,
            system__in={cell.system_id for cell in grouped},
            case__in={cell.case_id for cell in grouped},
        ).order_by("pk")
        worst_first = sorted(alone, key=lambda cell: -ALONE.index(cell.slot))
        singles = {(cell.system_id, cell.case_id): cell for cell in worst_first}

        # A slot is compared with the system alone: what that is compared with in turn
        # is the machine itself. A sum is compared with it directly.
        leaning = {cell.pk for cell in (*grouped, *singles.values())}
        against = Efficiency.objects.filter(
            cell__in=leaning,
            state__in=OF_NATIVE,
            baseline__system__hypervisor=platforms.NATIVE,
        )
        pairs = dict(against.values_list("cell", "baseline"))
        bare = Cell.objects.only(*BRIEF).in_bulk(set(pairs.values()))
        # One may be taken away since its pair was read.
        natives = {pk: bare[base] for pk, base in pairs.items() if base in bare}
        natives |= _natives_of([cell for cell in grouped if cell.pk not in natives])

        means: dict[int, dict[int, float]] = defaultdict(dict)
        several = [cell.pk for cell in (*grouped, *singles.values()) if cell.n > 1]
        with connection.cursor() as cursor:
            cursor.execute(RUN_MEANS, [study.pk, several])
            for cell_id, corun, mean in cursor.fetchall():
                means[cell_id][corun] = mean
        return cls(dict(groups), singles, natives, dict(means))

    def slots_of(self, key: GroupKey) -> CoRunSlots:
        cells = self.groups[key]
        names = sorted(filter(_is_vm, cells), key=int)
        first = cells[names[0]] if names else next(iter(cells.values()))
        unit = first.case.unit
        slots = tuple(SlotValue.of(cells[name], unit) for name in names)
        missing = _missing(first, names)
        is_whole = not missing and all(slot.value is not None for slot in slots)
        means = {kind: _mean(cells[kind]) for kind in TOTALS if kind in cells}
        rows: SlotRows = ()  # none while a slot is missing
        if names and is_whole:
            repeated = [self.means.get(cells[name].pk, {}) for name in names]
            shared = sorted(set(repeated[0]).intersection(*repeated[1:]))
            rows = tuple(tuple(of[corun] for of in repeated) for corun in shared)
            if len(rows) < 2:
                rows = (tuple(cells[name].mean or 0.0 for name in names),)

        single = self.singles.get((first.system_id, first.case_id))
        leaning = (cells.get("sum"), single, first)
        found = (self.natives.get(cell.pk) for cell in leaning if cell)
        native = next((cell for cell in found if cell), None)
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
            single=SlotValue.of(single, unit) if single else None,
            native=SlotValue.of(native, unit) if native else None,
            coruns=rows,
        )

    @cached_property
    def _parallel(self) -> Mapping[tuple[int, int], Mapping[int, Mapping[str, Cell]]]:
        by_vms: dict[tuple[int, int], dict[int, Mapping[str, Cell]]] = defaultdict(dict)
        for (system, case, scenario, vms, _), slots in self.groups.items():
            if scenario == PARALLEL:
                by_vms[system, case][vms] = slots
        return by_vms

    def beside(self, key: GroupKey) -> tuple[float | None, Mapping[int, float]]:
        """Return the same VMs without the other load, and the mean time by VMs."""
        system, case, scenario, vms, _ = key
        alike = self._parallel.get((system, case), {})
        without = None
        times = {}
        for count, cells in alike.items():
            vm_cells = [cell for slot, cell in cells.items() if _is_vm(slot)]
            values = [_mean(cell) for cell in vm_cells]
            known = [value for value in values if value is not None]
            total = sum(known) if len(known) == len(values) else None
            mean = _mean(cells["mean"]) if "mean" in cells else None
            # The slots go before a printed mean, as in `CoRunFigures`.
            if vm_cells:
                mean = None if total is None else total / len(vm_cells)
            if mean:
                times[count] = mean
            if count == vms and "sum" in cells:
                without = _mean(cells["sum"])
            elif count == vms and vm_cells:
                names = sorted(cell.slot for cell in vm_cells)
                without = None if _missing(vm_cells[0], names) else total
        return without if scenario == COMBINED else None, times


def _natives_of(cells: Sequence[Cell]) -> dict[int, Cell]:
    """Return the bare machine's cell for slots, if exactly one fits."""
    if not cells:
        return {}
    bare = Cell.objects.filter(
        lab__in={cell.system.lab_id for cell in cells},
        case__in={cell.case_id for cell in cells},
        system__host__in={cell.system.host_id for cell in cells},
        system__hypervisor=platforms.NATIVE,
        scenario=SINGLE,
        n__gt=0,
    )
    by_machine: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)
    for cell in bare.select_related("system"):
        by_machine[_machine(cell)].append(cell)
    natives = {}
    for cell in cells:
        bits = cell.system.guest_bits
        on_it = by_machine[_machine(cell)]
        fitting = [it for it in on_it if it.system.guest_bits == bits] or [
            it for it in on_it if None in (bits, it.system.guest_bits)
        ]
        guest_os = cell.system.guest_os.casefold()
        same = [it for it in fitting if it.system.guest_os.casefold() == guest_os]
        if len(same or fitting) == 1:
            natives[cell.pk] = (same or fitting)[0]
    return natives


def _machine(cell: Cell) -> tuple[Any, ...]:
    return (cell.system.host_id, cell.case_id)


def _is_vm(slot: str) -> bool:
    return slot.isascii() and slot.isdigit()


def _mean(cell: Cell) -> float | None:
    return cell_figure(cell).value


def _missing(cell: Cell, names: Sequence[str]) -> tuple[str, ...]:
    if cell.scenario in BESIDE_OTHER_WORK or not names:
        return ()
    # Some count their VMs from 0.
    first = 0 if names[0] == "0" else 1
    wanted = map(str, range(first, first + (cell.vms or 0)))
    return tuple(slot for slot in wanted if slot not in names)


def _figures(
    of: CoRunSlots, without: float | None, times: Mapping[int, float]
) -> CoRunFigures:
    """Return a co-run's figures; ``times`` are the mean times by number of VMs."""
    values, better = of.values, of.case.better
    is_whole = bool(values) and not of.missing
    reasons = _doubts(of.doubted)
    total, printed_sum = None, of.printed.get("sum")
    if better != "lower" and of.scenario not in BESIDE_OTHER_WORK:
        total = sum(values) if is_whole else printed_sum
    mean = sum(values) / len(values) if is_whole else of.printed.get("mean")
    shares = _fairness(of, reasons) if is_whole and len(values) > 1 else None
    sum_check = None
    if is_whole and printed_sum is not None and better != "lower" and any(values):
        with suppress(ValueError):  # a slot below 0 is nothing that could be added up
            sum_check = formulas.check_sum(values, printed_sum)

    single = of.single.value if of.single else None
    native = of.native.value if of.native else None
    under, alone = (total, without) if of.scenario == COMBINED else (None, None)
    if of.scenario in BESIDE_OTHER_WORK:
        under, alone = (values[0] if values else None), single
    rate = total if better == "higher" else None
    pace = mean if better != "neither" else None
    target = _target(of, mean, times, reasons)
    return CoRunFigures(
        sum=total,
        is_sum_printed=total is not None and not is_whole,
        mean=mean,
        minimum=min(values) if is_whole else None,
        maximum=max(values) if is_whole else None,
        jain=shares.jain if shares else None,
        jain_low=shares.low if shares else None,
        jain_high=shares.high if shares else None,
        repeated=len(of.coruns),
        sum_check=sum_check,
        scaling=_ratio(formulas.scaling, rate, single),
        scaling_to_native=_ratio(formulas.scaling, rate, native),
        slowdown=_ratio(formulas.slowdown, pace, single),
        interference=formulas.interference(under, alone) if under and alone else None,
        target=target,
        virtual=of.vms * of.system.vcpus if of.system.vcpus else None,
        cores=platforms.cores(of.system.host.facts),
        reasons=tuple(reasons),
    )


def _doubts(sides: Sequence[Sentence]) -> list[str]:
    if not sides:
        return []
    side, *others = sides
    if not others:
        return [
            Sentence(
                "No single figure describes {side}: nothing is derived from it.",
                side=side,
            )
        ]
    return [
        Sentence(
            "No single figure describes {side} and {n} more: nothing is derived from "
            "them.",
            side=side,
            n=len(others),
        )
    ]


def _fairness(of: CoRunSlots, reasons: list[str]) -> formulas.Fairness | None:
    rows, better = of.coruns, of.case.better
    if better == "neither":
        return None
    if better == "lower":
        if not all(value > 0 for row in rows for value in row):
            reasons.append(Sentence("A slot reads 0: a time of 0 has no speed."))
            return None
        rows = tuple(tuple(1 / value for value in row) for row in rows)
    try:
        return formulas.fairness(rows)
    except ValueError as error:
        reasons.append(Sentence("No index of fairness: {why}.", why=error.args[0]))
        return None


def _target(
    of: CoRunSlots,
    mean: float | None,
    times: Mapping[int, float],
    reasons: list[str],
) -> formulas.Target | None:
    case, vcpus = of.case, of.system.vcpus
    is_time = (case.component, case.better, case.unit) == ("CPU", "lower", "s")
    if not is_time or of.scenario != PARALLEL or not mean:
        return None
    cores = platforms.cores(of.system.host.facts)
    single = of.single.value if of.single else None
    if not vcpus:
        reasons.append(Sentence("No target: how many vCPUs a VM has is not stated."))
    elif cores is None:
        reasons.append(
            Sentence("No target: how many cores the machine has is not stated.")
        )
    elif not single:
        if ONE_ALONE not in of.doubted:
            reasons.append(Sentence("No target: one VM alone was not measured."))
    else:
        # As many VMs as there are cores; their time is no target of itself.
        vms, rest = divmod(cores, vcpus)
        full = None if rest or vms == of.vms else times.get(vms)
        virtual = of.vms * vcpus
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
    with suppress(ValueError):  # beyond all rates
        # The sum, or the mean, as if it were one slot: both formulas leave it as it is.
        return formula([total], base)
    return None


def _curves(
    coruns: Sequence[ComparedCoRun], measured: MeasuredCells
) -> Iterator[Curve]:
    curves: dict[tuple[int, int], list[CoRunSlots]] = defaultdict(list)
    for corun in coruns:
        slots = corun.of
        # Where there is an index of fairness every slot is a rate: `consolidation`
        # refuses others.
        is_rate = slots.case.better == "higher" and corun.figures.jain is not None
        if slots.scenario == PARALLEL and is_rate and len(slots.slots) == slots.vms:
            curves[slots.system.pk, slots.case.pk].append(slots)
    for place, members in curves.items():
        points: dict[int, SlotRows] = {slots.vms: slots.coruns for slots in members}
        single = measured.singles.get(place)
        if single and (mean := _mean(single)) is not None:
            alone = list(measured.means.get(single.pk, {}).values()) or [mean]
            if all(map(formulas.is_rate, alone)):
                points[1] = tuple((value,) for value in alone)
        if len(points) > 1:
            curve = formulas.consolidation(points)
            yield Curve(members[0].case, members[0].system, curve)
