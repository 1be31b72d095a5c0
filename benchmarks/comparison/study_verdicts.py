"""Intervals, verdicts and gates of all cells of a study.

They are computed on request, because a verdict depends on all cells, on flags and on
the chosen baseline.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from benchmarks.analysis.assessment import (
    CellAssessment,
    TableRatio,
    cell_assessment,
    table_ratios,
)
from benchmarks.analysis.comparability import MACHINE_FACTS
from benchmarks.analysis.energy_ratio import GAIN_ERROR, gain_log_variance, gain_margin
from benchmarks.analysis.intervals import Floats, RunStatistics, known_ranges
from benchmarks.analysis.run_vectors import RunVectors
from benchmarks.analysis.session_intervals import may_alternate
from benchmarks.analysis.sessions import AGENT_SESSION_NAME, SessionStatistics
from benchmarks.analysis.verdict_gates import (
    SHAPE_GATES,
    Gate,
    gates_from_issues,
    gates_from_states,
)
from benchmarks.analysis.verdict_reasons import NO_FACTS, SideFacts
from benchmarks.analysis.verdicts import (
    AssessmentArrays,
    EvidenceLevel,
    IntervalStyle,
    Verdict,
    assess_cells,
    correct_for_multiple_tests,
)
from benchmarks.comparison.comparison_row import ComparisonRow, State
from benchmarks.comparison.reason_facts import side_facts
from benchmarks.comparison.system_comparability import ReferenceSystem
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.jobs.queue import OWN_CHECK_SQL
from benchmarks.models import (
    Case,
    Cell,
    CellSession,
    Efficiency,
    Job,
    Session,
    Study,
    System,
)
from benchmarks.parsing.tool import (
    Percentile,
    find_percentile,
    summarized_metric,
    without_percentile,
)
from benchmarks.studies.cell_session_statistics import (
    SessionColumns,
    cell_runs,
    cell_sessions,
    columns_sql,
    read_columns,
    study_sessions,
)

STATISTICS_FIELDS = ("n", "mean", "m2")
RANGE_FIELDS = ("minimum", "maximum")
SHIFT_FIELD = "order_shift"
TABLE_ALIASES = ("cell", "baseline")
DAY_S = 86_400
TEXT_SEPARATOR = ";"
GATES_WITH_FACTS = int(SHAPE_GATES | Gate.FLAGGED | Gate.CLOCK_SUSPECT)
# For sides with different meters. The gain error of a shared meter cancels.
TWO_METERS_LOG_VARIANCE = gain_log_variance(GAIN_ERROR, GAIN_ERROR)


class CellVerdict(NamedTuple):
    verdict: str
    is_flagged: bool
    interval_style: str = ""
    is_weak: bool = False
    evidence_level: str = ""
    has_suspect_clock: bool = False
    """Whether its clock, or that of its baseline, cannot be trusted."""

    @classmethod
    def from_assessment(cls, assessment: CellAssessment) -> "CellVerdict":
        return cls(
            assessment.verdict,
            is_flagged=Gate.FLAGGED.code in assessment.reason_codes,
            interval_style=assessment.interval_style,
            is_weak=assessment.is_weak,
            evidence_level=assessment.evidence_level,
            has_suspect_clock=Gate.CLOCK_SUSPECT.code in assessment.reason_codes,
        )


CELL_VERDICTS = {
    (int(verdict), flagged, int(strength), weak, int(level), suspect): CellVerdict(
        verdict.slug, flagged, strength.slug, weak, level.name.lower(), suspect
    )
    for verdict in Verdict
    for flagged in (False, True)
    for strength in IntervalStyle
    for weak in (False, True)
    for level in EvidenceLevel
    for suspect in (False, True)
}


@dataclass(frozen=True)
class StudyVerdicts:
    row_by_cell: Mapping[int, int]
    assessments: AssessmentArrays
    sessions: SessionColumns | None = None
    baseline_ids: NDArray[np.int64] | None = None
    study_id: int = 0
    known_facts: dict[int, SideFacts] = field(default_factory=dict)
    """Facts by cell, which verdicts of one study may share."""

    def assessment(self, cell_id: int) -> CellAssessment | None:
        """Return None if the cell is not processed yet."""
        row = self.row_by_cell.get(cell_id)
        if row is None:
            return None
        baseline_id = 0 if self.baseline_ids is None else int(self.baseline_ids[row])
        facts = (
            self._side_facts.get(cell_id, NO_FACTS),
            self._side_facts.get(baseline_id, NO_FACTS),
        )
        return cell_assessment(self.assessments, row, self.session_days, facts)

    @cached_property
    def _side_facts(self) -> Mapping[int, SideFacts]:
        """The flags, shapes and clocks that cause gates, by cell."""
        has_gate = ((self.assessments.gates & GATES_WITH_FACTS) != 0).tolist()
        ids = {pk for pk, row in self.row_by_cell.items() if has_gate[row]}
        if self.baseline_ids is not None:
            ids |= {int(self.baseline_ids[self.row_by_cell[pk]]) for pk in ids}
        if missing := ids - self.known_facts.keys() - {0}:
            self.known_facts.update(side_facts(self.study_id, missing))
        return self.known_facts

    @cached_property
    def cells_being_checked(self) -> frozenset[int]:
        is_unchecked = self.assessments.gates & int(Gate.BEING_CHECKED) != 0
        ids = np.fromiter(self.row_by_cell, dtype=np.int64, count=len(is_unchecked))
        return frozenset(ids[is_unchecked].tolist())

    @cached_property
    def session_days(self) -> dict[int, str]:
        return self.sessions.days if self.sessions else {}

    def table_ratios(self) -> dict[int, TableRatio]:
        ratios = table_ratios(self.assessments)
        ids = list(self.row_by_cell)
        return {ids[row]: ratio for row, ratio in ratios.items()}

    def cell_verdicts(self) -> dict[int, CellVerdict]:
        arrays = self.assessments
        columns = (
            arrays.verdict,
            arrays.gates & int(Gate.FLAGGED) != 0,
            arrays.interval_style,
            arrays.design_intervals.is_weak,
            arrays.evidence_level,
            arrays.gates & int(Gate.CLOCK_SUSPECT) != 0,
        )
        keys = zip(*(column.tolist() for column in columns), strict=True)
        return dict(
            zip(self.row_by_cell, (CELL_VERDICTS[key] for key in keys), strict=True)
        )

    def count_scopes(self, cell_ids: Iterable[int]) -> Counter[str]:
        designed = self.assessments.design_intervals
        scopes: Counter[str] = Counter()
        indices = [self.row_by_cell[pk] for pk in cell_ids if pk in self.row_by_cell]
        rows = np.array(indices, dtype=np.int64)
        rows = rows[self.assessments.verdict[rows] < Verdict.NOT_ASSESSED]
        kinds = np.stack(
            [
                column[rows]
                for column in (
                    designed.design,
                    designed.session,
                    designed.own_sessions,
                    designed.baseline_sessions,
                    designed.shared_count,
                )
            ]
        )
        _kinds, first, counts = np.unique(
            kinds, axis=1, return_index=True, return_counts=True
        )
        for index, n in zip(first.tolist(), counts.tolist(), strict=True):
            if scope := designed.scope(int(rows[index]), self.session_days):
                scopes[scope] += n
        return scopes

    @property
    def tested_count(self) -> int:
        return self.assessments.tested_count


@dataclass(frozen=True)
class CellColumns:
    ids: NDArray[np.int64]
    cells: RunStatistics
    ranges: tuple[Floats, Floats]
    shifts: Floats
    outlier_runs: NDArray[np.int64]
    issue_codes: Sequence[str]


@dataclass(frozen=True)
class PairedColumns:
    cell: CellColumns
    baseline: CellColumns
    case_ids: NDArray[np.int64]
    is_higher_better: NDArray[np.bool_]
    has_two_meters: NDArray[np.bool_]
    states: Sequence[str]
    is_being_checked: NDArray[np.bool_]


def _run_statistics(
    n: Floats, mean: Floats, m2: Floats, resolution: Floats
) -> RunStatistics:
    return RunStatistics.from_sums(np.nan_to_num(n), mean, m2, resolution)


def cell_statistics(cells: Sequence[Cell]) -> RunStatistics:
    return RunStatistics.from_sums(
        [cell.n for cell in cells],
        [cell.mean or 0.0 for cell in cells],
        [np.nan if cell.m2 is None else cell.m2 for cell in cells],
        [np.nan if cell.resolution is None else cell.resolution for cell in cells],
    )


NO_STATISTICS = _run_statistics(*[np.array([])] * 4)


# A check that is needed only because other studies changed keeps the verdicts. After a
# check that failed finally, cells newer than their shape remain without a verdict.
CHECKED_STUDIES_SQL = f"""
    SELECT subject_id FROM {Job._meta.db_table}
    WHERE {OWN_CHECK_SQL} AND quarantined_at IS NULL
