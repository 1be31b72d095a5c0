"""Families of cases that differ in one number only: values along an axis."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import tools
from benchmarks.analysis.intervals import Rollups, mean_intervals
from benchmarks.analysis.sweeps import (
    LEAST_LEVELS,
    Level,
    Parting,
    level_of,
    parting,
)
from benchmarks.comparing.columns import Column, column_head
from benchmarks.comparing.ordering import COMPONENTS, natural, rank
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import compared_cells, comparison_row
from benchmarks.comparing.verdicts import Verdicts, study_verdicts
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models import Case, Cell, Study
from benchmarks.viewer import Viewer

PLACE = ("scenario", "vms", "slot", "load")
Places = dict[int, dict[Level, int]]
MEASURING = ("seconds", "seconds_each", "repetitions", "iterations")
NAMES = ("version", "release", "build", "port", "seed")
NOT_AXES = frozenset((*MEASURING, *NAMES))
"""How long or how often was measured, and names that look like numbers."""


@dataclass(frozen=True)
class Point:
    """A cell on the axis; ``low`` to ``high`` is the interval of its mean."""

    level: Level
    row: ComparisonRow
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Line:
    """One system along the axis, lowest level first."""

    column: Column
    points: tuple[Point, ...]

    @property
    def parting(self) -> Parting | None:
        """How it goes against its baseline, where the verdicts decide."""
        judged = [point.row.shown.judgement for point in self.points]
        return parting([each.verdict if each else "" for each in judged])


@dataclass(frozen=True)
class Family:
    """A tool's metric over one parameter, all others and the circumstances equal."""

    key: str
    tool: str
    metric: str
    component: str
    unit: str
    better: str
    axis: str
    parameters: Mapping[str, str]
    """All others, as people wrote them."""
    circumstances: Mapping[str, str]
    levels: tuple[Level, ...]
    places: Mapping[int, Mapping[Level, int]]
    """The cell at each level, by system."""
    lines: tuple[Line, ...] = ()
    """A line for each system of at least two levels, once they were read."""

    @property
    def line_count(self) -> int:
        return sum(len(by_level) > 1 for by_level in self.places.values())

    @property
    def cell_ids(self) -> set[int]:
        return {cell for by_level in self.places.values() for cell in by_level.values()}


def study_sweeps(viewer: Viewer, study: Study) -> tuple[Family, ...]:
    """Return the families of a study with at least three levels, in nine queries.

    Every line has at least two levels: a single point is no sweep.
    """
    return with_lines(viewer, study, study_families(viewer, study))


def study_families(viewer: Viewer, study: Study) -> tuple[Family, ...]:
    """Return the same families without their lines, in two queries."""
    cells = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0)
    rows = list(cells.order_by("pk").values_list("pk", "system", "case", *PLACE))
    cases = Case.objects.in_bulk({row[2] for row in rows})
    steps = {pk: tuple(Step.of(case)) for pk, case in cases.items()}
    groups: dict[tuple[object, ...], Places] = defaultdict(lambda: defaultdict(dict))
    firsts: dict[tuple[object, ...], Step] = {}
    for pk, system_id, case_id, *place in rows:
        for step in steps[case_id]:
            group = (step.family, *place)
            groups[group][system_id][step.level] = pk
            firsts.setdefault(group, step)
    families = (_family(firsts[it], it[1:], places) for it, places in groups.items())

    def place_of(family: Family) -> tuple[object, ...]:
        metrics = [metric.name for metric in tools.get(family.tool).metrics]
        return (
            rank(COMPONENTS, family.component),
            family.tool,
            rank(metrics, family.metric),
            natural(json.dumps([family.parameters, family.circumstances])),
            family.axis,
            family.key,
        )

    return tuple(sorted(filter(None, families), key=place_of))


@dataclass(frozen=True, slots=True)
class Step:
    """A case as a level of one of its numeric parameters, and what makes a family."""

    case: Case
    axis: str
    level: Level
    family: str

    @classmethod
    def of(cls, case: Case) -> Iterator["Step"]:
        """Yield a step for each parameter that is a number."""
        canonical = canonical_parameters(case.parameters)
        for axis in sorted(canonical.keys() - NOT_AXES):
            level = level_of(canonical[axis])
            if level is not None:
                others = {key: text for key, text in canonical.items() if key != axis}
                family = json.dumps([case.tool, case.metric, others, axis, level.unit])
                yield cls(case, axis, level, family)


def _family(first: Step, place: Sequence[object], places: Places) -> Family | None:
    swept = [by_level for by_level in places.values() if len(by_level) > 1]
    levels = sorted({level for by_level in swept for level in by_level})
    if len(levels) < LEAST_LEVELS:
        return None
    case = first.case
    stated = dict(zip(PLACE, place, strict=True))
    identity = f"{first.family[:-1]}, {json.dumps(place)}]"
    return Family(
        key=hashlib.sha256(identity.encode()).hexdigest()[:12],
        tool=case.tool,
        metric=case.metric,
        component=case.component,
        unit=case.unit,
        better=case.better,
        axis=first.axis,
        parameters={k: v for k, v in case.parameters.items() if k != first.axis},
        circumstances={k: str(v) for k, v in stated.items() if v not in (None, "")},
        levels=tuple(levels),
        places=places,
    )


def with_lines(
    viewer: Viewer, study: Study, families: Sequence[Family]
) -> tuple[Family, ...]:
    """Return these families with all their points, in seven queries."""
    wanted = {cell for family in families for cell in family.cell_ids}
    cells = compared_cells(viewer, study=study, filters={"pk__in": wanted})
    points = _points(list(cells), study_verdicts(study))
    return tuple(replace(each, lines=_lines(each, points)) for each in families)


def _points(cells: Sequence[Cell], verdicts: Verdicts) -> dict[int, Point]:
    rollups = Rollups.of(
        [cell.n for cell in cells],
        [cell.mean or 0.0 for cell in cells],
        [cell.m2 or 0.0 for cell in cells],
        [np.nan if cell.resolution is None else cell.resolution for cell in cells],
    )
    ends = zip(*mean_intervals(rollups), strict=True)
    return {
        cell.pk: Point(
            Level(0),
            comparison_row(cell, judgement=verdicts.of(cell.pk)),
            None if np.isnan(low) or cell.shape_codes else float(low),
            None if np.isnan(high) or cell.shape_codes else float(high),
        )
        for cell, (low, high) in zip(cells, ends, strict=True)
    }


def _lines(family: Family, points: Mapping[int, Point]) -> tuple[Line, ...]:
    by_system = {
        system: {
            level: replace(points[cell], level=level)
            for level, cell in by_level.items()
            if cell in points  # taken away since the family was read
        }
        for system, by_level in family.places.items()
    }
    rows = [point.row for by_level in by_system.values() for point in by_level.values()]
    return tuple(
        Line(column, tuple(by_level[level] for level in sorted(by_level)))
        for column in column_head(rows).columns
        if len(by_level := by_system[column.system_id]) > 1
    )
