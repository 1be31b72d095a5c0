"""One case on one host over dates and hypervisor versions, across studies."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from django.db import connection

from benchmarks.analysis.intervals import Rollups, log_ratio_intervals, mean_intervals
from benchmarks.analysis.shape import BAND, shape_of
from benchmarks.analysis.speeds import MIN_RUNS
from benchmarks.analysis.trend import ChangePoint, change_points
from benchmarks.comparing.row import (
    CIRCUMSTANCES,
    CellFigure,
    State,
    cell_figure,
    no_single_figure,
)
from benchmarks.models import Case, Cell, Study, System
from benchmarks.models.run import RUNS_OF_CELLS, of_cells
from benchmarks.text import natural
from benchmarks.viewer import Viewer

IDENTITY = (
    "host_id",
    "hypervisor",
    "virtualization",
    "guest_os",
    "guest_bits",
    "vcpus",
    "memory_bytes",
)
MOST_RUNS = 2_000
# With how many there are in all. Runs without a date are the first to go.
LATEST = f"""
    {of_cells("cell.id = ANY(%s)")}
    SELECT run.cell_id, run.id, run.started_at, run.sitting_id, run.mean,
           count(*) OVER ()
    {RUNS_OF_CELLS}
    ORDER BY run.started_at DESC NULLS LAST, run.id DESC LIMIT %s
"""


@dataclass(frozen=True)
class TrendSubject:
    case_id: int
    label: str
    tool: str
    host: str
    host_id: int
    circumstances: tuple[object, ...]
    versions: int
    """The most versions of one hypervisor."""
    is_dated: bool

    @property
    def has_trend(self) -> bool:
        return self.is_dated or self.versions > 1


@dataclass(frozen=True)
class DatedRun:
    """The mean of a cell's run and its start; ``sitting`` is the id of its session."""

    started_at: datetime | None
    mean: float
    version: str
    cell: Cell
    sitting: int | None = None


@dataclass(frozen=True)
class TrendPoint:
    version: str
    at: datetime | None
    n: int
    figure: CellFigure
    low: float | None
    high: float | None

    @property
    def value(self) -> float | None:
        return self.figure.value


@dataclass(frozen=True)
class TrendSeries:
    """The runs of systems that differ in nothing but the hypervisor's version."""

    system: System
    runs: tuple[DatedRun, ...]
    """Those with a date in their order, then the others."""

    @property
    def dated(self) -> tuple[DatedRun, ...]:
        return tuple(run for run in self.runs if run.started_at)

    @cached_property
    def changes(self) -> tuple[ChangePoint, ...] | None:
        return change_points([run.mean for run in self.dated])

    @cached_property
    def days(self) -> tuple[TrendPoint, ...]:
        keyed = groupby(
            self.dated,
            key=lambda run: (run.started_at and run.started_at.date(), run.version),
        )
        return _points([list(runs) for _, runs in keyed])

    @cached_property
    def versions(self) -> tuple[TrendPoint, ...]:
        by_version: dict[str, list[DatedRun]] = defaultdict(list)
        for run in self.runs:
            by_version[run.version].append(run)
        return _points([by_version[name] for name in sorted(by_version, key=natural)])

    def ratio_of(self, version: str, *, to: str) -> tuple[float, float, float]:
        """Return the ratio of two versions' means and its interval, higher first."""
        sides = []
        for name in (version, to):
            means = np.array([run.mean for run in self.runs if run.version == name])
            m2 = means.var() * len(means)
            sides.append(Rollups.of([len(means)], [means.mean()], [m2], [np.nan]))
        one, other = sides
        interval = log_ratio_intervals(one, other, [True])
        return float(interval.ratio[0]), float(interval.low[0]), float(interval.high[0])


@dataclass(frozen=True)
class Trend:
    case: Case
    subject: TrendSubject
    series: tuple[TrendSeries, ...]
    older: int = 0
    """How many runs began before those of the series, or do not say when."""
    no_speed: str = ""
    """Why the case has no speed, so that no version is so many times another."""


def trend_subjects(viewer: Viewer, study: Study) -> tuple[TrendSubject, ...]:
    """Return what a study measured, the longest trend over visible studies first."""
    own = Cell.objects.filter(study=study, n__gt=0)
    # By their ids: as parts of one query they would be looked up for every cell again.
    pairs = set(own.values_list("case", "system__host"))
    seen = Cell.objects.visible_to(viewer).filter(
        n__gt=0,
        case__in={case for case, _ in pairs},
        system__host__in={host for _, host in pairs},
    )
    names = (
        *("case_id", "case__label", "case__tool", "system__host__slug"),
        *("system__host_id", *CIRCUMSTANCES),
        *("system__hypervisor", "system__hypervisor_version", "first_at"),
    )
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in seen.values_list(*names):
        # Case, host and circumstances are the first nine.
        groups[row[:9]].append(row[9:])
    measured = []
    for (case_id, label, tool, host, host_id, *stated), rows in groups.items():
        if (case_id, host_id) not in pairs:
            continue
        versions: dict[str, set[str]] = defaultdict(set)
        for hypervisor, version, _first_at in rows:
            if version:
                versions[hypervisor].add(version)
        subject = TrendSubject(
            case_id=case_id,
            label=label,
            tool=tool,
            host=host,
            host_id=host_id,
            circumstances=tuple(stated),
            versions=max(map(len, versions.values()), default=0),
            is_dated=any(first_at for *_, first_at in rows),
        )
        measured.append(subject)
    return tuple(
        sorted(
            measured,
            key=lambda subject: (
                not subject.is_dated,
                -subject.versions,
                subject.tool,
                natural(subject.label),
                subject.host,
                natural(str(subject.circumstances)),
                subject.case_id,
            ),
        )
    )


