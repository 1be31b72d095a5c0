"""Details of one cell for its page: runs, samples, sessions and printed tables."""

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

from benchmarks.analysis.bimodality import MIN_RUNS
from benchmarks.analysis.comparability import Comparability, Difference
from benchmarks.analysis.interleaved_runs import find_interleaved
from benchmarks.analysis.intervals import log_ratio_intervals
from benchmarks.analysis.required_runs import runs_for_width, width_sentence
from benchmarks.analysis.run_vectors import RunVectors
from benchmarks.analysis.session_intervals import SessionRatio, session_ratios
from benchmarks.analysis.sessions import BOOT_FACT, UNKNOWN_TIME, SessionStatistics
from benchmarks.comparison.comparison_row import CIRCUMSTANCES, ComparisonRow
from benchmarks.comparison.row_queries import (
    ReferenceCells,
    compared_cells,
    comparison_row,
)
from benchmarks.comparison.study_verdicts import (
    TWO_METERS_LOG_VARIANCE,
    StudyVerdicts,
    cell_statistics,
    study_verdicts,
)
from benchmarks.comparison.system_comparability import (
    ComparabilityCache,
    HostComparison,
    compare_with_baseline,
    system_facts,
    with_host_comparison,
)
from benchmarks.errors import NotFoundError
from benchmarks.models import (
    Case,
    Cell,
    CellSession,
    Flag,
    Run,
    RunMean,
    Sample,
    Session,
    Study,
    System,
)
from benchmarks.models.run import (
    RUN_ORDERING,
    RUNS_OF_CELLS_SQL,
    OrderedMean,
    counted_runs,
    runs_of_cells_sql,
)
from benchmarks.parsing.tool import (
    find_percentile,
    summarized_metric,
    summary_rank,
    without_percentile,
)
from benchmarks.sentences import Sentence
from benchmarks.studies.cell_shapes import unordered_cells
from benchmarks.studies.flags import visible_flags
from benchmarks.uploads.run_queries import visible_runs
from benchmarks.viewer import Viewer

MAX_SAMPLES = 5_000
CELL_KEY_FIELDS = ("study_id", "system_id", *CIRCUMSTANCES)

SAMPLE_FIELDS = (
    *("run_id", "run__declared_session__name", "run__session__name"),
    *("run__started_at", "run__clock", "sequence", "repetition", "value"),
)

MAX_RUNS_LISTED = 100

SIZE_FACTS = ("cores", "memory_bytes")

MAX_PRINTED_VALUES = 5_000


@dataclass(frozen=True, slots=True)
class RunSamples:
    run_id: int
    session: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)


@dataclass(frozen=True, slots=True)
class CellSamples:
    runs: tuple[RunSamples, ...] = ()
    is_truncated: bool = False
    is_ordered: bool = True

    @property
    def sample_count(self) -> int:
        return sum(len(run.values) for run in self.runs)

    @property
    def uses_run_means(self) -> bool:
        return len(self.runs) >= MIN_RUNS

    @property
    def series(self) -> tuple[float, ...]:
        if self.uses_run_means:
            return tuple(run.mean for run in self.runs)
        return tuple(value for run in self.runs for value in run.values)


@dataclass(frozen=True)
class RunValue:
    run: Run
    value: float
    sample_count: int
    summarized_runs: int | None = None
    standard_deviation: float | None = None


@dataclass(frozen=True)
class CellDetails:
    row: ComparisonRow
    cell: Cell
    baseline: Cell | None
    runs: tuple[RunValue, ...]
    baseline_runs: tuple[RunValue, ...]
    samples: CellSamples
    baseline_samples: CellSamples
    flags: tuple[Flag, ...] = ()
    tested_count: int = 0
    host_comparison: HostComparison | None = None
    failed_runs: tuple[Run, ...] = ()
    distribution: tuple[ComparisonRow, ...] = ()
    """The summaries of this test's latencies, such as mean and p99, in order."""

    @cached_property
    def comparability(self) -> Comparability | None:
        if self.baseline is None:
            return None
        own_facts, baseline_facts = (
            _common_run_facts(value.run for value in runs)
            for runs in (self.runs, self.baseline_runs)
        )
        shared = own_facts.keys() & baseline_facts.keys()
        compared = compare_with_baseline(
            self.cell.study,
            self.cell.system,
            self.baseline.system,
            (_select_facts(own_facts, shared), _select_facts(baseline_facts, shared)),
        )
        return (
            with_host_comparison(compared, self.host_comparison)
            if self.host_comparison
            else compared
        )


