"""Results without a native side: the systems of one machine, compared directly."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from benchmarks.analysis.intervals import MeanInterval, mean_interval
from benchmarks.comparison.comparison_row import CIRCUMSTANCES
from benchmarks.comparison.start_times import METRIC_NAMES
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import Case, Cell, Effect, Efficiency, Host, Study, System
from benchmarks.units import UNITS
from benchmarks.viewer import Viewer

WITHOUT_NATIVE: Final = (Efficiency.State.MISSING, Efficiency.State.NO_SPEED)
DATA_UNITS: Final = [name for name, unit in UNITS.items() if unit.dimension == "data"]
MEMORY: Final = Q(case__component="memory", case__unit__in=DATA_UNITS)
"""Results that are amounts of memory, such as that of a VM's process."""


@dataclass(frozen=True)
class DirectResult:
    """The result of one system; ``interval`` is None for a single run."""

    cell_id: int
    system: System
    n: int
    mean: float
    interval: MeanInterval | None


@dataclass(frozen=True)
class DirectGroup:
    """Results of several systems that can be compared, the best first."""

    study: Study
    host: Host
    case: Case
    results: tuple[DirectResult, ...]

    @property
    def hypervisors(self) -> frozenset[str]:
        return frozenset(result.system.hypervisor for result in self.results)

    @property
    def reference(self) -> System:
        """The reference that the study names, else the system of fewest options."""
        systems = [result.system for result in self.results]
        named = {self.study.reference_for(system.pk) for system in systems}
        return min(systems, key=lambda s: (s.pk not in named, len(s.options), s.pk))


def of_work(work: str) -> Q:
    return Q(pk__in=Effect.objects.filter(work_class=work).values("cell_id"))


def beside_hypervisor(name: str) -> Q:
    """Return the condition for all results of machines that ran a hypervisor."""
    hosts = System.objects.filter(hypervisor=name).values("host_id")
    return Q(system__host__in=hosts)


def direct_groups(viewer: Viewer, wanted: Q) -> list[DirectGroup]:
    """Return the groups of ``wanted`` cells that have no native side.

    Start-up times have a page of their own. Results without a single figure, and
    systems alone on their machine, cannot be compared.
    """
    cells = (
        Cell.objects.visible_to(viewer)
        .filter(wanted, n__gt=0, shape_codes="", mean__isnull=False)
        .filter(efficiency__state__in=WITHOUT_NATIVE, study__deleted_at=None)
        .exclude(case__better="neither")
        .exclude(case__metric__in=METRIC_NAMES)
        .select_related("study__lab", "system__host", "case")
        .defer("shape")
        .order_by("study_id", "system__host_id", "case__label", "case_id", "pk")
    )
    groups: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        same = (getattr(cell, name) for name in CIRCUMSTANCES)
        key = (cell.study_id, cell.system.host_id, cell.case_id, *same)
        groups[key].append(cell)
    return [_group(members) for members in groups.values() if _has_comparison(members)]


def _has_comparison(cells: Iterable[Cell]) -> bool:
    systems = {cell.system_id: cell.system.hypervisor for cell in cells}
    return len(systems) > 1 and NATIVE not in systems.values()


def _group(cells: list[Cell]) -> DirectGroup:
    first = cells[0]
    is_lower_better = first.case.better == "lower"
    results = sorted(
        map(_result, cells),
        key=lambda result: result.mean if is_lower_better else -result.mean,
    )
    return DirectGroup(first.study, first.system.host, first.case, tuple(results))


def _result(cell: Cell) -> DirectResult:
    mean = cell.mean or 0.0
    interval = None
    if cell.m2 is not None:
        interval = mean_interval(cell.n, mean, cell.m2, cell.resolution)
    return DirectResult(cell.pk, cell.system, cell.n, mean, interval)
