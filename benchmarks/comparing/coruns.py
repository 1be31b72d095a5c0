"""What the virtual machines of a study did together: slots, sums, shares, curves."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection

from benchmarks.analysis.coruns import Consolidation, consolidation
from benchmarks.comparing.corun_figures import (
    BESIDE_OTHER_WORK,
    COMBINED,
    INTER_VM,
    MIXED,
    NATIVE_ALONE,
    ONE_ALONE,
    PARALLEL,
    SINGLE,
    UNDER_LOAD,
    CoRunFigures,
    Evidence,
    corun_figures,
)
from benchmarks.comparing.row import BRIEF, CellFigure, cell_figure
from benchmarks.comparing.table import COMPONENTS, SCENARIOS, natural, rank
from benchmarks.models import Case, Cell, Efficiency, Study, System
from benchmarks.models.run import CELL_SAMPLES
from benchmarks.platforms import NATIVE
from benchmarks.sentences import Sentence

TOGETHER = (PARALLEL, UNDER_LOAD, COMBINED, INTER_VM, MIXED)
TOTALS = ("sum", "mean")
ALONE = ("1", "", "mean")
OF_NATIVE = ("paired", "other_session", "stale", "scaling")
Rows = tuple[tuple[float, ...], ...]
GroupKey = tuple[Any, ...]
Groups = Mapping[GroupKey, Mapping[str, Cell]]
Singles = Mapping[tuple[int, int], Cell]
Means = Mapping[int, Mapping[int, float]]


def groups_of(
    study: Study, filters: Mapping[str, Any]
) -> dict[GroupKey, dict[str, Cell]]:
    """Return the cells of each co-run by their slots; an aggregate alone is none."""
    cells = Cell.objects.filter(study=study, scenario__in=TOGETHER, n__gt=0, **filters)
    measured = list(cells.only(*BRIEF).order_by("pk"))
    # Few, and shared by many cells: each is read once.
    cases = Case.objects.in_bulk({cell.case_id for cell in measured})
    systems = System.objects.select_related("host")
    known = systems.in_bulk({cell.system_id for cell in measured})
    groups: dict[GroupKey, dict[str, Cell]] = defaultdict(dict)
    for cell in measured:
        cell.case, cell.system = cases[cell.case_id], known[cell.system_id]
        if is_slot(cell.slot) or cell.slot in TOTALS:
            key = (cell.system_id, cell.case_id, cell.scenario, cell.vms, cell.load)
            groups[key][cell.slot] = cell
    return dict(groups)


def is_slot(text: str) -> bool:
    """Whether a slot is one of the VMs: 1, 2, ... in plain digits."""
    return text.isascii() and text.isdigit()


def cells_of(groups: Mapping[GroupKey, Mapping[str, Cell]]) -> Iterable[Cell]:
    """Return the cells of all co-runs, slot by slot."""
    return (cell for slots in groups.values() for cell in slots.values())


def singles_of(
    study: Study, groups: Iterable[Mapping[str, Cell]]
) -> dict[tuple[int, int], Cell]:
    """Return what each system did with one VM alone, by system and case."""
    firsts = [next(iter(slots.values())) for slots in groups]
    cells = Cell.objects.filter(
        study=study,
        scenario=SINGLE,
        slot__in=ALONE,
        system__in={cell.system_id for cell in firsts},
        case__in={cell.case_id for cell in firsts},
        n__gt=0,
    )
    best = sorted(
        cells.only(*BRIEF), key=lambda cell: ALONE.index(cell.slot), reverse=True
    )
    return {(cell.system_id, cell.case_id): cell for cell in best}


def natives_of(groups: Mapping[GroupKey, Mapping[str, Cell]]) -> dict[int, Cell]:
    """Return the cell of the bare machine that each cell is set against."""
    against = Efficiency.objects.filter(
        cell__in=[cell.pk for cell in cells_of(groups)],
        state__in=OF_NATIVE,
        baseline__system__hypervisor=NATIVE,
    )
    pairs = dict(against.values_list("cell", "baseline"))
    cells = Cell.objects.filter(pk__in=set(pairs.values())).only(*BRIEF)
    natives = {cell.pk: cell for cell in cells}
    return {cell: natives[pk] for cell, pk in pairs.items() if pk in natives}


RUN_MEANS = f"""
    SELECT cell.id, coalesce(run.corun_id, -run.id), avg(sample.value)
    {CELL_SAMPLES}
    WHERE cell.study_id = %s AND cell.id = ANY(%s)
    GROUP BY cell.id, coalesce(run.corun_id, -run.id)
    ORDER BY 1, 2
