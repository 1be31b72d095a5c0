"""Intervals, verdicts and reasons against them, for all cells of a study.

Computed on request: a verdict depends on all cells tested together, on flags and on the
reference.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from benchmarks.analysis.comparability import MACHINE_FACTS
from benchmarks.analysis.energy import GAIN_ERROR, gain_log_variance, gain_margin
from benchmarks.analysis.gates import Gate, gates_of_doubts, gates_of_states
from benchmarks.analysis.intervals import Floats, Rollups
from benchmarks.analysis.judgement import (
    Judgement,
    TableRatio,
    judgement_of,
    table_ratios,
)
from benchmarks.analysis.sessions import OWN_NAME, SessionRollups
from benchmarks.analysis.verdicts import (
    EvidenceLevel,
    Judgements,
    Strength,
    Verdict,
    correct,
    judge,
)
from benchmarks.comparing.lights import ChosenSystem
from benchmarks.comparing.row import ComparisonRow, State
from benchmarks.models import (
    Case,
    Cell,
    CellSession,
    Efficiency,
    Session,
    Study,
    System,
)
from benchmarks.own_tools.lookup import known_tool
from benchmarks.studies.cell_sessions import (
    SessionColumns,
    cell_sessions,
    columns_sql,
    read_columns,
    study_sessions,
)

STATISTICS = ("n", "mean", "m2", "decimals")
ENDS = ("minimum", "maximum")
MOVES = "shape_moves"
SIDES = ("cell", "baseline")
DAY_S = 86_400
BETWEEN = ";"
# Each of two meters has a gain error of its own; one meter's cancels in a ratio.
TWO_METERS = gain_log_variance(GAIN_ERROR, GAIN_ERROR)


class VerdictMark(NamedTuple):
    """A cell's verdict, and whether a flag withholds it."""

    verdict: str
    is_flagged: bool
    strength: str = ""
    is_weak: bool = False
    evidence: str = ""

    @classmethod
    def of(cls, judgement: Judgement) -> "VerdictMark":
        """Return the mark of what is said in words."""
        return cls(
            judgement.verdict,
            is_flagged=Gate.FLAGGED.code in judgement.codes,
            strength=judgement.strength,
            is_weak=judgement.is_weak,
            evidence=judgement.evidence_level,
        )


MARKS = {
    (int(verdict), flagged, int(strength), weak, int(level)): VerdictMark(
        verdict.slug, flagged, strength.slug, weak, level.name.lower()
    )
    for verdict in Verdict
    for flagged in (False, True)
    for strength in Strength
    for weak in (False, True)
    for level in EvidenceLevel
}


@dataclass(frozen=True)
class Verdicts:
    """The judgements of a study's cells; ``rows`` says where each cell stands."""

    rows: Mapping[int, int]
    judgements: Judgements
    stored: SessionColumns | None = None

    def of(self, cell_id: int) -> Judgement | None:
        """Return what may be said of a cell, or None if it is not processed yet."""
        row = self.rows.get(cell_id)
        return None if row is None else judgement_of(self.judgements, row, self.days)

    @cached_property
    def days(self) -> dict[int, str]:
        """The day on which each session that is known began: "2021-05-03"."""
        return self.stored.days if self.stored else {}

    def ratios(self) -> dict[int, TableRatio]:
        """Return intervals, and ratios or ranges that are not of two means."""
        told = table_ratios(self.judgements)
        ids = list(self.rows)
        return {ids[row]: ratio for row, ratio in told.items()}

    def marks(self) -> dict[int, VerdictMark]:
        """Return what a table shows of each cell, for all of them at once."""
        judged = self.judgements
        columns = (
            judged.verdict,
            judged.gates & int(Gate.FLAGGED) != 0,
            judged.strength,
            judged.designed.is_weak,
            judged.evidence_level,
        )
        found = zip(*(column.tolist() for column in columns), strict=True)
        return dict(zip(self.rows, (MARKS[each] for each in found), strict=True))

    def scopes(self, cell_ids: Iterable[int]) -> Counter[str]:
        """Return of what the verdicts of some cells speak, and how many of each."""
        designed = self.judgements.designed
        found: Counter[str] = Counter()
        places = [self.rows[pk] for pk in cell_ids if pk in self.rows]
        rows = np.array(places, dtype=np.int64)
        rows = rows[self.judgements.verdict[rows] < Verdict.NOT_ASSESSED]
        kinds = np.stack(
            [
                each[rows]
                for each in (
                    designed.design,
                    designed.session,
                    designed.own_sessions,
                    designed.other_sessions,
                    designed.shared,
                )
            ]
        )
        _kinds, first, counts = np.unique(
            kinds, axis=1, return_index=True, return_counts=True
        )
        for at, n in zip(first.tolist(), counts.tolist(), strict=True):
            if scope := designed.scope(int(rows[at]), self.days):
                found[scope] += n
        return found

    @property
    def tested(self) -> int:
        return self.judgements.tested