@dataclass(frozen=True)
class PrintedValue:
    run: Run
    case: Case
    repetition: int
    value: float

    @property
    def system(self) -> System:
        return self.run.system


@dataclass(frozen=True)
class PrintedTable:
    document: str
    table: str
    values: tuple[PrintedValue, ...]


def samples_of_cell(cell: Cell) -> QuerySet[Sample]:
    same_run = {f"run__{name}": getattr(cell, name) for name in CELL_KEY_FIELDS}
    samples = Sample.objects.filter(lab_id=cell.lab_id, case_id=cell.case_id)
    return samples.filter(counted_runs("run__"), **same_run)


def iter_samples(cell: Cell) -> Iterator[tuple[Any, ...]]:
    """Yield all of a cell's samples with few in memory at a time."""
    ordered = samples_of_cell(cell).order_by(*RUN_ORDERING, "sequence")
    return ordered.values_list(*SAMPLE_FIELDS).iterator(chunk_size=MAX_SAMPLES)


def cell_samples(cell: Cell | None) -> CellSamples:
    """Return at most ``MAX_SAMPLES`` samples, of whole runs if there are several."""
    if cell is None:
        return CellSamples()
    ordered = samples_of_cell(cell).order_by(*RUN_ORDERING, "sequence")
    session = Coalesce("run__session__name", "run__declared_session__name", Value(""))
    rows = ordered.values_list("run_id", session, "value")
    samples = list(rows[: MAX_SAMPLES + 1])
    is_cut = len(samples) > MAX_SAMPLES
    grouped = groupby(samples[:MAX_SAMPLES], key=lambda row: (row[0], row[1]))
    runs = tuple(
        RunSamples(run_id, session, tuple(row[2] for row in members))
        for (run_id, session), members in grouped
    )
    if is_cut and len(runs) > 1 and samples[-1][0] == runs[-1].run_id:
        runs = runs[:-1]
    return CellSamples(runs, is_cut)


def cell_details(
    viewer: Viewer, study: Study, cell_id: int, reference_id: int | None
) -> CellDetails:
    """Compare a cell with its baseline or with a chosen system.

    Raise NotFoundError for an unknown cell or system.
    """
    cells = compared_cells(viewer, study=study, filters={"pk": cell_id})
    cell = cells.first()
    if cell is None:
        raise NotFoundError(Sentence("result"), cell_id)
    reference = None
    if reference_id is not None:
        system = System.objects.filter(cells__study=study, pk=reference_id).first()
        if system is None:
            raise NotFoundError(Sentence("system"), reference_id)
        reference = ReferenceCells.load(cell.study, system)
        same = ("case_id", "study_id", *CIRCUMSTANCES)
        baseline_filter = {name: getattr(cell, name) for name in same}
        baseline_filter["system_id"] = system.pk
    else:
        stored = getattr(cell, "efficiency", None)
        baseline_filter = {"pk": stored.baseline_id if stored else None}
    # The verdict is corrected for all cells of the study.
    verdicts = study_verdicts(study, reference.system if reference else None)
    # The viewer may not see the baseline; a cell of the chosen system must not be
    # compared with itself.
    visible = (
        Cell.objects.visible_to(viewer).filter(**baseline_filter).exclude(pk=cell.pk)
    )
    baseline = visible.select_related("system__host", "study__lab", "case").first()
    sides = [side.system for side in (cell, baseline) if side is not None]
    comparability = ComparabilityCache(
        study, {system.pk: system for system in sides}, reference
    )
    row = comparison_row(cell, reference, verdicts.assessment(cell.pk), comparability)
    unordered = unordered_cells([cell.pk, *([baseline.pk] if baseline else [])])
    samples, baseline_samples = (
        replace(cell_samples(side), is_ordered=not side or side.pk not in unordered)
        for side in (cell, baseline)
    )
    means = _run_means(cell, samples), _run_means(baseline, baseline_samples)
    run_ids = [pk for side in means for pk, _mean, _n in side]
    runs = visible_runs(viewer, pk__in=run_ids).in_bulk()
    own_runs, baseline_runs = (
        tuple(
            RunValue(runs[pk], mean, n, *summaries.get(pk, ()))
            for pk, mean, n in side
            if pk in runs
        )
        for side, summaries in zip(
            means, map(_summaries, (cell, baseline)), strict=True
        )
    )
    ids = [side.pk for side in (cell, baseline) if side is not None]
    return CellDetails(
        row=row,
        cell=cell,
        baseline=baseline,
        runs=own_runs,
        baseline_runs=baseline_runs,
        samples=samples,
        baseline_samples=baseline_samples,
        flags=tuple(visible_flags(viewer, cells__in=ids).distinct()),
        tested_count=verdicts.tested_count,
        host_comparison=reference.hosts.get(cell.system.host_id) if reference else None,
        failed_runs=_failed_runs(cell),
        distribution=_distribution(viewer, cell, reference, verdicts),
    )