def trend_of(viewer: Viewer, subject: TrendSubject) -> Trend:
    """Return the latest runs of a subject, and how many older ones there are."""
    circumstances = dict(zip(CIRCUMSTANCES, subject.circumstances, strict=True))
    measured = Cell.objects.visible_to(viewer).filter(
        case_id=subject.case_id, system__host_id=subject.host_id, **circumstances
    )
    cells = measured.select_related("system", "efficiency").in_bulk()
    with connection.cursor() as cursor:
        cursor.execute(LATEST, [list(cells), MOST_RUNS])
        rows = cursor.fetchall()
    older = rows[0][-1] - len(rows) if rows else 0
    rows.sort(
        key=lambda row: (row[2] is None, row[2].timestamp() if row[2] else 0.0, row[1])
    )
    lines: dict[object, list[DatedRun]] = defaultdict(list)
    for cell_id, _, started_at, sitting, mean, _ in rows:
        cell = cells[cell_id]
        system = cell.system
        options = tuple(sorted(system.options.items()))
        identity = (*(getattr(system, name) for name in IDENTITY), options)
        run = DatedRun(started_at, mean, system.hypervisor_version, cell, sitting)
        lines[identity].append(run)
    series = [TrendSeries(line[-1].cell.system, tuple(line)) for line in lines.values()]
    series.sort(key=lambda line: (not line.system.is_native, line.system.label))
    case = Case.objects.get(pk=subject.case_id)
    against = (getattr(cell, "efficiency", None) for cell in cells.values())
    reasons = (it.reason for it in against if it and it.state == State.NO_SPEED)
    return Trend(case, subject, tuple(series), older, next(reasons, ""))


def _points(groups: Sequence[Sequence[DatedRun]]) -> tuple[TrendPoint, ...]:
    members = [[run.mean for run in group] for group in groups]
    firsts = [group[0] for group in groups]
    rollups = Rollups.of(
        [len(group) for group in members],
        [np.mean(group) for group in members],
        [np.var(group) * len(group) for group in members],
        [np.nan] * len(members),
    )
    ends = zip(*mean_intervals(rollups), strict=True)
    figures = map(_figure, groups)
    return tuple(
        TrendPoint(
            version=first.version,
            at=first.started_at,
            n=len(each),
            figure=figure,
            low=None if np.isnan(low) or figure.doubts else float(low),
            high=None if np.isnan(high) or figure.doubts else float(high),
        )
        for first, each, figure, (low, high) in zip(
            firsts, members, figures, ends, strict=True
        )
    )


def _figure(runs: Sequence[DatedRun]) -> CellFigure:
    """Return the mean of runs, or the figure that replaces it.

    A whole cell has its stored shape; parts of cells are looked at run by run.
    """
    cells = {run.cell.pk: run.cell for run in runs}
    if len(cells) == 1 and runs[0].cell.n == len(runs):
        return cell_figure(runs[0].cell)
    means = [run.mean for run in runs]
    if len(means) >= MIN_RUNS:
        steps = [cell.resolution for cell in cells.values() if cell.resolution]
        bands = [(cell.shape or {}).get("band", BAND) for cell in cells.values()]
        shape = shape_of(
            means,
            # Nobody's session of unknown time is another's.
            sessions=[run.sitting or -run.cell.pk for run in runs],
            band=min(bands),
            resolution=max(steps, default=None),
            is_ordered=all(run.started_at for run in runs),
        )
        if shape.has_single_figure:
            return CellFigure(sum(means) / len(means))
        centres = tuple(mode.centre for mode in shape.modes)
        return CellFigure(
            None,
            doubts=shape.doubts,
            reason=no_single_figure(shape.sentence),
            speeds=centres if len(centres) > 1 else (),
            range=(min(means), max(means)),
        )
    doubted = next((cell for cell in cells.values() if cell.shape_codes), None)
    if doubted is None or (len(means) == 1 and doubted.n >= MIN_RUNS):
        return CellFigure(sum(means) / len(means))
    return replace(cell_figure(doubted), speeds=(), range=(min(means), max(means)))