@dataclass(frozen=True)
class SideColumns:
    """All cells of a study, or their baselines, a column each."""

    ids: NDArray[np.int64]
    cells: Rollups
    ends: tuple[Floats, Floats]
    moves: Floats
    doubts: Sequence[str]


@dataclass(frozen=True)
class CellColumns:
    """All cells of a study beside their baselines."""

    own: SideColumns
    baseline: SideColumns
    case_ids: NDArray[np.int64]
    is_higher_better: NDArray[np.bool_]
    has_two_meters: NDArray[np.bool_]
    states: Sequence[str]


def _rollups(n: Floats, mean: Floats, m2: Floats, decimals: Floats) -> Rollups:
    return Rollups.of(np.nan_to_num(n), mean, m2, 10.0**-decimals)


def rollups_of(cells: Sequence[Cell]) -> Rollups:
    """Return the statistics of a few cells that were read as objects."""
    return Rollups.of(
        [cell.n for cell in cells],
        [cell.mean or 0.0 for cell in cells],
        [cell.m2 or 0.0 for cell in cells],
        [np.nan if cell.resolution is None else cell.resolution for cell in cells],
    )


NOTHING = _rollups(*[np.array([])] * len(STATISTICS))


def _select(baseline: str, state: str) -> str:
    """Return the query for cells and their ``baseline``: one row, one array a column.

    Reading 20,000 rows of fourteen values would take longer than judging them.
    """
    names = (*STATISTICS, *ENDS, MOVES)
    sides = [f"{side}.{name}" for side in SIDES for name in names]
    meters = "cell.setting->>'meter' <> baseline.setting->>'meter'"
    flags = [
        "(benchmark_case.better = 'higher')::int",
        f"COALESCE(({meters})::int, 0)",
    ]
    numbers = ["cell.id", "cell.case_id", "baseline.id", *flags, *sides]
    texts = [state, _doubts("cell"), _doubts("baseline")]
    # `string_agg` passes over nulls, and all later rows would move up by one: every
    # text is one in every row (`concat_ws` gives an empty one).
    joined = (f"string_agg({text}, '{BETWEEN}')" for text in texts)
    return f"""
        SELECT {", ".join([columns_sql(*numbers), *joined])}
        FROM {Cell._meta.db_table} AS cell
        JOIN {Case._meta.db_table} AS benchmark_case
          ON benchmark_case.id = cell.case_id
        {baseline}
        WHERE cell.study_id = %(study)s AND cell.n > 0
    """


def _doubts(side: str) -> str:
    """Return the codes of what stands against a cell itself: its shape, its clock."""
    suspect = f"CASE WHEN {side}.clock_trust = 'suspect' THEN 'clock_suspect' END"
    return f"concat_ws(',', NULLIF({side}.shape_codes, ''), {suspect})"


# Who chooses a baseline is told of its age and session as who leaves the choice to us
# (`analysis.baselines`). Kernel and firmware are the machine's: another machine, or
# another hypervisor on it, has others by its nature.
TOO_FAR = " OR ".join(
    f"{one}.first_at - {other}.last_at > make_interval(secs => %(limit_s)s)"
    for one, other in (("cell", "baseline"), ("baseline", "cell"))
)
OTHER_MACHINE = " OR ".join(
    f"cell.setting->>'{name}' <> baseline.setting->>'{name}'" for name in MACHINE_FACTS
)
# Null, and so never stale, where the chosen system is no native machine. The same holds
# above for dates and facts that one side does not state.
SAME_HOST = f"""(SELECT own.host_id = %(native_host)s
                 FROM {System._meta.db_table} AS own WHERE own.id = cell.system_id)"""
OTHER_HOST = f"""(SELECT own.host_id = ANY(%(other_hosts)s::bigint[])
                 FROM {System._meta.db_table} AS own WHERE own.id = cell.system_id)"""