def _summaries(cell: Cell | None) -> Mapping[int, tuple[int, float | None]]:
    """Return number and deviation of the runs behind each published mean."""
    if cell is None or not cell.summarized_runs:
        return {}
    means = RunMean.objects.filter(
        lab=cell.lab_id,
        case=cell.case_id,
        run__study=cell.study_id,
        run__system=cell.system_id,
        summarized_runs__isnull=False,
    )
    rows = means.values_list("run_id", "summarized_runs", "standard_deviation")
    return {pk: (n, deviation) for pk, n, deviation in rows if n is not None}


def _failed_runs(cell: Cell) -> tuple[Run, ...]:
    if not cell.failed_runs:
        return ()
    same = {name: getattr(cell, name) for name in CELL_KEY_FIELDS}
    means = RunMean.objects.filter(lab=cell.lab_id, case=cell.case_id)
    runs = Run.objects.failed().filter(
        **same, status=Run.Status.PARSED, duplicate_of=None
    )
    failed = runs.filter(pk__in=means.filter(run__in=runs).values("run_id"))
    return tuple(failed.order_by("started_at", "pk")[:MAX_RUNS_LISTED])


def _distribution(
    viewer: Viewer,
    cell: Cell,
    reference: ReferenceCells | None,
    verdicts: StudyVerdicts,
) -> tuple[ComparisonRow, ...]:
    """Return the cells that summarize the same distribution, if one is a percentile."""
    case = cell.case
    name = summarized_metric(case.metric)
    if name == case.metric or case.better != "lower":
        return ()
    stated = without_percentile(case.parameters)
    same = {
        name: getattr(cell, name) for name in ("study_id", "system_id", *CIRCUMSTANCES)
    }
    measured = Cell.objects.filter(case__tool=case.tool, n__gt=0, **same)
    named = measured.values_list("pk", "case__metric", "case__parameters")
    ranks = {
        pk: summary_rank(metric, parameters)
        for pk, metric, parameters in named
        if summarized_metric(metric) == name
        and without_percentile(parameters) == stated
    }
    cells = compared_cells(viewer, filters={"pk__in": list(ranks)})
    rows = [
        comparison_row(other, reference, verdicts.assessment(other.pk))
        for other in sorted(cells, key=lambda other: (ranks[other.pk], other.pk))
    ]
    cases = (row.case for row in rows)
    if not any(find_percentile(case.metric, case.parameters) for case in cases):
        return ()
    return tuple(rows)


def _run_means(cell: Cell | None, samples: CellSamples) -> list[tuple[int, float, int]]:
    if cell is None:
        return []
    # Truncated samples lack whole runs.
    if not samples.is_truncated:
        runs = samples.runs[:MAX_RUNS_LISTED]
        return [(run.run_id, run.mean, len(run.values)) for run in runs]
    values = samples_of_cell(cell).values_list("run")
    means = values.annotate(mean=OrderedMean(), count=Count("value"))
    return list(means.order_by(*RUN_ORDERING)[:MAX_RUNS_LISTED])


