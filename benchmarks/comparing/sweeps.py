"""Families of cases that differ in one number only: systems along an axis."""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from benchmarks.analysis.intervals import mean_intervals
from benchmarks.comparing.row import CIRCUMSTANCES, ComparisonRow
from benchmarks.comparing.rows import compared_cells, comparison_row
from benchmarks.comparing.table import COMPONENTS, Column, column_head, rank
from benchmarks.comparing.verdicts import rollups_of, study_verdicts
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models import Case, Cell, Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.text import natural
from benchmarks.units import Quantity, quantity_of
from benchmarks.viewer import Viewer

LEAST_LEVELS: Final = 3
WIDE: Final = 10
"""Levels that span less than this factor fit on a linear axis."""
# Logarithms miss whole powers by their last digits.
TINY: Final = 1e-9

Scale = Literal["log2", "log10", "linear"]
Course = Literal["keeps", "parts", "joins", "slower"]

MEASURING = ("seconds", "seconds_each", "repetitions", "iterations")
NAMES = ("version", "release", "build", "port", "seed")
NOT_AXES = frozenset((*MEASURING, *NAMES))
"""How long or how often was measured, and names that look like numbers."""


@dataclass(frozen=True)
class Parting:
    """How a system's verdicts change along an axis, relative to level ``at``.

    ``keeps``: never slower; ``parts``: slower from it on; ``joins``: slower before it;
    ``slower``: slower everywhere.
    """

    course: Course
    at: int = 0


@dataclass(frozen=True)
class SweepPoint:
    """A cell on the axis; ``low`` to ``high`` is the interval of its mean."""

    level: Quantity
    row: ComparisonRow
    low: float | None
    high: float | None


@dataclass(frozen=True)
class SweepLine:
    column: Column
    points: tuple[SweepPoint, ...]

    @property
    def parting(self) -> Parting | None:
        judged = [point.row.shown.judgement for point in self.points]
        return parting([judgement.verdict if judgement else "" for judgement in judged])


@dataclass(frozen=True)
class Family:
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
    levels: tuple[Quantity, ...]
    cells: Mapping[int, Mapping[Quantity, int]]
    """The cell at each level, by system."""
    lines: tuple[SweepLine, ...] = ()
    """A line for each system of at least two levels, once they were read."""

    @property
    def line_count(self) -> int:
        return sum(len(by_level) > 1 for by_level in self.cells.values())

    @property
    def cell_ids(self) -> set[int]:
        return {cell for by_level in self.cells.values() for cell in by_level.values()}


@dataclass(frozen=True, slots=True)
class Step:
    case: Case
    axis: str
    level: Quantity
    family: str

    @classmethod
    def of(cls, case: Case) -> Iterator["Step"]:
        canonical = canonical_parameters(case.parameters)
        for axis in sorted(canonical.keys() - NOT_AXES):
            level = quantity_of(canonical[axis])
            if level is not None:
                others = {key: text for key, text in canonical.items() if key != axis}
                family = json.dumps([case.tool, case.metric, others, axis, level.unit])
                yield cls(case, axis, level, family)


def parting(verdicts: Sequence[str]) -> Parting | None:
    """Return the change of verdicts along the axis, if decided and only one."""
    if len(verdicts) < LEAST_LEVELS:
        return None
    if not {"slower", "faster", "equivalent"}.issuperset(verdicts):
        return None
    is_slower = [verdict == "slower" for verdict in verdicts]
    changes = [
        place
        for place in range(1, len(is_slower))
        if is_slower[place - 1] != is_slower[place]
    ]
    if len(changes) > 1:
        return None
    if not changes:
        return Parting("slower" if is_slower[0] else "keeps")
    return Parting("joins" if is_slower[0] else "parts", changes[0])


def scale_of(amounts: Sequence[float]) -> Scale:
    """Return log2 for powers of two, log10 for wide levels, else linear."""
    low, high = min(amounts), max(amounts)
    if low <= 0:
        return "linear"
    # Of the logarithms: a ratio may be more than a float holds.
    steps = [math.log2(amount) - math.log2(low) for amount in amounts]
    if all(abs(step - round(step)) < TINY for step in steps):
        return "log2"
    return "log10" if high / low >= WIDE else "linear"


def study_sweeps(viewer: Viewer, study: Study) -> tuple[Family, ...]:
    """Return a study's families of three levels or more, in nine queries."""
    return with_lines(viewer, study, study_families(viewer, study))


def study_families(viewer: Viewer, study: Study) -> tuple[Family, ...]:
    cells = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0)
    rows = list(
        cells.order_by("pk").values_list("pk", "system", "case", *CIRCUMSTANCES)
    )
    cases = Case.objects.in_bulk({row[2] for row in rows})
    steps = {pk: tuple(Step.of(case)) for pk, case in cases.items()}
    groups: dict[tuple[object, ...], dict[int, dict[Quantity, int]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    firsts: dict[tuple[object, ...], Step] = {}
    for pk, system_id, case_id, *stated in rows:
        for step in steps[case_id]:
            group = (step.family, *stated)
            groups[group][system_id][step.level] = pk
            # Cells come by id: the case of the oldest says how parameters are spelled.
            firsts.setdefault(group, step)
    families = (_family(firsts[it], it[1:], cells) for it, cells in groups.items())

    def place(family: Family) -> tuple[object, ...]:
        metrics = [metric.name for metric in known_tool(family.tool).metrics]
        return (
            rank(COMPONENTS, family.component),
            family.tool,
            rank(metrics, family.metric),
            natural(json.dumps([family.parameters, family.circumstances])),
            family.axis,
            family.key,
        )

    return tuple(sorted(filter(None, families), key=place))


def _family(
    first: Step, stated: Sequence[object], cells: Mapping[int, Mapping[Quantity, int]]
) -> Family | None:
    swept = [by_level for by_level in cells.values() if len(by_level) > 1]
    levels = sorted({level for by_level in swept for level in by_level})
    if len(levels) < LEAST_LEVELS:
        return None
    case = first.case
    # The key is part of addresses: the same family has the same one for ever.
    # The spelling counts, blanks included: what is hashed must not change.
    identity = f"{first.family[:-1]}, {json.dumps(stated)}]"
    return Family(
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
        cells=cells,
    )


def with_lines(
    viewer: Viewer, study: Study, families: Sequence[Family]
) -> tuple[Family, ...]:
    """Return these families with all their points, in seven queries."""
    wanted = {cell for family in families for cell in family.cell_ids}
    cells = list(compared_cells(viewer, study=study, filters={"pk__in": wanted}))
    verdicts = study_verdicts(study)
    ends = zip(*mean_intervals(rollups_of(cells)), strict=True)
    points = {
        cell.pk: SweepPoint(
            Quantity(0),
            comparison_row(cell, judgement=verdicts.of(cell.pk)),
            None if np.isnan(low) or cell.shape_codes else float(low),
            None if np.isnan(high) or cell.shape_codes else float(high),
        )
        for cell, (low, high) in zip(cells, ends, strict=True)
    }
    drawn = []
    for family in families:
        by_system = {
            system: {
                level: replace(points[cell], level=level)
                for level, cell in sorted(by_level.items())
                if cell in points  # taken away since the family was read
            }
            for system, by_level in family.cells.items()
        }
        rows = [it.row for by_level in by_system.values() for it in by_level.values()]
        lines = tuple(
            SweepLine(column, tuple(by_level.values()))
            for column in column_head(rows).columns
            if len(by_level := by_system[column.system_id]) > 1
        )
        drawn.append(replace(family, lines=lines))
    return tuple(drawn)