STALE = f"({TOO_FAR} OR ({SAME_HOST} AND ({OTHER_MACHINE})))"

# The sessions of a study's cells, where all are known: those of the last check, before
# the first one what the uploader named. What an agent called itself is no name.
SITTINGS = f"""(
    SELECT named.id AS cell_id,
           CASE WHEN count(kept.id) = 0
                THEN array_agg(session.id) FILTER (WHERE session.id IS NOT NULL)
                WHEN bool_and(kept.session_id IS NOT NULL)
                THEN array_agg(kept.session_id) END AS ids
    FROM {Cell._meta.db_table} AS named
    LEFT JOIN {CellSession._meta.db_table} AS kept ON kept.cell_id = named.id
    LEFT JOIN {Session._meta.db_table} AS session
      ON session.id = named.session_id AND session.name !~ '^{OWN_NAME.pattern}$'
    WHERE named.study_id IN (%(study)s, %(measured_in)s)
    GROUP BY named.id)"""

OWN = _select(
    f"JOIN {Efficiency._meta.db_table} AS against ON against.cell_id = cell.id "
    # LEFT: cells without a baseline are rows as well, with the reason why.
    f"LEFT JOIN {Cell._meta.db_table} AS baseline ON baseline.id = against.baseline_id",
    "against.state",
)
AGAINST = _select(
    f"""LEFT JOIN {Cell._meta.db_table} AS baseline
          ON baseline.study_id = %(measured_in)s AND baseline.n > 0
         AND baseline.system_id = %(reference)s AND baseline.case_id = cell.case_id
         AND baseline.scenario = cell.scenario AND baseline.load = cell.load
         AND baseline.slot = cell.slot AND baseline.vms IS NOT DISTINCT FROM cell.vms
         AND cell.id <> baseline.id
        LEFT JOIN {Efficiency._meta.db_table} AS against
          ON against.cell_id = cell.id
        LEFT JOIN {SITTINGS} AS own_sittings ON own_sittings.cell_id = cell.id
        LEFT JOIN {SITTINGS} AS its_sittings ON its_sittings.cell_id = baseline.id""",
    f"""CASE WHEN against.state = 'no_speed' THEN 'no_speed'
             WHEN cell.system_id = %(reference)s AND cell.study_id = %(measured_in)s
                  THEN 'reference'
             WHEN benchmark_case.better = 'neither' THEN 'undirected'
             WHEN baseline.id IS NULL THEN 'missing'
             WHEN {OTHER_HOST} THEN 'other_host'
             WHEN {STALE} THEN 'stale'
             WHEN NOT own_sittings.ids && its_sittings.ids THEN 'other_session'
             ELSE 'relative' END""",
)


def study_verdicts(
    study: Study, reference: System | None = None, *, measured_in: Study | None = None
) -> Verdicts:
    """Judge all cells of a study together, in four queries.

    Against their own baselines or those of a chosen system, which ``measured_in`` may
    have measured.
    """
    there = measured_in or study
    columns = _columns(study, reference, there)
    if columns is None:
        return Verdicts({}, correct(judge(NOTHING, NOTHING, [])))
    own, base = columns.own, columns.baseline
    stored, withheld = study_sessions(study), study.flags.withheld_cells()
    if there != study:
        stored = cell_sessions({*own.ids.tolist(), *base.ids.tolist()})
        withheld |= there.flags.withheld_cells()
    doubted = np.fromiter(withheld, dtype=np.int64, count=len(withheld))
    flagged = np.isin(own.ids, doubted) | np.isin(base.ids, doubted)
    gates = gates_of_states(columns.states) | flagged * int(Gate.FLAGGED)
    gates |= gates_of_doubts(own.doubts) | gates_of_doubts(base.doubts)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(np.log(own.cells.mean / base.cells.mean))
    is_lost = columns.has_two_meters & (off < np.log1p(gain_margin()))
    gates |= is_lost * int(Gate.WITHIN_METER_ERROR)
    judgements = judge(
        own.cells,
        base.cells,
        columns.is_higher_better,
        gates=gates,
        extra_log_variance=columns.has_two_meters * TWO_METERS,
        margin=study.equivalence_margin_percent / 100,
        sessions=(_sessions(stored, own), _sessions(stored, base)),
        moves=(own.moves, base.moves),
    )
    places = {pk: row for row, pk in enumerate(own.ids.tolist())}
    return Verdicts(places, correct(judgements, _is_primary(columns)), stored)


