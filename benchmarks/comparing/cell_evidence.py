"""The evidence behind one cell: runs, samples, baseline, sessions, printed tables."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import chain, groupby
from math import isfinite
from statistics import fmean
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Count, QuerySet, Value
from django.db.models.functions import Coalesce

from benchmarks.analysis.comparability import Comparability, Difference
from benchmarks.analysis.designs import SessionRatio, session_ratios
from benchmarks.analysis.gates import runs_for_width, width_sentence
from benchmarks.analysis.intervals import log_ratio_intervals
from benchmarks.analysis.sessions import BOOT, UNKNOWN_TIME, SessionRollups
from benchmarks.analysis.speeds import MIN_RUNS
from benchmarks.comparing.lights import (
    HostsCompared,
    Lights,
    beside_baseline,
    beside_hosts,
    system_facts,
)
from benchmarks.comparing.row import CIRCUMSTANCES, ComparisonRow
from benchmarks.comparing.rows import (
    Reference,
    compared_cells,
    comparison_row,
)
from benchmarks.comparing.verdicts import TWO_METERS, rollups_of, study_verdicts
from benchmarks.errors import NotFoundError
from benchmarks.models import (
    Case,
    Cell,
    CellSession,
    Flag,
    Run,
    Sample,
    Session,
    Study,
    System,
)
from benchmarks.models.run import IN_ORDER_OF_RUNS, RUNS_OF_CELLS, MeanInOrder, of_cells
from benchmarks.sentences import Sentence
from benchmarks.studies.flags import visible_flags
from benchmarks.studies.shaping import unordered_cells
from benchmarks.uploads.runs import visible_runs
from benchmarks.viewer import Viewer

SAMPLES_SHOWN = 5_000
KEY = ("study_id", "system_id", *CIRCUMSTANCES)

LINE = (
    *("run_id", "run__session__name", "run__sitting__name", "run__started_at"),
    *("run__clock", "sequence", "repetition", "value"),
)

RUNS_SHOWN = 100

SIZES = ("cores", "memory_bytes")

MOST_VALUES = 5_000


@dataclass(frozen=True, slots=True)
class RunSamples:
    """The samples of one run in order; its declared session until a check."""

    run_id: int
    session: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)


@dataclass(frozen=True, slots=True)
class CellSamples:
    """A cell's runs with their samples; ``is_ordered``: their order is known."""

    runs: tuple[RunSamples, ...] = ()
    is_cut: bool = False
    is_ordered: bool = True

    @property
    def count(self) -> int:
        return sum(len(run.values) for run in self.runs)

    @property
    def is_of_run_means(self) -> bool:
        return len(self.runs) >= MIN_RUNS

    @property
    def series(self) -> tuple[float, ...]:
        """What a cell's shape is found in: run means, or the iterations of few runs."""
        if self.is_of_run_means:
            return tuple(run.mean for run in self.runs)
        return tuple(value for run in self.runs for value in run.values)


@dataclass(frozen=True)
class RunValue:
    run: Run
    value: float
    samples: int


@dataclass(frozen=True)
class CellEvidence:
    """A cell's runs and those of its baseline, with the flags of both."""

    row: ComparisonRow
    cell: Cell
    baseline: Cell | None
    runs: tuple[RunValue, ...]
    baseline_runs: tuple[RunValue, ...]
    samples: CellSamples
    baseline_samples: CellSamples
    flags: tuple[Flag, ...] = ()
    tested: int = 0
    hosts: HostsCompared | None = None

    @cached_property
    def comparability(self) -> Comparability | None:
        """How far both sides may be compared, by the facts that both state."""
        if self.baseline is None:
            return None
        one, other = (
            _sent(value.run for value in runs)
            for runs in (self.runs, self.baseline_runs)
        )
        shared = one.keys() & other.keys()
        compared = beside_baseline(
            self.cell.study,
            self.cell.system,
            self.baseline.system,
            (_chosen(one, shared), _chosen(other, shared)),
        )
        return beside_hosts(compared, self.hosts) if self.hosts else compared


