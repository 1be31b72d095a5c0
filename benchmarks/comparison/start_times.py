"""Distributions of start-up times: systems of one study, machine and way of starting.

Starts have no native side, so systems are compared with a reference system.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from django.db.models import F, Q

from benchmarks.analysis.order_statistics import Quantile, quantile
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.row_queries import ReferenceCells, comparison_rows
from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import Case, Cell, Host, Study, System
from benchmarks.studies.cell_session_statistics import cell_runs
from benchmarks.viewer import Viewer

METRIC_NAMES: Final = ("boot time", "start-up time", "startup time", "start time")
QUANTILES: Final = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class StartSample:
    """All starts of one system, in the unit of the case."""

    cell_id: int
    system: System
    values: tuple[float, ...]
    shape_codes: str

    @cached_property
    def quantiles(self) -> tuple[Quantile, ...]:
        return tuple(quantile(self.values, share) for share in QUANTILES)

    @property
    def median(self) -> float:
        return self.quantiles[0].value


@dataclass(frozen=True)
class StartGroup:
    """Starts that can be compared; ``vms`` start at once (None: not stated)."""

    study: Study
    host: Host
    case: Case
    scenario: str
    vms: int | None
    samples: tuple[StartSample, ...]

    @property
    def key(self) -> str:
        parts = (self.study.pk, self.host.pk, self.case.pk, self.vms or 0)
        return "-".join(map(str, parts))

    @property
    def family(self) -> tuple[int, int, int]:
        """The key of groups that differ only in the number of starts at once."""
        return (self.study.pk, self.host.pk, self.case.pk)

    @property
    def method(self) -> str:
        return ", ".join(str(value) for value in self.case.parameters.values())

    def default_reference(self) -> System | None:
        """Return the reference that the study names, else a full VM, else the first."""
        systems = [sample.system for sample in self.samples]
        named = {self.study.reference_for(system.pk) for system in systems}
        ranked = sorted(
            systems,
            key=lambda system: (
                system.pk not in named,
                system.virtualization != "full",
                len(system.options),
                system.pk,
            ),
        )
        return ranked[0] if len(ranked) > 1 else None


def start_groups(viewer: Viewer) -> list[StartGroup]:
    """Return all starts that the viewer can see, in three queries."""
    is_start = Q(case__metric__in=METRIC_NAMES, n__gt=0, study__deleted_at=None)
    cells = list(
        Cell.objects.visible_to(viewer)
        .filter(is_start)
        .exclude(system__hypervisor=NATIVE)
        .select_related("study__lab", "system__host", "case")
        .defer("shape")
        .order_by("study_id", "system__host_id", "case_id", F("vms").asc(), "pk")
    )
    runs = cell_runs([cell.pk for cell in cells])
    values: dict[int, list[float]] = defaultdict(list)
    for pk, value in zip(runs.cell.tolist(), runs.mean.tolist(), strict=True):
        values[pk].append(value)
    groups: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        if values[cell.pk]:
            place = (cell.study_id, cell.system.host_id, cell.case_id)
            groups[*place, cell.scenario, cell.vms, cell.load].append(cell)
    return [
        StartGroup(
            *(first.study, first.system.host, first.case),
            *(first.scenario, first.vms),
            tuple(
                StartSample(
                    cell.pk, cell.system, tuple(values[cell.pk]), cell.shape_codes
                )
                for cell in members
            ),
        )
        for members in groups.values()
        for first in members[:1]
    ]


def reference_rows(group: StartGroup, reference: System) -> dict[int, ComparisonRow]:
    """Compare a group's systems with a reference, by cell ID."""
    systems = [sample.system for sample in group.samples]
    rows = comparison_rows(
        group.study,
        systems=systems,
        filters={"system__in": systems, "case": group.case, "vms": group.vms},
        reference=ReferenceCells.load(group.study, reference),
        verdicts=study_verdicts(group.study, reference, has_near_cases=False),
    )
    return {row.id: row for row in rows}


def medians_by_concurrency(
    groups: Sequence[StartGroup],
) -> Mapping[int, list[tuple[int, StartSample]]]:
    """Return (number started at once, sample) of each system that started in several
    numbers, by system.
    """
    lines: dict[int, list[tuple[int, StartSample]]] = defaultdict(list)
    for group in sorted(groups, key=lambda group: group.vms or 1):
        for sample in group.samples:
            lines[sample.system.pk].append((group.vms or 1, sample))
    return {pk: line for pk, line in lines.items() if len({vms for vms, _ in line}) > 1}
