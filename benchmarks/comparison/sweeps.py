"""Sweeps: families of cases that differ only in one numeric parameter, the axis."""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from benchmarks.analysis.intervals import mean_interval_ends
from benchmarks.comparison.comparison_row import CIRCUMSTANCES, ComparisonRow
from benchmarks.comparison.comparison_table import (
    COMPONENTS,
    Column,
    column_head,
    rank_by_order,
)
from benchmarks.comparison.row_queries import compared_cells, comparison_row
from benchmarks.comparison.study_verdicts import cell_statistics, study_verdicts
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models import Case, Cell, Study
from benchmarks.natural_sort import natural_sort_key
from benchmarks.units import Quantity, parse_quantity
from benchmarks.viewer import Viewer

MIN_LEVELS: Final = 3
LOG_AXIS_FACTOR: Final = 10
# Logarithms of exact powers have rounding errors.
TOLERANCE: Final = 1e-9

Scale = Literal["log2", "log10", "linear"]
VerdictPattern = Literal["never_slower", "slower_from", "slower_until", "always_slower"]

MEASURING_PARAMETERS = ("seconds", "seconds_each", "repetitions", "iterations")
NAME_PARAMETERS = ("version", "release", "build", "port", "seed")
NOT_AXES = frozenset((*MEASURING_PARAMETERS, *NAME_PARAMETERS))


@dataclass(frozen=True)
class VerdictChange:
    """How the verdicts on a system change along an axis.

    ``slower_from`` means slower from the level at ``level_index`` on, ``slower_until``
    slower below this level.
    """

    pattern: VerdictPattern
    level_index: int = 0


@dataclass(frozen=True)
class SweepPoint:
    level: Quantity
    row: ComparisonRow
    low: float | None
    high: float | None


@dataclass(frozen=True)
class SweepLine:
    column: Column
    points: tuple[SweepPoint, ...]

    @property
    def verdict_change(self) -> VerdictChange | None:
        assessments = [point.row.result.assessment for point in self.points]
        return verdict_change(
            [assessment.verdict if assessment else "" for assessment in assessments]
        )


@dataclass(frozen=True)
class SweepFamily:
    key: str
    tool: str
    metric: str
    component: str
    unit: str
    better: str
    axis: str
    parameters: Mapping[str, str]
    circumstances: Mapping[str, str]
    levels: tuple[Quantity, ...]
    cells_by_level: Mapping[int, Mapping[Quantity, int]]
    """For each system id, the cell id at each level."""
    lines: tuple[SweepLine, ...] = ()
    """Empty until loaded."""

    @property
    def line_count(self) -> int:
        return sum(len(by_level) > 1 for by_level in self.cells_by_level.values())

    @property
    def cell_ids(self) -> set[int]:
        return {
            cell
            for by_level in self.cells_by_level.values()
            for cell in by_level.values()
        }


@dataclass(frozen=True, slots=True)
class SweepStep:
    """A case as one level of a family: ``level`` is its parameter ``axis``."""

    case: Case
    axis: str
    level: Quantity
    family: str

    @classmethod
    def from_case(cls, case: Case) -> Iterator["SweepStep"]:
        canonical = canonical_parameters(case.parameters)
        for axis in sorted(canonical.keys() - NOT_AXES):
            level = parse_quantity(canonical[axis])
            if level is not None:
                others = {key: text for key, text in canonical.items() if key != axis}
                family = json.dumps([case.tool, case.metric, others, axis, level.unit])
                yield cls(case, axis, level, family)


def verdict_change(verdicts: Sequence[str]) -> VerdictChange | None:
    """Return the level at which a system becomes slower, or stops being slower.

    Return None for too few levels, an undecided verdict, or more than one change.
    """
    if len(verdicts) < MIN_LEVELS:
        return None
    if not {"slower", "faster", "equivalent"}.issuperset(verdicts):
        return None
    is_slower = [verdict == "slower" for verdict in verdicts]
    changes = [
        index
        for index in range(1, len(is_slower))
        if is_slower[index - 1] != is_slower[index]
    ]
    if len(changes) > 1:
        return None
    if not changes:
        return VerdictChange("always_slower" if is_slower[0] else "never_slower")
    pattern: VerdictPattern = "slower_until" if is_slower[0] else "slower_from"
    return VerdictChange(pattern, changes[0])