def fact_differences(details: CellDetails) -> tuple[Difference, ...]:
    if details.baseline is None or details.comparability is None:
        return ()
    systems = (details.cell.system, details.baseline.system)
    known_facts = {*chain.from_iterable(map(system_facts, systems)), *SIZE_FACTS}
    return tuple(
        fact
        for fact in details.comparability.unwanted
        if fact.first and fact.second and fact.name in known_facts
    )


def _common_run_facts(runs: Iterable[Run]) -> dict[str, str]:
    facts_by_run = [
        {
            name: str(value)
            for name, value in run.facts.items()
            if not isinstance(value, dict | list) and name != BOOT_FACT
        }
        for run in runs
    ]
    first_facts = facts_by_run[0] if facts_by_run else {}
    return {
        name: value
        for name, value in first_facts.items()
        if all(facts.get(name) == value for facts in facts_by_run)
    }


def _select_facts(facts: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: facts[name] for name in names}


def width_advice(cell: Cell, baseline: Cell, half_width: float) -> str:
    """Return a sentence: how many runs narrow the interval of the ratio to
    ``half_width``.

    It is empty without repeated runs or a single figure.
    """
    if min(cell.n, baseline.n) < 2 or cell.shape_codes or baseline.shape_codes:
        return ""
    if cell.summarized_runs or baseline.summarized_runs:
        return ""
    own_statistics = cell_statistics([cell])
    baseline_statistics = cell_statistics([baseline])
    needed = int(runs_for_width(own_statistics, baseline_statistics, half_width)[0])
    runs = min(cell.n, baseline.n)
    if needed <= runs:
        return width_sentence(runs, needed, half_width)
    return Sentence(
        "With {n} runs of each system in one session, the confidence interval would be "
        "within ±{percent:g}%.",
        n=needed,
        percent=100 * half_width,
    )


def printed_tables(viewer: Viewer, study: Study) -> tuple[PrintedTable, ...]:
    runs = (
        Run.objects.visible_to(viewer)
        .filter(study=study, status=Run.Status.PARSED)
        .exclude(document="")
    )
    samples = Sample.objects.filter(lab=study.lab_id, run__in=runs)
    printed = samples.select_related("run__system__host", "case")
    by_table: dict[tuple[str, str], list[PrintedValue]] = {}
    for sample in printed.order_by("run", "sequence")[:MAX_PRINTED_VALUES]:
        run = sample.run
        value = PrintedValue(run, sample.case, sample.repetition, sample.value)
        by_table.setdefault((run.document, run.table), []).append(value)
    return tuple(PrintedTable(*key, tuple(values)) for key, values in by_table.items())


CellSessions = dict[int | None, CellSession]


@dataclass(frozen=True)
class SessionComparison:
    """A session of a cell, of its baseline, or of both.

    ``session`` is None for runs of unknown time. If ``is_across_sessions``, the ratio
    is relative to all runs of the baseline.
    """

    session: Session | None
    cell_session: CellSession | None
    baseline_session: CellSession | None
    ratio: SessionRatio | None = None
    is_across_sessions: bool = False

    @property
    def has_interval(self) -> bool:
        return self.ratio is not None and isfinite(self.ratio.low)


def session_comparisons(
    cell: Cell, baseline: Cell | None
) -> tuple[SessionComparison, ...]:
    cells = [cell] if baseline is None else [cell, baseline]
    stored = (
        CellSession.objects.filter(cell__in=cells)
        .select_related("session")
        .prefetch_related("session__counted_sessions")
    )
    rows = sorted(
        stored,
        key=lambda row: (row.first_at is None, row.first_at, row.session_id or 0),
    )
    own_sessions = {row.session_id: row for row in rows if row.cell_id == cell.pk}
    baseline_sessions = {row.session_id: row for row in rows if row.cell_id != cell.pk}
    shared = own_sessions.keys() & baseline_sessions.keys() - {None}
    ratios: dict[int | None, SessionRatio] = {}
    if baseline is not None and cell.case.better:
        ratios = _ratios(cell, baseline, own_sessions, baseline_sessions)
    return tuple(
        SessionComparison(
            session=session,
            cell_session=own_sessions.get(pk),
            baseline_session=baseline_sessions.get(pk),
            ratio=ratios.get(pk),
            is_across_sessions=not shared,
        )
        for pk, session in {row.session_id: row.session for row in rows}.items()
    )