@dataclass(frozen=True)
class PrintedValue:
    """A number where it was printed; ``value`` is in the unit of the case."""

    run: Run
    case: Case
    repetition: int
    value: float

    @property
    def system(self) -> System:
        return self.run.system


@dataclass(frozen=True)
class PrintedTable:
    """A table of a document, with its numbers in the order of their uploads."""

    document: str
    table: str
    values: tuple[PrintedValue, ...]


def samples_of_cell(cell: Cell) -> QuerySet[Sample]:
    """Return the samples that a cell was summarised from."""
    same_run: dict[str, Any] = {f"run__{name}": getattr(cell, name) for name in KEY}
    same_run |= {"run__duplicate_of": None, "run__status": Run.Status.PARSED}
    return Sample.objects.filter(lab_id=cell.lab_id, case_id=cell.case_id, **same_run)


def sample_lines(cell: Cell) -> Iterator[tuple[Any, ...]]:
    """Yield all of a cell's samples as `LINE` has them, few in memory at a time."""
    ordered = samples_of_cell(cell).order_by(*IN_ORDER_OF_RUNS, "sequence")
    return ordered.values_list(*LINE).iterator(chunk_size=SAMPLES_SHOWN)


def cell_samples(cell: Cell | None) -> CellSamples:
    """Return at most ``SAMPLES_SHOWN`` samples of whole runs, in one query."""
    if cell is None:
        return CellSamples()
    ordered = samples_of_cell(cell).order_by(*IN_ORDER_OF_RUNS, "sequence")
    session = Coalesce("run__sitting__name", "run__session__name", Value(""))
    rows = ordered.values_list("run_id", session, "value")
    samples = list(rows[: SAMPLES_SHOWN + 1])
    is_cut = len(samples) > SAMPLES_SHOWN
    grouped = groupby(samples[:SAMPLES_SHOWN], key=lambda row: (row[0], row[1]))
    runs = tuple(
        RunSamples(run_id, session, tuple(row[2] for row in members))
        for (run_id, session), members in grouped
    )
    # The first sample left out is of the last run shown: that run is cut in two.
    if is_cut and len(runs) > 1 and samples[-1][0] == runs[-1].run_id:
        runs = runs[:-1]
    return CellSamples(runs, is_cut)


def evidence(
    viewer: Viewer, study: Study, cell_id: int, reference_id: int | None
) -> CellEvidence:
    """Return a cell's evidence, to native or a chosen system, or NotFoundError."""
    cells = compared_cells(viewer, study=study, filters={"pk": cell_id})
    cell = cells.first()
    if cell is None:
        raise NotFoundError(Sentence("cell"), cell_id)
    reference = None
    if reference_id is not None:
        system = System.objects.filter(cells__study=study, pk=reference_id).first()
        if system is None:
            raise NotFoundError(Sentence("system"), reference_id)
        reference = Reference.of(cell.study, system)
        same = ("case_id", "study_id", *CIRCUMSTANCES)
        wanted = {name: getattr(cell, name) for name in same}
        wanted["system_id"] = system.pk
    else:
        stored = getattr(cell, "efficiency", None)
        wanted = {"pk": stored.baseline_id if stored else None}
    # The whole study for one cell: its verdict is corrected for all others.
    verdicts = study_verdicts(study, reference.system if reference else None)
    # The viewer may not be allowed to see what a cell was compared with; a cell of the
    # chosen system would be compared with itself.
    visible = Cell.objects.visible_to(viewer).filter(**wanted).exclude(pk=cell.pk)
    baseline = visible.select_related("system__host", "study__lab", "case").first()
    sides = [side.system for side in (cell, baseline) if side is not None]
    lights = Lights(study, {system.pk: system for system in sides}, reference)
    row = comparison_row(cell, reference, verdicts.of(cell.pk), lights)
    unordered = unordered_cells([cell.pk, *([baseline.pk] if baseline else [])])
    samples, baseline_samples = (
        replace(cell_samples(side), is_ordered=not side or side.pk not in unordered)
        for side in (cell, baseline)
    )
    means = _run_means(cell, samples), _run_means(baseline, baseline_samples)
    run_ids = [pk for side in means for pk, _mean, _n in side]
    runs = visible_runs(viewer, pk__in=run_ids).in_bulk()
    own, other = (
        tuple(RunValue(runs[pk], mean, n) for pk, mean, n in side if pk in runs)
        for side in means
    )
    ids = [side.pk for side in (cell, baseline) if side is not None]
    return CellEvidence(
        row=row,
        cell=cell,
        baseline=baseline,
        runs=own,
        baseline_runs=other,
        samples=samples,
        baseline_samples=baseline_samples,
        flags=tuple(visible_flags(viewer, cells__in=ids).distinct()),
        tested=verdicts.tested,
        hosts=reference.hosts.get(cell.system.host_id) if reference else None,
    )