"""


def run_means(study: Study, cells: Iterable[Cell]) -> dict[int, dict[int, float]]:
    """Return the means of those cells that were repeated, by the co-run they are of.

    A run of no co-run has the negative of its own id instead: it has no partners.
    """
    several = [cell.pk for cell in cells if cell.n > 1]
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [study.pk, several])
        means: dict[int, dict[int, float]] = defaultdict(dict)
        for cell_id, corun, mean in cursor.fetchall():
            means[cell_id][corun] = mean
    return dict(means)


def together(slots: Sequence[Cell], means: Means) -> Rows:
    """Return one row a co-run; the means of all runs where they name no co-runs.

    Every slot must be one figure.
    """
    each = [means.get(cell.pk, {}) for cell in slots]
    if not each:
        return ()
    shared = sorted(set(each[0]).intersection(*each[1:]))
    if len(shared) > 1:
        return tuple(tuple(of[key] for of in each) for key in shared)
    return (tuple(cell.mean or 0.0 for cell in slots),)


def mean_of(cell: Cell) -> float | None:
    """Return the mean of a cell; None where no single figure describes its runs."""
    return cell_figure(cell).value


@dataclass(frozen=True)
class SlotValue:
    """The mean of one VM of a co-run over ``n`` runs, and the cell it stands in."""

    slot: str
    figure: CellFigure
    n: int
    cell_id: int

    @property
    def value(self) -> float | None:
        """The mean; None where no single figure describes the runs."""
        return self.figure.value


@dataclass(frozen=True)
class Slots:
    """One case that several VMs of a system ran together.

    ``slots`` are those that were reported, ``missing`` the others of ``vms``; a missing
    slot is not 0. ``coruns`` has one row a co-run, empty while a slot is missing.
    ``single`` is the same system with one VM alone, ``native`` the bare machine.
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
    coruns: Rows

    @property
    def doubted(self) -> tuple[Sentence, ...]:
        """The sides whose runs no single figure describes, in words."""
        named = [
            *((Sentence("VM {slot}", slot=it.slot), it) for it in self.slots),
            (ONE_ALONE, self.single),
            (NATIVE_ALONE, self.native),
        ]
        return tuple(name for name, side in named if side and side.value is None)

    @property
    def values(self) -> tuple[float, ...]:
        """The means of the slots; none where one of them has none."""
        means = [each.value for each in self.slots]
        known = tuple(value for value in means if value is not None)
        return known if len(known) == len(means) else ()


@dataclass(frozen=True)
class CoRun:
    """The slots of one case and what follows from them."""

    of: Slots
    figures: CoRunFigures


@dataclass(frozen=True)
class Curve:
    """What each further VM added to one case on one system."""

    case: Case
    system: System
    consolidation: Consolidation


@dataclass(frozen=True)
class CoRuns:
    """Everything that ran together in a study, in the order of its pages."""

    coruns: tuple[CoRun, ...]
    curves: tuple[Curve, ...]


def study_coruns(study: Study, *, filters: Mapping[str, Any] | None = None) -> CoRuns:
    """Return a study's co-runs, in seven queries.

    ``filters`` are look-ups on Cell. They narrow what is returned; a co-run under load
    is set against the one without it whether that is asked for or not.
    """
    chosen = dict(filters or {})
    scenario = chosen.pop("scenario", None)
    groups = groups_of(study, chosen)
    singles = singles_of(study, groups.values())
    means = run_means(study, [*cells_of(groups), *singles.values()])
    built = _Builder(groups, singles, natives_of(groups), means)
    coruns = sorted(
        map(built.corun, groups),
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
        ),
    )
    wanted = tuple(each for each in coruns if scenario in (None, each.of.scenario))
    return CoRuns(wanted, tuple(_curves(wanted, means, singles)))


