"""Trends of one case on one host over time and hypervisor versions, across studies."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from django.db import connection

from benchmarks.analysis.bimodality import MIN_RUNS
from benchmarks.analysis.change_points import SeriesChanges, find_changes
from benchmarks.analysis.distribution_shape import DEFAULT_BAND, find_shape
from benchmarks.analysis.intervals import (
    RunStatistics,
    log_ratio_intervals,
    mean_interval_ends,
)
from benchmarks.analysis.sessions import REPEATED_SESSIONS
from benchmarks.comparison.comparison_row import (
    CIRCUMSTANCES,
    CellFigure,
    State,
    cell_figure,
    no_single_figure_sentence,
)
from benchmarks.models import Case, Cell, Study, System
from benchmarks.models.run import RUNS_OF_CELLS_SQL, runs_of_cells_sql
from benchmarks.natural_sort import natural_sort_key
from benchmarks.viewer import Viewer

SERIES_FIELDS = (
    "host_id",
    "hypervisor",
    "virtualization",
    "guest_os",
    "guest_bits",
    "vcpus",
    "memory_bytes",
)
MAX_RUNS = 2_000
# If there are too many runs, those without a date are dropped first.
LATEST_RUNS_SQL = f"""
    {runs_of_cells_sql("cell.id = ANY(%s)")}
    SELECT run.cell_id, run.id, run.started_at, run.session_id, run.mean,
           count(*) OVER ()
    {RUNS_OF_CELLS_SQL}
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
    version_count: int
    """The largest number of versions of one hypervisor."""
    is_dated: bool

    @property
    def has_trend(self) -> bool:
        return self.is_dated or self.version_count > 1


@dataclass(frozen=True)
class DatedRun:
    started_at: datetime | None
    mean: float
    version: str
    cell: Cell
    session_id: int | None = None


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
    """Runs of systems that differ only in the version of the hypervisor."""

    system: System
    runs: tuple[DatedRun, ...]
    """Dated runs first."""

    @property
    def dated_runs(self) -> tuple[DatedRun, ...]:
        return tuple(run for run in self.runs if run.started_at)

    @cached_property
    def runs_of_days(self) -> tuple[tuple[DatedRun, ...], ...]:
        """The dated runs by day and version, in order."""
        keyed = groupby(
            self.dated_runs,
            key=lambda run: (run.started_at and run.started_at.date(), run.version),
        )
        return tuple(tuple(runs) for _, runs in keyed)

    @cached_property
    def changes(self) -> SeriesChanges | None:
        """The changes over the means of the days; None for fewer than 10 days.

        Days are the points, because the runs of a day share its conditions.
        """
        days = self.runs_of_days
        starts = [
            index
            for index, (before, after) in enumerate(pairwise(days), start=1)
            if before[0].version != after[0].version
        ]
        return find_changes([_mean(runs) for runs in days], starts)

    @cached_property
    def day_points(self) -> tuple[TrendPoint, ...]:
        return _points(self.runs_of_days)

    @cached_property
    def version_points(self) -> tuple[TrendPoint, ...]:
        by_version: dict[str, list[DatedRun]] = defaultdict(list)
        for run in self.runs:
            by_version[run.version].append(run)
        return _points(
            [by_version[name] for name in sorted(by_version, key=natural_sort_key)]
        )

    def version_ratio(
        self, version: str, *, reference_version: str, confidence: float
    ) -> tuple[float, float, float]:
        """Return the ratio of two versions and the ends of its interval.

        The ends are NaN if a version was not measured on three days.
        """
        statistics = []
        for name in (version, reference_version):
            means = np.array(
                [_mean(runs) for runs in self.runs_of_days if runs[0].version == name]
                or [run.mean for run in self.runs if run.version == name]
            )
            m2 = means.var() * len(means)
            statistics.append(
                RunStatistics.from_sums([len(means)], [means.mean()], [m2], [np.nan])
            )
        compared, reference = statistics
        interval = log_ratio_intervals(
            compared, reference, [True], confidence=confidence
        )
        ratio, low, high = (
            float(column[0]) for column in (interval.ratio, interval.low, interval.high)
        )
        days = self.day_counts
        if min(days[version], days[reference_version]) < REPEATED_SESSIONS:
            return ratio, np.nan, np.nan
        return ratio, low, high

    @cached_property
    def day_counts(self) -> Counter[str]:
        """The number of days by version."""
        return Counter(runs[0].version for runs in self.runs_of_days)


@dataclass(frozen=True)
class Trend:
    case: Case
    subject: TrendSubject
    series: tuple[TrendSeries, ...]
    older_run_count: int = 0
    """Runs that are left out because they are older or have no date."""
    no_figure_reason: str = ""
    """The reason if the metric is not a speed, so versions have no ratio."""