def _run_means(cell: Cell | None, samples: CellSamples) -> list[tuple[int, float, int]]:
    if cell is None:
        return []
    # Samples that were cut lack whole runs: their means come from the database.
    if not samples.is_cut:
        runs = samples.runs[:RUNS_SHOWN]
        return [(run.run_id, run.mean, len(run.values)) for run in runs]
    values = samples_of_cell(cell).values_list("run")
    means = values.annotate(mean=MeanInOrder(), count=Count("value"))
    return list(means.order_by(*IN_ORDER_OF_RUNS)[:RUNS_SHOWN])


def stated_differences(evidence: CellEvidence) -> tuple[Difference, ...]:
    """Return facts that both sides state differently, unstudied ones."""
    if evidence.baseline is None or evidence.comparability is None:
        return ()
    systems = (evidence.cell.system, evidence.baseline.system)
    named = {*chain.from_iterable(map(system_facts, systems)), *SIZES}
    return tuple(
        fact
        for fact in evidence.comparability.unwanted
        if fact.one and fact.other and fact.name in named
    )


def _sent(runs: Iterable[Run]) -> dict[str, str]:
    """Return the facts on which all runs of a side agree."""
    sides = [
        {
            name: str(value)
            for name, value in run.facts.items()
            if not isinstance(value, dict | list) and name != BOOT
        }
        for run in runs
    ]
    first = sides[0] if sides else {}
    return {
        name: value
        for name, value in first.items()
        if all(side.get(name) == value for side in sides)
    }


def _chosen(facts: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: facts[name] for name in names}


def width_advice(cell: Cell, baseline: Cell, half_width: float) -> str:
    """Say how many more runs narrow the interval; nothing where spread is unknown."""
    if min(cell.n, baseline.n) < 2 or cell.shape_codes or baseline.shape_codes:
        return ""
    own, other = rollups_of([cell]), rollups_of([baseline])
    wanted = int(runs_for_width(own, other, half_width)[0])
    return width_sentence(min(cell.n, baseline.n), wanted, half_width)


def printed_tables(viewer: Viewer, study: Study) -> tuple[PrintedTable, ...]:
    """Return a study's numbers by document and table; live runs have neither."""
    runs = (
        Run.objects.visible_to(viewer)
        .filter(study=study, status=Run.Status.PARSED)
        .exclude(document="")
    )
    samples = Sample.objects.filter(lab=study.lab_id, run__in=runs)
    printed = samples.select_related("run__system__host", "case")
    by_place: dict[tuple[str, str], list[PrintedValue]] = {}
    for sample in printed.order_by("run", "sequence")[:MOST_VALUES]:
        run = sample.run
        value = PrintedValue(run, sample.case, sample.repetition, sample.value)
        by_place.setdefault((run.document, run.table), []).append(value)
    return tuple(
        PrintedTable(*place, tuple(values)) for place, values in by_place.items()
    )


Side = dict[int | None, CellSession]


@dataclass(frozen=True)
class Sitting:
    """A session of a cell, of its baseline or of both; None: runs of unknown time.

    ``ratio`` is between both sides in this session, or, if ``is_across_days``, between
    the cell's session and all runs of the baseline.
    """

    session: Session | None
    own: CellSession | None
    other: CellSession | None
    ratio: SessionRatio | None = None
    is_across_days: bool = False

    @property
    def has_interval(self) -> bool:
        return self.ratio is not None and isfinite(self.ratio.low)