@dataclass(frozen=True)
class _Builder:
    """All cells of a study that a co-run may lean on."""

    groups: Groups
    singles: Singles
    natives: Mapping[int, Cell]
    means: Means

    def corun(self, key: GroupKey) -> CoRun:
        slots = self.groups[key]
        parts = sorted(filter(is_slot, slots), key=int)
        first = slots[parts[0]] if parts else next(iter(slots.values()))
        single = self.singles.get((first.system_id, first.case_id))
        whole = slots.get("sum") or slots.get("mean") or first
        native = self.natives.get(whole.pk)
        missing = _missing(first, parts)
        unit = first.case.unit
        values = tuple(_slot(slots[name], unit) for name in parts)
        is_whole = not missing and all(each.value is not None for each in values)
        rows = together([slots[p] for p in parts], self.means) if is_whole else ()
        given = Slots(
            id=first.pk,
            case=first.case,
            system=first.system,
            scenario=first.scenario,
            vms=first.vms or len(parts),
            load=first.load,
            slots=values,
            missing=missing,
            printed={
                kind: mean
                for kind in TOTALS
                if kind in slots and (mean := mean_of(slots[kind])) is not None
            },
            single=_slot(single, unit) if single else None,
            native=_slot(native, unit) if native else None,
            coruns=rows,
        )
        return CoRun(given, corun_figures(_evidence(given, *self._others(key))))

    @cached_property
    def _parallel(self) -> Mapping[tuple[int, int], Mapping[int, Mapping[str, Cell]]]:
        """What ran in parallel, by system and case, then by the number of VMs."""
        by_vms: dict[tuple[int, int], dict[int, Mapping[str, Cell]]] = defaultdict(dict)
        for (system, case, scenario, vms, _), slots in self.groups.items():
            if scenario == PARALLEL:
                by_vms[system, case][vms] = slots
        return by_vms

    def _others(self, key: GroupKey) -> tuple[float | None, Mapping[int, float]]:
        """Return the same VMs without the other load, and the mean time by VMs."""
        system, case, scenario, vms, _ = key
        alike = self._parallel.get((system, case), {})
        is_alone = scenario == COMBINED and vms in alike
        alone = _total(alike[vms]) if is_alone else None
        full = {}
        for count, slots in alike.items():
            parts = [cell for slot, cell in slots.items() if is_slot(slot)]
            if not parts:
                mean = mean_of(slots["mean"]) if "mean" in slots else None
            elif (mean := _added(parts)) is not None:
                mean /= len(parts)
            if mean:
                full[count] = mean
        return alone, full


def _evidence(slots: Slots, alone: float | None, full: Mapping[int, float]) -> Evidence:
    return Evidence(
        better=slots.case.better,
        component=slots.case.component,
        unit=slots.case.unit,
        scenario=slots.scenario,
        vms=slots.vms,
        vcpus=slots.system.vcpus,
        host_facts=slots.system.host.facts,
        slots=slots.values,
        doubted=slots.doubted,
        is_whole=not slots.missing,
        coruns=slots.coruns,
        printed_sum=slots.printed.get("sum"),
        printed_mean=slots.printed.get("mean"),
        single=slots.single.value if slots.single else None,
        native=slots.native.value if slots.native else None,
        alone=alone,
        full=full,
    )


def _missing(cell: Cell, parts: Sequence[str]) -> tuple[str, ...]:
    """Return the slots that should be there; under load others do other work."""
    if cell.scenario in BESIDE_OTHER_WORK or not parts:
        return ()
    first = 0 if parts[0] == "0" else 1
    wanted = map(str, range(first, first + (cell.vms or 0)))
    return tuple(slot for slot in wanted if slot not in parts)


def _slot(cell: Cell, unit: str) -> SlotValue:
    return SlotValue(cell.slot, cell_figure(cell, unit), cell.n, cell.pk)


def _total(slots: Mapping[str, Cell]) -> float | None:
    if "sum" in slots:
        return mean_of(slots["sum"])
    parts = [cell for slot, cell in slots.items() if is_slot(slot)]
    whole = parts and not _missing(parts[0], sorted(filter(is_slot, slots)))
    return _added(parts) if whole else None


def _added(cells: Sequence[Cell]) -> float | None:
    """Return the sum of cells that are one figure each."""
    values = [mean_of(cell) for cell in cells]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _curves(
    coruns: Sequence[CoRun],
    means: Means,
    singles: Singles,
) -> Iterable[Curve]:
    """Return the curves that have two points; times have no sum."""
    curves: dict[tuple[int, int], list[Slots]] = defaultdict(list)
    for each in coruns:
        slots = each.of
        is_rate = slots.case.better == "higher" and each.figures.jain is not None
        if slots.scenario == PARALLEL and is_rate and len(slots.slots) == slots.vms:
            curves[slots.system.pk, slots.case.pk].append(slots)
    for place, members in curves.items():
        points: dict[int, Rows] = {each.vms: each.coruns for each in members}
        single = singles.get(place)
        if single and (mean := mean_of(single)) is not None:
            alone = list(means.get(single.pk, {}).values()) or [mean]
            if min(alone) > 0:
                points[1] = tuple((value,) for value in alone)
        if len(points) > 1:
            curve = consolidation(points)
            yield Curve(members[0].case, members[0].system, curve)