def sweep_scale(amounts: Sequence[float]) -> Scale:
    low, high = min(amounts), max(amounts)
    if low <= 0:
        return "linear"
    # The ratio may exceed the range of floats.
    steps = [math.log2(amount) - math.log2(low) for amount in amounts]
    if all(abs(step - round(step)) < TOLERANCE for step in steps):
        return "log2"
    return "log10" if high / low >= LOG_AXIS_FACTOR else "linear"


def study_sweeps(viewer: Viewer, study: Study) -> tuple[SweepFamily, ...]:
    return load_lines(viewer, study, sweep_families(viewer, study))


def sweep_families(viewer: Viewer, study: Study) -> tuple[SweepFamily, ...]:
    cells = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0)
    rows = list(
        cells.order_by("pk").values_list("pk", "system", "case", *CIRCUMSTANCES)
    )
    cases = Case.objects.in_bulk({row[2] for row in rows})
    steps = {pk: tuple(SweepStep.from_case(case)) for pk, case in cases.items()}
    groups: dict[tuple[object, ...], dict[int, dict[Quantity, int]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    firsts: dict[tuple[object, ...], SweepStep] = {}
    for pk, system_id, case_id, *stated in rows:
        for step in steps[case_id]:
            group = (step.family, *stated)
            groups[group][system_id][step.level] = pk
            # The oldest case determines the spelling.
            firsts.setdefault(group, step)
    families = (
        _family(firsts[group], group[1:], cells) for group, cells in groups.items()
    )

    def sort_key(family: SweepFamily) -> tuple[object, ...]:
        metrics = [metric.name for metric in require_tool(family.tool).metrics]
        return (
            rank_by_order(COMPONENTS, family.component),
            family.tool,
            rank_by_order(metrics, family.metric),
            natural_sort_key(json.dumps([family.parameters, family.circumstances])),
            family.axis,
            family.key,
        )

    return tuple(sorted(filter(None, families), key=sort_key))


def _family(
    first: SweepStep,
    stated: Sequence[object],
    cells: Mapping[int, Mapping[Quantity, int]],
) -> SweepFamily | None:
    swept = [by_level for by_level in cells.values() if len(by_level) > 1]
    levels = sorted({level for by_level in swept for level in by_level})
    if len(levels) < MIN_LEVELS:
        return None
    case = first.case
    # The key is part of URLs, so the hashed text must not change.
    identity = f"{first.family[:-1]}, {json.dumps(stated)}]"
    return SweepFamily(
        key=hashlib.sha256(identity.encode()).hexdigest()[:12],
        tool=case.tool,
        metric=case.metric,
        component=case.component,
        unit=case.unit,
        better=case.better,
        axis=first.axis,
        parameters={k: v for k, v in case.parameters.items() if k != first.axis},
        circumstances={
            name: str(value)
            for name, value in zip(CIRCUMSTANCES, stated, strict=True)
            if value not in (None, "")
        },
        levels=tuple(levels),
        cells_by_level=cells,
    )


def load_lines(
    viewer: Viewer, study: Study, families: Sequence[SweepFamily]
) -> tuple[SweepFamily, ...]:
    cell_ids = {cell for family in families for cell in family.cell_ids}
    cells = list(compared_cells(viewer, study=study, filters={"pk__in": cell_ids}))
    verdicts = study_verdicts(study)
    ends = zip(*mean_interval_ends(cell_statistics(cells)), strict=True)
    points = {
        cell.pk: SweepPoint(
            Quantity(0),
            comparison_row(cell, assessment=verdicts.assessment(cell.pk)),
            None if np.isnan(low) or cell.shape_codes else float(low),
            None if np.isnan(high) or cell.shape_codes else float(high),
        )
        for cell, (low, high) in zip(cells, ends, strict=True)
    }
    loaded = []
    for family in families:
        by_system = {
            system: {
                level: replace(points[cell], level=level)
                for level, cell in sorted(by_level.items())
                if cell in points  # deleted since the family was read
            }
            for system, by_level in family.cells_by_level.items()
        }
        rows = [
            point.row for by_level in by_system.values() for point in by_level.values()
        ]
        lines = tuple(
            SweepLine(column, tuple(by_level.values()))
            for column in column_head(rows).columns
            if len(by_level := by_system[column.system_id]) > 1
        )
        loaded.append(replace(family, lines=lines))
    return tuple(loaded)
