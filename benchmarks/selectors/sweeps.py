"""Families of cases that differ in one number only: values along an axis."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import tools
from benchmarks.analysis.intervals import Rollups
from benchmarks.analysis.means import mean_intervals
from benchmarks.analysis.sweeps import (
    LEAST_LEVELS,
    Level,
    Parting,
    level_of,
    parting,
)
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models import Campaign, Cell
from benchmarks.selectors.comparison_columns import Column, column_head
from benchmarks.selectors.comparison_row import ComparisonRow
from benchmarks.selectors.comparisons import compared_cells, comparison_row
from benchmarks.selectors.ordering import COMPONENTS, natural, rank
from benchmarks.selectors.verdicts import Verdicts, campaign_verdicts
from benchmarks.viewer import Viewer

CIRCUMSTANCES = ("scenario", "vms", "seat", "load")
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
        judged = [point.row.judgement for point in self.points]
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
    lines: tuple[Line, ...]


def campaign_sweeps(viewer: Viewer, campaign: Campaign) -> tuple[Family, ...]:
    """Return the families of a campaign with at least three levels, in seven queries.

    Every line has at least two levels: a single point is no sweep.
    """
    cells = list(compared_cells(viewer, campaign=campaign))
    verdicts = campaign_verdicts(campaign)
    points = _points(cells, verdicts)
    families = filter(None, (_family(*each) for each in _grouped(points)))
    return tuple(sorted(families, key=_order))


def _points(cells: Sequence[Cell], verdicts: Verdicts) -> list[Point]:
    rollups = Rollups.of(
        [cell.n for cell in cells],
        [cell.mean or 0.0 for cell in cells],
        [cell.m2 or 0.0 for cell in cells],
        [np.nan if cell.resolution is None else cell.resolution for cell in cells],
    )
    ends = zip(*mean_intervals(rollups), strict=True)
    return [
        Point(
            Level(0),
            comparison_row(cell, judgement=verdicts.of(cell.pk)),
            None if np.isnan(low) or cell.shape_codes else float(low),
            None if np.isnan(high) or cell.shape_codes else float(high),
        )
        for cell, (low, high) in zip(cells, ends, strict=True)
    ]


def _grouped(points: Iterable[Point]) -> Iterator[tuple[str, str, list[Point]]]:
    """Yield key, axis and points of what differs in one numeric parameter at most."""
    groups: dict[tuple[str, str], list[Point]] = defaultdict(list)
    spelled: dict[int, dict[str, str]] = {}
    for point in points:
        row = point.row
        if row.case_id not in spelled:
            spelled[row.case_id] = canonical_parameters(row.parameters)
        canonical = spelled[row.case_id]
        for axis in canonical.keys() - NOT_AXES:
            level = level_of(canonical[axis])
            if level is not None:
                placed = Point(level, row, point.low, point.high)
                groups[_key(row, canonical, axis, level.unit), axis].append(placed)
    for (key, axis), members in groups.items():
        yield key, axis, members


def _key(row: ComparisonRow, canonical: Mapping[str, str], axis: str, unit: str) -> str:
    others = {name: text for name, text in canonical.items() if name != axis}
    stated = [getattr(row, name) for name in CIRCUMSTANCES]
    identity = json.dumps([row.tool, row.metric, others, axis, unit, stated])
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def _family(key: str, axis: str, points: Sequence[Point]) -> Family | None:
    by_system: dict[int, dict[Level, Point]] = defaultdict(dict)
    for point in points:
        by_system[point.row.system_id][point.level] = point
    swept = [found for found in by_system.values() if len(found) > 1]
    levels = sorted({level for found in swept for level in found})
    if len(levels) < LEAST_LEVELS:
        return None
    columns = column_head([point.row for point in points]).columns
    lines = tuple(
        Line(column, tuple(found[level] for level in sorted(found)))
        for column in columns
        if len(found := by_system[column.system_id]) > 1
    )
    row = points[0].row
    stated = {name: getattr(row, name) for name in CIRCUMSTANCES}
    return Family(
        key=key,
        tool=row.tool,
        metric=row.metric,
        component=row.component,
        unit=row.unit,
        better=row.better,
        axis=axis,
        parameters={k: v for k, v in row.parameters.items() if k != axis},
        circumstances={k: str(v) for k, v in stated.items() if v not in (None, "")},
        levels=tuple(levels),
        lines=lines,
    )


def _order(family: Family) -> tuple[object, ...]:
    metrics = [metric.name for metric in tools.get(family.tool).metrics]
    return (
        rank(COMPONENTS, family.component),
        family.tool,
        rank(metrics, family.metric),
        natural(json.dumps([family.parameters, family.circumstances])),
        family.axis,
        family.key,
    )
