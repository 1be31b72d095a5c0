"""Quality of results over the number of VMs that run together, over all studies."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from benchmarks.analysis.cell_statistics import resolution
from benchmarks.analysis.density import DensityPoint
from benchmarks.analysis.intervals import mean_interval
from benchmarks.models import Case, Cell, Host, Study, System
from benchmarks.models.run import PARALLEL, SINGLE
from benchmarks.viewer import Viewer

MIN_NUMBERS: Final = 2
AVERAGE_SLOTS: Final = ("mean", "")
"""Slots of results of any of the VMs, not of a certain one."""
POWER_FACT, PRICE_FACT = "power_w", "price"


@dataclass(frozen=True)
class DensityLine:
    system: System
    points: tuple[DensityPoint, ...]


@dataclass(frozen=True)
class DensityFamily:
    """Systems that ran a benchmark in several numbers of VMs on one machine."""

    study: Study
    host: Host
    case: Case
    lines: tuple[DensityLine, ...]
    has_slots: bool
    """Whether each VM was reported, so that figures are those of the worst VM."""

    @property
    def key(self) -> str:
        return f"{self.study.pk}-{self.host.pk}-{self.case.pk}"

    @property
    def is_lower_better(self) -> bool:
        return self.case.better == "lower"

    @property
    def numbers(self) -> list[int]:
        return sorted({point.vms for line in self.lines for point in line.points})

    def stated_amount(self, fact: str) -> float | None:
        """Return the power (W) or price that the facts of the machine state."""
        value = self.host.facts.get(fact)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number and value > 0 else None


def density_families(viewer: Viewer) -> list[DensityFamily]:
    """Return the benchmarks that ran in several numbers of VMs, most numbers first.

    The figure of a number of VMs is that of its worst VM, or the mean over its VMs if
    only this was reported. Sums are left out.
    """
    cells = (
        Cell.objects.visible_to(viewer)
        .filter(
            Q(scenario=PARALLEL, vms__gt=1) | Q(scenario=SINGLE),
            n__gt=0,
            load="",
            case__better__in=("lower", "higher"),
            study__deleted_at=None,
            study__in=Cell.objects.filter(scenario=PARALLEL, vms__gt=1).values("study"),
        )
        .exclude(system__hypervisor="native")
        .exclude(slot__in=("sum", "all", "host"))
        .select_related("study__lab", "system__host", "case")
        .defer("shape")
        .order_by("study_id", "system__host_id", "case_id", "system_id", "vms", "pk")
    )
    groups: dict[tuple[int, int, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.study_id, cell.system.host_id, cell.case_id].append(cell)
    families = []
    for members in groups.values():
        lines = tuple(
            line for line in _lines(members) if len(line.points) >= MIN_NUMBERS
        )
        if lines:
            first = members[0]
            place = (first.study, first.system.host, first.case)
            has_slots = all(
                cell.slot not in AVERAGE_SLOTS
                for cell in members
                if cell.scenario == PARALLEL
            )
            families.append(DensityFamily(*place, lines, has_slots))
    return sorted(families, key=lambda family: (-len(family.numbers), family.study.pk))


def _lines(cells: Iterable[Cell]) -> Iterable[DensityLine]:
    by_system: dict[int, dict[int, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    systems: dict[int, System] = {}
    for cell in cells:
        systems[cell.system_id] = cell.system
        number = 1 if cell.scenario == SINGLE else cell.vms or 1
        by_system[cell.system_id][number].append(cell)
    for pk, by_number in by_system.items():
        points = tuple(
            _worst_point(number, members) for number, members in by_number.items()
        )
        yield DensityLine(systems[pk], points)


def _worst_point(vms: int, cells: list[Cell]) -> DensityPoint:
    single = [cell for cell in cells if cell.slot not in AVERAGE_SLOTS] or cells
    is_lower_better = cells[0].case.better == "lower"

    def figure(cell: Cell) -> float:
        extreme = cell.maximum if is_lower_better else cell.minimum
        # Without a single value, the worst run decides.
        return (extreme if cell.shape_codes else cell.mean) or 0.0

    worst = (max if is_lower_better else min)(single, key=figure)
    interval = None
    if not worst.shape_codes and worst.mean is not None and worst.m2 is not None:
        step = resolution(worst.decimals, worst.display_step)
        interval = mean_interval(worst.n, worst.mean, worst.m2, step)
    ends = (interval.low, interval.high) if interval else (None, None)
    return DensityPoint(vms, figure(worst), *ends)


def family_names(families: Iterable[DensityFamily]) -> Mapping[str, str]:
    """Return the label of each family's benchmark with its parameters, by key."""
    return {
        family.key: ", ".join(
            [family.case.label, *map(str, family.case.parameters.values())]
        )
        for family in families
    }