"""


def _being_checked_sql(alias: str) -> str:
    return f"""({alias}.n > 0 AND (
        COALESCE({alias}.shaped_at <> {alias}.updated_at, true)
        OR {alias}.study_id IN ({CHECKED_STUDIES_SQL})))"""


UNCHECKED_CELLS_SQL = f"""
    SELECT cell.id FROM {Cell._meta.db_table} AS cell
    WHERE cell.id = ANY(%s) AND {_being_checked_sql("cell")}
"""


def cells_being_checked(cell_ids: Collection[int]) -> frozenset[int]:
    """Return the cells whose check is outstanding, of these cells."""
    with connection.cursor() as cursor:
        cursor.execute(UNCHECKED_CELLS_SQL, [list(cell_ids)])
        return frozenset(pk for (pk,) in cursor.fetchall())


def _select(baseline: str, state: str) -> str:
    """Return the query for cells and their baselines: one row with an array per column.

    Reading 20,000 rows would take longer than assessing them.
    """
    names = (*RANGE_FIELDS, SHIFT_FIELD, "outlier_runs")
    sides = []
    for side in TABLE_ALIASES:
        sides += [f"{side}.{name}" for name in STATISTICS_FIELDS]
        last_digit = f"power(10::float8, -{side}.decimals)"
        sides.append(f"GREATEST({last_digit}, {side}.display_step)")
        sides += [f"{side}.{name}" for name in names]
    unchecked = " OR ".join(map(_being_checked_sql, TABLE_ALIASES))
    meters = "cell.common_facts->>'meter' <> baseline.common_facts->>'meter'"
    flags = [
        "(benchmark_case.better = 'higher')::int",
        f"COALESCE(({meters})::int, 0)",
        f"COALESCE(({unchecked})::int, 0)",
    ]
    numbers = ["cell.id", "cell.case_id", "baseline.id", *flags, *sides]
    texts = [state, _issue_codes_sql("cell"), _issue_codes_sql("baseline")]
    # `string_agg` skips nulls, which would shift later rows; `concat_ws` gives empty
    # texts.
    joined = (f"string_agg({text}, '{TEXT_SEPARATOR}')" for text in texts)
    return f"""
        SELECT {", ".join([columns_sql(*numbers), *joined])}
        FROM {Cell._meta.db_table} AS cell
        JOIN {Case._meta.db_table} AS benchmark_case
          ON benchmark_case.id = cell.case_id
        {baseline}
        WHERE cell.study_id = %(study)s AND cell.n > 0
    """


def _issue_codes_sql(alias: str) -> str:
    suspect = f"CASE WHEN {alias}.clock_trust = 'suspect' THEN 'clock_suspect' END"
    dependent = f"CASE WHEN {alias}.is_dependent THEN 'dependent' END"
    summarized = f"CASE WHEN {alias}.summarized_runs > 0 THEN 'summarized' END"
    codes = f"NULLIF({alias}.shape_codes, ''), {suspect}, {dependent}, {summarized}"
    return f"concat_ws(',', {codes})"


# A chosen baseline is checked like an automatic one (`analysis.baselines`), except for
# kernel and firmware: they differ on another machine or hypervisor anyway.
TOO_FAR_APART_SQL = " OR ".join(
    f"{one}.first_at - {other}.last_at > make_interval(secs => %(limit_s)s)"
    for one, other in (("cell", "baseline"), ("baseline", "cell"))
)
MACHINE_CHANGED_SQL = " OR ".join(
    f"cell.common_facts->>'{name}' <> baseline.common_facts->>'{name}'"
    for name in MACHINE_FACTS
)
# Null, and so never stale, if the chosen baseline is not native.
SAME_HOST_SQL = f"""(SELECT system.host_id = %(native_host)s
    FROM {System._meta.db_table} AS system WHERE system.id = cell.system_id)"""
OTHER_HOST_SQL = f"""(SELECT system.host_id = ANY(%(other_hosts)s::bigint[])
    FROM {System._meta.db_table} AS system WHERE system.id = cell.system_id)"""
OTHER_HOST_OF_PAIR_SQL = f"""(SELECT EXISTS (
        SELECT FROM unnest(%(apart)s::bigint[], %(other_hosts)s::bigint[])
            AS pair (reference, host)
        WHERE pair.reference = reference.id AND pair.host = system.host_id)
    FROM {System._meta.db_table} AS system WHERE system.id = cell.system_id)"""
STALE_SQL = f"({TOO_FAR_APART_SQL} OR ({SAME_HOST_SQL} AND ({MACHINE_CHANGED_SQL})))"

# The sessions of cells by the last check or, before the first check, as declared.
SESSIONS_SQL = f"""(
    SELECT named.id AS cell_id,
           CASE WHEN count(checked.id) = 0
                THEN array_agg(session.id) FILTER (WHERE session.id IS NOT NULL)
                WHEN bool_and(checked.session_id IS NOT NULL)
                THEN array_agg(checked.session_id) END AS ids
    FROM {Cell._meta.db_table} AS named
    LEFT JOIN {CellSession._meta.db_table} AS checked ON checked.cell_id = named.id
    LEFT JOIN {Session._meta.db_table} AS session
      ON session.id = named.declared_session_id
      AND session.name !~ '^{AGENT_SESSION_NAME.pattern}$'
    WHERE named.study_id IN (%(study)s, %(measured_in)s)
    GROUP BY named.id)"""

BASELINE_SQL = _select(
    f"JOIN {Efficiency._meta.db_table} AS against ON against.cell_id = cell.id "
    f"LEFT JOIN {Cell._meta.db_table} AS baseline ON baseline.id = against.baseline_id",
    "against.state",
)


def _select_references(join: str, reference: str, other_host: str) -> str:
    return _select(
        f"""{join} {Cell._meta.db_table} AS baseline
          ON baseline.study_id = %(measured_in)s AND baseline.n > 0
         AND baseline.system_id = {reference} AND baseline.case_id = cell.case_id
         AND baseline.scenario = cell.scenario AND baseline.load = cell.load
         AND baseline.slot = cell.slot AND baseline.vms IS NOT DISTINCT FROM cell.vms
         AND cell.id <> baseline.id
        LEFT JOIN {Efficiency._meta.db_table} AS against
          ON against.cell_id = cell.id
        LEFT JOIN {SESSIONS_SQL} AS cell_sessions ON cell_sessions.cell_id = cell.id
        LEFT JOIN {SESSIONS_SQL} AS baseline_sessions
          ON baseline_sessions.cell_id = baseline.id""",
        f"""CASE WHEN against.state = 'no_speed' THEN 'no_speed'
             WHEN cell.system_id = {reference} AND cell.study_id = %(measured_in)s
                  THEN 'reference'
             WHEN benchmark_case.better = 'neither' THEN 'undirected'
             WHEN baseline.id IS NULL THEN 'missing'
             WHEN {other_host} THEN 'other_host'
             WHEN {STALE_SQL} THEN 'stale'
             WHEN NOT cell_sessions.ids && baseline_sessions.ids THEN 'other_session'
             ELSE 'relative' END""",
    )


REFERENCE_SQL = _select_references("LEFT JOIN", "%(reference)s", OTHER_HOST_SQL)
# One row per cell and reference that has its case.
REFERENCES_SQL = _select_references(
    "CROSS JOIN unnest(%(references)s::bigint[]) AS reference (id) JOIN",
    "reference.id",
    OTHER_HOST_OF_PAIR_SQL,
)


def study_verdicts(
    study: Study,
    reference: System | None = None,
    *,
    reference_study: Study | None = None,
    is_part_of_check: bool = False,
    has_near_cases: bool = True,
) -> StudyVerdicts:
    """Assess all cells of a study together, in four queries.

    ``reference``, as measured by ``reference_study`` (default: this study), replaces
    the baselines. Cells whose check is outstanding have no verdict, except for the
    check itself. ``has_near_cases`` finds similar cases of the reference for cells that
    have no verdict, which is slow.
    """
    measured_in = reference_study or study
    columns = _columns(study, reference, measured_in, has_near_cases=has_near_cases)
    if columns is None:
        return _no_verdicts()
    stored, withheld = study_sessions(study), study.flags.cells_without_verdict()
    if measured_in != study:
        ids = {*columns.cell.ids.tolist(), *columns.baseline.ids.tolist()}
        stored = cell_sessions(ids)
        withheld |= measured_in.flags.cells_without_verdict()
    assessments = _assess(
        study, columns, stored, withheld, is_part_of_check=is_part_of_check
    )
    is_speed = gates_from_states(columns.states) & int(Gate.NO_SPEED | Gate.UNDIRECTED)
    case_ids = np.unique(columns.case_ids[is_speed == 0]).tolist()
    return StudyVerdicts(
        {pk: row for row, pk in enumerate(columns.cell.ids.tolist())},
        correct_for_multiple_tests(assessments, _is_primary(columns, case_ids)),
        stored,
        columns.baseline.ids,
        study.pk,
    )


def verdicts_by_reference(
    study: Study, references: Mapping[int, ReferenceSystem]
) -> dict[int, StudyVerdicts]:
    """Assess a study against each of these guests, by id, in one pass.

    Like `study_verdicts` with each as ``reference``, for cells whose case the reference
    has.
    """
    apart = [
        (pk, host)
        for pk, reference in references.items()
        for host in reference.incomparable_hosts
    ]
    parameters = {
        "study": study.pk,
        "measured_in": study.pk,
        "references": list(references),
        "apart": [pk for pk, _ in apart],
        "other_hosts": [host for _, host in apart],
        "native_host": None,
        "limit_s": study.baseline_max_age_days * DAY_S,
    }
    columns = _read_columns(REFERENCES_SQL, parameters)
    if columns is None:
        return {pk: _no_verdicts() for pk in references}
    stored = study_sessions(study)
    assessments = _assess(study, columns, stored, study.flags.cells_without_verdict())
    cells = Cell.objects.filter(study=study, n__gt=0).order_by()
    with_speed = cells.exclude(case__better="neither").exclude(
        efficiency__state=State.NO_SPEED
    )
    case_ids = with_speed.values_list("case_id", flat=True).distinct()
    is_primary = _is_primary(columns, case_ids)
    systems = dict(cells.filter(system__in=references).values_list("pk", "system_id"))
    row_reference = np.array(
        [systems.get(pk, 0) for pk in columns.baseline.ids.tolist()]
    )
    # Read together, because each reading takes several queries.
    has_gate = (assessments.gates & GATES_WITH_FACTS) != 0
    with_facts = {*columns.cell.ids[has_gate].tolist()}
    with_facts |= {*columns.baseline.ids[has_gate].tolist()}
    facts = side_facts(study.pk, with_facts) if with_facts else {}
    verdicts = {}
    for pk in references:
        is_own = row_reference == pk
        rows = np.flatnonzero(is_own).tolist()
        verdicts[pk] = StudyVerdicts(
            dict(zip(columns.cell.ids[rows].tolist(), rows, strict=True)),
            correct_for_multiple_tests(assessments, is_primary, is_own),
            stored,
            columns.baseline.ids,
            study.pk,
            facts,
        )
    return verdicts


def _no_verdicts() -> StudyVerdicts:
    nothing = assess_cells(NO_STATISTICS, NO_STATISTICS, [])
    return StudyVerdicts({}, correct_for_multiple_tests(nothing))


def _assess(
    study: Study,
    columns: PairedColumns,
    stored: SessionColumns,
    withheld: Collection[int],
    *,
    is_part_of_check: bool = False,
) -> AssessmentArrays:
    cells, baselines = columns.cell, columns.baseline
    withheld_ids = np.fromiter(withheld, dtype=np.int64, count=len(withheld))
    gates = gates_from_states(columns.states)
    side_gates = [
        gates_from_issues(side.issue_codes)
        | np.isin(side.ids, withheld_ids) * int(Gate.FLAGGED)
        for side in (cells, baselines)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.abs(np.log(cells.cells.mean / baselines.cells.mean))
    is_within_error = columns.has_two_meters & (difference < np.log1p(gain_margin()))
    gates |= is_within_error * int(Gate.WITHIN_METER_ERROR)
    if not is_part_of_check:
        gates |= columns.is_being_checked * int(Gate.BEING_CHECKED)
    sessions = _sessions(stored, cells), _sessions(stored, baselines)
    return assess_cells(
        cells.cells,
        baselines.cells,
        columns.is_higher_better,
        gates=gates,
        side_gates=(side_gates[0], side_gates[1]),
        extra_log_variance=columns.has_two_meters * TWO_METERS_LOG_VARIANCE,
        margin=study.equivalence_margin_percent / 100,
        sessions=sessions,
        order_shifts=(cells.shifts, baselines.shifts),
        runs=_run_vectors(cells, baselines, sessions),
    )


def _is_primary(columns: PairedColumns, case_ids: Iterable[int]) -> NDArray[np.bool_]:
    cases = Case.objects.in_bulk({*case_ids})
    return np.isin(columns.case_ids, list(primary_case_ids(cases)))


def _run_vectors(
    cells: CellColumns,
    baselines: CellColumns,
    sessions: tuple[SessionStatistics, SessionStatistics],
) -> tuple[RunVectors, RunVectors] | None:
    """Return the runs of cells that have outliers, or whose sides may alternate."""
    is_needed = (cells.outlier_runs + baselines.outlier_runs) > 0
    is_needed |= may_alternate(*sessions, cells.ids.size)
    if not is_needed.any():
        return None
    rows = np.flatnonzero(is_needed)
    ids = {*cells.ids[rows].tolist(), *baselines.ids[rows].tolist()} - {0}
    stored = cell_runs(ids)
    vectors = []
    for side in (cells, baselines):
        index, runs = stored.of_cells(side.ids[rows])
        vectors.append(
            RunVectors(
                rows[index], runs.session, runs.mean, runs.start, side.outlier_runs
            )
        )
    return vectors[0], vectors[1]


def _sessions(stored: SessionColumns, side: CellColumns) -> SessionStatistics:
    """Return the sessions of the cells of one side.

    If runs are newer than the stored sessions of their cell, all its runs count as one
    session of unknown time.
    """
    cells = side.cells
    row, sessions = stored.of_cells(side.ids)
    is_complete = np.bincount(row, sessions.n, cells.n.size) == cells.n
    complete = np.flatnonzero(is_complete[row])
    unknown_time = SessionStatistics.one_session(cells, *side.ranges)
    incomplete = np.flatnonzero(~is_complete[unknown_time.row])
    m2 = np.nan_to_num(unknown_time.variance * (unknown_time.n - 1))

    def combine(
        stored_values: NDArray[Any], fallback_values: NDArray[Any]
    ) -> NDArray[Any]:
        return np.concatenate([stored_values[complete], fallback_values[incomplete]])

    rows = combine(row, unknown_time.row)
    return SessionStatistics.from_sums(
        rows,
        combine(sessions.session, unknown_time.session),
        combine(sessions.n, unknown_time.n),
        combine(sessions.mean, unknown_time.mean),
        combine(sessions.m2, m2),
        combine(sessions.minimum, unknown_time.minimum),
        combine(sessions.maximum, unknown_time.maximum),
        combine(sessions.rho, unknown_time.rho),
        cells.resolution[rows],
        combine(sessions.first_mean, unknown_time.first_mean),
        combine(sessions.first_at, unknown_time.first_start),
        combine(sessions.last_at, unknown_time.last_start),
    )


def _columns(
    study: Study,
    reference: System | None,
    measured_in: Study,
    *,
    has_near_cases: bool,
) -> PairedColumns | None:
    parameters: dict[str, Any] = {"study": study.pk, "measured_in": measured_in.pk}
    other_study = None if measured_in == study else study
    reference_system = (
        ReferenceSystem(measured_in, reference, other_study=other_study)
        if reference
        else None
    )
    if reference is not None and reference_system is not None:
        parameters |= {
            "other_hosts": reference_system.incomparable_hosts,
            "reference": reference.pk,
            "native_host": reference.host_id if reference.is_native else None,
            "limit_s": study.baseline_max_age_days * DAY_S,
        }
    columns = _read_columns(
        BASELINE_SQL if reference is None else REFERENCE_SQL, parameters
    )
    if columns is None or reference_system is None or not has_near_cases:
        return columns
    states = reference_system.with_near_case_states(
        columns.cell.ids.tolist(), columns.states
    )
    return replace(columns, states=states)


def _read_columns(query: str, parameters: Mapping[str, Any]) -> PairedColumns | None:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        row = cursor.fetchone()
    # An aggregate over no cells is one row of nulls.
    if row[0] is None:
        return None
    ids, case_ids, baseline_ids, *numbers = read_columns(row[:-3])
    higher, meters, unchecked, *statistics = numbers
    half = len(statistics) // 2
    states, *issues = (text.split(TEXT_SEPARATOR) for text in row[-3:])
    return PairedColumns(
        _cell_columns(ids, statistics[:half], issues[0]),
        _cell_columns(baseline_ids, statistics[half:], issues[1]),
        case_ids.astype(np.int64),
        higher == 1,
        meters == 1,
        states,
        unchecked == 1,
    )


def _cell_columns(
    ids: Floats, statistics: Sequence[Floats], issue_codes: Sequence[str]
) -> CellColumns:
    n, mean, m2, resolution, minimum, maximum, shifts, outlier_runs = statistics
    runs = _run_statistics(n, mean, m2, resolution)
    return CellColumns(
        np.nan_to_num(ids).astype(np.int64),
        runs,
        ranges=known_ranges(runs, minimum, maximum),
        shifts=shifts,
        outlier_runs=np.nan_to_num(outlier_runs).astype(np.int64),
        issue_codes=issue_codes,
    )


STATES_WITHOUT_SPEED = (State.NO_SPEED, State.UNDIRECTED)


class CaseLike(Protocol):
    @property
    def tool(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, str]: ...


def primary_case_ids(
    cases: Mapping[int, CaseLike], *, with_tails: bool = True
) -> frozenset[int]:
    """Return the cases that are primary for their tests and measure a speed.

    An implied metric is primary only if no metric that implies it was measured with all
    its parameters. The percentiles of one test are one measurement, so only one of
    those from p90 on is primary.
    """
    by_metric: dict[tuple[str, str], list[frozenset[tuple[str, str]]]] = {}
    tails: dict[object, list[tuple[Percentile, int]]] = {}
    for pk, case in cases.items():
        stated = frozenset(case.parameters.items())
        by_metric.setdefault((case.tool, case.metric), []).append(stated)
        if percentile := find_percentile(case.metric, case.parameters):
            distribution = summarized_metric(case.metric)
            test = frozenset(without_percentile(case.parameters).items())
            key = (case.tool, distribution, test)
            tails.setdefault(key, []).append((percentile, pk))
    excluded = set()
    for percentiles in tails.values():
        ranked = [
            (percentile.preference, pk)
            for percentile, pk in percentiles
            if percentile.is_tail
        ]
        chosen = min(ranked)[1] if ranked and with_tails else None
        excluded |= {pk for _, pk in percentiles if pk != chosen}

    def is_primary(case: CaseLike) -> bool:
        tool = require_tool(case.tool)
        if case.metric in tool.primary_metrics:
            return True
        if case.metric not in tool.implied_metrics:
            return False
        stated = frozenset(case.parameters.items())
        return not any(
            stated <= parameters
            for name in tool.implied_metrics[case.metric]
            for parameters in by_metric.get((case.tool, name), ())
        )

    return frozenset(
        pk for pk, case in cases.items() if pk not in excluded and is_primary(case)
    )


def primary_rows(
    rows: Iterable[ComparisonRow], *, with_tails: bool = True
) -> list[ComparisonRow]:
    """Return the rows of primary cases, and all rows of tools without any."""
    candidates = list(rows)
    primary = primary_cases_of_rows(candidates, with_tails=with_tails)
    tools = {row.case.tool for row in candidates if row.case.id in primary}
    return [
        row
        for row in candidates
        if row.case.id in primary or row.case.tool not in tools
    ]


def primary_cases_of_rows(
    rows: Iterable[ComparisonRow], *, with_tails: bool = True
) -> frozenset[int]:
    with_speed = (row for row in rows if row.result.state not in STATES_WITHOUT_SPEED)
    cases = {row.case.id: row.case for row in with_speed}
    return primary_case_ids(cases, with_tails=with_tails)