def trend_subjects(viewer: Viewer, study: Study) -> tuple[TrendSubject, ...]:
    """Return the cases and hosts of a study, those with the most versions first.

    Trends also contain the runs of other visible studies.
    """
    study_cells = Cell.objects.filter(study=study, n__gt=0)
    # Subqueries would be evaluated for every cell.
    pairs = set(study_cells.values_list("case", "system__host"))
    visible_cells = Cell.objects.visible_to(viewer).filter(
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
    for row in visible_cells.values_list(*names):
        # The first nine columns are case, host and circumstances.
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
            version_count=max(map(len, versions.values()), default=0),
            is_dated=any(first_at for *_, first_at in rows),
        )
        measured.append(subject)
    return tuple(
        sorted(
            measured,
            key=lambda subject: (
                not subject.is_dated,
                -subject.version_count,
                subject.tool,
                natural_sort_key(subject.label),
                subject.host,
                natural_sort_key(str(subject.circumstances)),
                subject.case_id,
            ),
        )
    )


def read_trend(viewer: Viewer, subject: TrendSubject) -> Trend:
    circumstances = dict(zip(CIRCUMSTANCES, subject.circumstances, strict=True))
    measured = Cell.objects.visible_to(viewer).filter(
        case_id=subject.case_id, system__host_id=subject.host_id, **circumstances
    )
    cells = measured.select_related("system", "efficiency").in_bulk()
    with connection.cursor() as cursor:
        cursor.execute(LATEST_RUNS_SQL, [list(cells), MAX_RUNS])
        rows = cursor.fetchall()
    older = rows[0][-1] - len(rows) if rows else 0
    rows.sort(
        key=lambda row: (row[2] is None, row[2].timestamp() if row[2] else 0.0, row[1])
    )
    lines: dict[object, list[DatedRun]] = defaultdict(list)
    for cell_id, _, started_at, session_id, mean, _ in rows:
        cell = cells[cell_id]
        system = cell.system
        options = tuple(sorted(system.options.items()))
        identity = (*(getattr(system, name) for name in SERIES_FIELDS), options)
        run = DatedRun(started_at, mean, system.hypervisor_version, cell, session_id)
        lines[identity].append(run)
    series = [TrendSeries(line[-1].cell.system, tuple(line)) for line in lines.values()]
    series.sort(key=lambda line: (not line.system.is_native, line.system.label))
    case = Case.objects.get(pk=subject.case_id)
    efficiencies = (getattr(cell, "efficiency", None) for cell in cells.values())
    reasons = (
        efficiency.reason
        for efficiency in efficiencies
        if efficiency and efficiency.state == State.NO_SPEED
    )
    return Trend(case, subject, tuple(series), older, next(reasons, ""))


def _mean(runs: Sequence[DatedRun]) -> float:
    return sum(run.mean for run in runs) / len(runs)


def _points(groups: Sequence[Sequence[DatedRun]]) -> tuple[TrendPoint, ...]:
    members = [[run.mean for run in group] for group in groups]
    firsts = [group[0] for group in groups]
    statistics = RunStatistics.from_sums(
        [len(group) for group in members],
        [np.mean(group) for group in members],
        [np.var(group) * len(group) for group in members],
        [np.nan] * len(members),
    )
    ends = zip(*mean_interval_ends(statistics), strict=True)
    figures = map(_figure, groups)
    return tuple(
        TrendPoint(
            version=first.version,
            at=first.started_at,
            n=len(means),
            figure=figure,
            low=None if np.isnan(low) or figure.shape_codes else float(low),
            high=None if np.isnan(high) or figure.shape_codes else float(high),
        )
        for first, means, figure, (low, high) in zip(
            firsts, members, figures, ends, strict=True
        )
    )


def _figure(runs: Sequence[DatedRun]) -> CellFigure:
    cells = {run.cell.pk: run.cell for run in runs}
    if len(cells) == 1 and runs[0].cell.n == len(runs):
        return cell_figure(runs[0].cell)
    means = [run.mean for run in runs]
    if len(means) >= MIN_RUNS:
        steps = [cell.resolution for cell in cells.values() if cell.resolution]
        bands = [
            (cell.shape or {}).get("band", DEFAULT_BAND) for cell in cells.values()
        ]
        shape = find_shape(
            means,
            # Runs of unknown time do not share a session.
            sessions=[run.session_id or -run.cell.pk for run in runs],
            band=min(bands),
            resolution=max(steps, default=None),
            is_ordered=all(run.started_at for run in runs),
        )
        if shape.has_single_figure:
            return CellFigure(sum(means) / len(means))
        medians = tuple(mode.median for mode in shape.modes)
        return CellFigure(
            None,
            shape_codes=shape.shape_codes,
            reason=no_single_figure_sentence(shape.sentence),
            mode_medians=medians if len(medians) > 1 else (),
            range=(min(means), max(means)),
        )
    multimodal_cell = next((cell for cell in cells.values() if cell.shape_codes), None)
    if multimodal_cell is None or (len(means) == 1 and multimodal_cell.n >= MIN_RUNS):
        return CellFigure(sum(means) / len(means))
    return replace(
        cell_figure(multimodal_cell), mode_medians=(), range=(min(means), max(means))
    )