def cell_sittings(cell: Cell, baseline: Cell | None) -> tuple[Sitting, ...]:
    """Return the sessions of both sides in order of time, in one query."""
    cells = [cell] if baseline is None else [cell, baseline]
    stored = CellSession.objects.filter(cell__in=cells).select_related("session")
    rows = sorted(
        stored,
        key=lambda row: (row.first_at is None, row.first_at, row.session_id or 0),
    )
    own = {row.session_id: row for row in rows if row.cell_id == cell.pk}
    other = {row.session_id: row for row in rows if row.cell_id != cell.pk}
    shared = own.keys() & other.keys() - {None}
    ratios: dict[int | None, SessionRatio] = {}
    if baseline is not None and cell.case.better:
        ratios = _ratios(cell, baseline, own, other)
    return tuple(
        Sitting(
            session=session,
            own=own.get(pk),
            other=other.get(pk),
            ratio=ratios.get(pk),
            is_across_days=not shared,
        )
        for pk, session in {row.session_id: row.session for row in rows}.items()
    )


def _ratios(
    cell: Cell, baseline: Cell, own: Side, other: Side
) -> dict[int | None, SessionRatio]:
    sides = _rollups(cell, own), _rollups(baseline, other)
    one, another = (side.setting.get("meter") for side in (cell, baseline))
    extra = TWO_METERS if one and another and one != another else 0.0
    is_higher_better = cell.case.better == "higher"
    paired = session_ratios(
        *sides, higher_is_better=is_higher_better, extra_log_variance=extra
    )
    if paired:
        return {ratio.session: ratio for ratio in paired}
    ours = sides[0]
    theirs = rollups_of([baseline]).take(np.zeros(ours.n.size, dtype=np.int64))
    intervals = log_ratio_intervals(
        ours.rollups, theirs, is_higher_better, extra_log_variance=extra
    )
    columns = (
        *(ours.session, intervals.ratio, intervals.low, intervals.high),
        *(ours.n, theirs.n),
    )
    found = (
        SessionRatio(*values)
        for values in zip(*(column.tolist() for column in columns), strict=True)
    )
    return {each.session: each for each in found if each.session != UNKNOWN_TIME}


def _rollups(cell: Cell, sessions: Side) -> SessionRollups:
    rows = list(sessions.values())
    return SessionRollups.of(
        [0] * len(rows),
        [row.session_id or UNKNOWN_TIME for row in rows],
        [row.n for row in rows],
        [row.mean for row in rows],
        [row.m2 for row in rows],
        [row.minimum for row in rows],
        [row.maximum for row in rows],
        [np.nan if row.rho is None else row.rho for row in rows],
        np.nan if cell.resolution is None else cell.resolution,
    )


COUNTED = f"""
    {of_cells("cell.id = ANY(%s)", "tool", "tool_version")}
    SELECT run.tool, run.tool_version, run.sitting_id, count(DISTINCT run.id),
           count(DISTINCT run.id) FILTER (WHERE run.started_at IS NULL),
           min(run.started_at), max(run.started_at)
    {RUNS_OF_CELLS}
    GROUP BY run.tool, run.tool_version, run.sitting_id
    ORDER BY run.tool, run.tool_version
"""


@dataclass(frozen=True)
class RunsBehind:
    """How many runs, sessions and undated runs, and the tools' versions."""

    runs: int = 0
    sessions: int = 0
    undated: int = 0
    first: datetime | None = None
    last: datetime | None = None
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def runs_behind(cells: Collection[int]) -> RunsBehind:
    """Return what stands behind these cells, in one query. A run counts once."""
    with connection.cursor() as cursor:
        cursor.execute(COUNTED, [list(cells)])
        lines = cursor.fetchall()
    versions: dict[str, tuple[str, ...]] = {}
    for tool, version, *_rest in lines:
        known = versions.get(tool, ())
        versions[tool] = known if version in known else (*known, version)
    begun = [moment for line in lines for moment in line[5:] if moment]
    return RunsBehind(
        runs=sum(line[3] for line in lines),
        sessions=len({line[2] for line in lines} - {None}),
        undated=sum(line[4] for line in lines),
        first=min(begun, default=None),
        last=max(begun, default=None),
        versions=versions,
    )