def _ratios(
    cell: Cell,
    baseline: Cell,
    own_sessions: CellSessions,
    baseline_sessions: CellSessions,
) -> dict[int | None, SessionRatio]:
    sides = (
        _session_statistics(cell, own_sessions),
        _session_statistics(baseline, baseline_sessions),
    )
    own_meter, baseline_meter = (
        side.common_facts.get("meter") for side in (cell, baseline)
    )
    extra = (
        TWO_METERS_LOG_VARIANCE
        if own_meter and baseline_meter and own_meter != baseline_meter
        else 0.0
    )
    is_higher_better = cell.case.better == "higher"
    paired = session_ratios(
        *sides,
        higher_is_better=is_higher_better,
        extra_log_variance=extra,
        interleaved=find_interleaved(
            _run_vectors(own_sessions), _run_vectors(baseline_sessions)
        ),
    )
    if paired:
        return {ratio.session: ratio for ratio in paired}
    own_statistics = sides[0]
    baseline_statistics = cell_statistics([baseline]).take(
        np.zeros(own_statistics.n.size, dtype=np.int64)
    )
    intervals = log_ratio_intervals(
        own_statistics.run_statistics,
        baseline_statistics,
        is_higher_better,
        extra_log_variance=extra,
    )
    columns = (
        *(own_statistics.session, intervals.ratio, intervals.low, intervals.high),
        *(own_statistics.n, baseline_statistics.n),
    )
    across = (
        SessionRatio(*values)
        for values in zip(*(column.tolist() for column in columns), strict=True)
    )
    return {ratio.session: ratio for ratio in across if ratio.session != UNKNOWN_TIME}


def _run_vectors(sessions: CellSessions) -> RunVectors:
    ordered = sorted(sessions.values(), key=lambda row: row.session_id or UNKNOWN_TIME)
    means, starts = (
        np.frombuffer(b"".join(packed), ">f8").astype(float)
        for packed in (
            [row.run_means for row in ordered],
            [row.run_starts for row in ordered],
        )
    )
    known_ids = [row.session_id or UNKNOWN_TIME for row in ordered]
    counts = [len(row.run_means) // 8 for row in ordered]
    one_row = np.zeros(means.size, dtype=np.int64)
    sessions_of_runs = np.repeat(np.array(known_ids, dtype=np.int64), counts)
    return RunVectors(
        one_row, sessions_of_runs, means, starts, np.zeros(1, dtype=np.int64)
    )


def _session_statistics(cell: Cell, sessions: CellSessions) -> SessionStatistics:
    rows = list(sessions.values())
    return SessionStatistics.from_sums(
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


RUN_COUNTS_SQL = f"""
    {runs_of_cells_sql("cell.id = ANY(%s)", "tool", "tool_version")}
    SELECT run.tool, run.tool_version, run.session_id, count(DISTINCT run.id),
           count(DISTINCT run.id) FILTER (WHERE run.started_at IS NULL),
           min(run.started_at), max(run.started_at)
    {RUNS_OF_CELLS_SQL}
    GROUP BY run.tool, run.tool_version, run.session_id
    ORDER BY run.tool, run.tool_version
"""


@dataclass(frozen=True)
class RunCounts:
    runs: int = 0
    sessions: int = 0
    undated_runs: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    tool_versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def count_runs(cells: Collection[int]) -> RunCounts:
    with connection.cursor() as cursor:
        cursor.execute(RUN_COUNTS_SQL, [list(cells)])
        rows = cursor.fetchall()
    versions: dict[str, tuple[str, ...]] = {}
    for tool, version, *_rest in rows:
        tool_versions = versions.get(tool, ())
        versions[tool] = (
            tool_versions if version in tool_versions else (*tool_versions, version)
        )
    starts = [moment for row in rows for moment in row[5:] if moment]
    return RunCounts(
        runs=sum(row[3] for row in rows),
        sessions=len({row[2] for row in rows} - {None}),
        undated_runs=sum(row[4] for row in rows),
        first_at=min(starts, default=None),
        last_at=max(starts, default=None),
        tool_versions=versions,
    )