def _is_primary(columns: CellColumns) -> NDArray[np.bool_]:
    is_speed = gates_of_states(columns.states) & int(Gate.NO_SPEED | Gate.UNDIRECTED)
    cases = Case.objects.in_bulk(np.unique(columns.case_ids[is_speed == 0]).tolist())
    return np.isin(columns.case_ids, list(primary_ids(cases)))


def _sessions(stored: SessionColumns, side: SideColumns) -> SessionRollups:
    """Return one side's sessions; cells with newer runs count as of unknown time."""
    cells = side.cells
    row, found = stored.of_cells(side.ids)
    is_told = np.bincount(row, found.n, cells.n.size) == cells.n
    kept = np.flatnonzero(is_told[row])
    whole = SessionRollups.of_one_sitting(cells, *side.ends)
    lacking = np.flatnonzero(~is_told[whole.row])
    m2 = np.nan_to_num(whole.variance * (whole.n - 1))

    def both(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([one[kept], other[lacking]])

    rows = both(row, whole.row)
    return SessionRollups.of(
        rows,
        both(found.session, whole.session),
        both(found.n, whole.n),
        both(found.mean, whole.mean),
        both(found.m2, m2),
        both(found.minimum, whole.minimum),
        both(found.maximum, whole.maximum),
        both(found.rho, whole.rho),
        cells.resolution[rows],
        both(found.first, whole.first),
    )


def _columns(
    study: Study, reference: System | None, there: Study
) -> CellColumns | None:
    named: dict[str, Any] = {"study": study.pk, "measured_in": there.pk}
    beside = None if there == study else study
    chosen = ChosenSystem(there, reference, beside=beside) if reference else None
    if reference is not None and chosen is not None:
        named |= {
            "other_hosts": chosen.other_hosts,
            "reference": reference.pk,
            "native_host": reference.host_id if reference.is_native else None,
            "limit_s": study.baseline_max_age_days * DAY_S,
        }
    with connection.cursor() as cursor:
        cursor.execute(OWN if reference is None else AGAINST, named)
        row = cursor.fetchone()
    # An aggregate over no cells is one row of nulls.
    if row[0] is None:
        return None
    ids, case_ids, baseline_ids, higher, meters, *sides = read_columns(row[:-3])
    half = len(sides) // 2
    states, *doubts = (text.split(BETWEEN) for text in row[-3:])
    if chosen is not None:
        states = chosen.with_near_ones(ids.astype(int).tolist(), states)
    own, baseline = (
        SideColumns(
            np.nan_to_num(pks).astype(np.int64),
            _rollups(*numbers[: len(STATISTICS)]),
            ends=(numbers[-3], numbers[-2]),
            moves=numbers[-1],
            doubts=codes,
        )
        for pks, numbers, codes in (
            (ids, sides[:half], doubts[0]),
            (baseline_ids, sides[half:], doubts[1]),
        )
    )
    return CellColumns(
        own, baseline, case_ids.astype(np.int64), higher == 1, meters == 1, states
    )


SPEEDLESS = (State.NO_SPEED, State.UNDIRECTED)


class KnownCase(Protocol):
    @property
    def tool(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, str]: ...


def primary_ids(cases: Mapping[int, KnownCase]) -> frozenset[int]:
    """Return those of some cases with a speed that stand for their tests.

    Cases of primary metrics do; implied ones do where nothing that implies them was
    measured with all their parameters.
    """
    by_metric: dict[tuple[str, str], list[frozenset[tuple[str, str]]]] = {}
    for case in cases.values():
        stated = frozenset(case.parameters.items())
        by_metric.setdefault((case.tool, case.metric), []).append(stated)

    def is_primary(case: KnownCase) -> bool:
        tool = known_tool(case.tool)
        if case.metric in tool.primary:
            return True
        if case.metric not in tool.implied:
            return False
        stated = frozenset(case.parameters.items())
        return not any(
            stated <= other
            for name in tool.implied[case.metric]
            for other in by_metric.get((case.tool, name), ())
        )

    return frozenset(pk for pk, case in cases.items() if is_primary(case))


def primary_rows(rows: Iterable[ComparisonRow]) -> frozenset[int]:
    """Return the cases of these rows that have a speed and stand for their tests."""
    with_speed = (row for row in rows if row.shown.state not in SPEEDLESS)
    return primary_ids({row.case.id: row.case for row in with_speed})
