"""Versions of stored data, used as cache keys (`docs/decisions/caching.md`)."""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from django.db import connection

from benchmarks import rls
from benchmarks.database import is_distributed
from benchmarks.jobs.queue import OWN_CHECK_SQL
from benchmarks.models import (
    Case,
    Cell,
    CoRun,
    CustomTool,
    CustomToolVersion,
    Efficiency,
    Flag,
    FlagDecision,
    Host,
    Job,
    Lab,
    Meter,
    Run,
    RunEnergy,
    Sample,
    Session,
    Study,
    StudyRollup,
    System,
)

TABLE_NAME_PATTERN: Final = re.compile(r"[a-z_]+")

_CELL, _RUN, _FLAG = (model._meta.db_table for model in (Cell, Run, Flag))
_EFFICIENCY, _ENERGY = Efficiency._meta.db_table, RunEnergy._meta.db_table
_QUOTES = Flag.quoted_studies.through._meta.db_table


def _ids(column: str, table: str, condition: str) -> str:
    """Return SQL for an array of ids.

    For ``id = ANY(array)``, PostgreSQL looks up each id by index. For ``id IN
    (subquery)``, it may compare every row with every other one if the tables have no
    statistics.
    """
    return f"ARRAY(SELECT {column} FROM {table} WHERE {condition})"


_OWN = "study_id = %(study)s"
_CELLS = "(SELECT cells FROM own)::bigint[]"
# Baselines in other studies.
_BASELINES = "(SELECT baselines FROM other)::bigint[]"
_BASELINES_OF_CELLS = _ids("baseline_id", _EFFICIENCY, f"cell_id = ANY({_CELLS})")
_OF_OTHERS = f"id = ANY({_BASELINES_OF_CELLS}) AND study_id <> %(study)s"
WITH_CELLS_SQL = f"""
    WITH own AS MATERIALIZED (SELECT {_ids("id", _CELL, _OWN)} AS cells),
         other AS MATERIALIZED (SELECT {_ids("id", _CELL, _OF_OTHERS)} AS baselines)
"""
# Of cells, of baselines, and of runs, because rejected runs have no cell.
_SYSTEMS = f"""ARRAY(
    SELECT system_id FROM {_CELL} WHERE {_OWN}
    UNION SELECT system_id FROM {_RUN} WHERE {_OWN}
    UNION SELECT system_id FROM {_CELL} WHERE id = ANY({_BASELINES})
)"""
_FLAGS = _ids("id", _FLAG, _OWN)
_QUOTED = _ids("study_id", _QUOTES, f"flag_id = ANY({_FLAGS})")
_MEASURED = f"run_id = ANY({_ids('id', _RUN, _OWN)})"
_CASES = _ids("case_id", _CELL, _OWN)
_HOSTS = _ids("host_id", System._meta.db_table, f"id = ANY({_SYSTEMS})")
_METERS = _ids("meter_id", _ENERGY, _MEASURED)
# The rows that a study's pages read: table, primary key, condition.
STUDY_PAGE_TABLES = (
    # A flag is visible to readers who can see all studies that it quotes.
    (Study._meta.db_table, "id", f"id = %(study)s OR id = ANY({_QUOTED})"),
    (_QUOTES, "id", f"flag_id = ANY({_FLAGS})"),
    (Lab._meta.db_table, "id", "id = %(lab)s"),
    # Each new version of a tool's declaration also changes the tool's row.
    (CustomTool._meta.db_table, "id", "lab_id = %(lab)s"),
    (_CELL, "id", f"{_OWN} OR id = ANY({_BASELINES})"),
    (_EFFICIENCY, "cell_id", f"cell_id = ANY({_CELLS})"),
    (Case._meta.db_table, "id", f"id = ANY({_CASES})"),
    (System._meta.db_table, "id", f"id = ANY({_SYSTEMS})"),
    (Host._meta.db_table, "id", f"id = ANY({_HOSTS})"),
    (Session._meta.db_table, "id", _OWN),
    (CoRun._meta.db_table, "id", _OWN),
    (_RUN, "id", _OWN),
    # Samples and cell sessions change only with runs and cells.
    (_ENERGY, "id", _MEASURED),
    (Meter._meta.db_table, "id", f"id = ANY({_METERS})"),
    (_FLAG, "id", _OWN),
    (Flag.cells.through._meta.db_table, "id", f"flag_id = ANY({_FLAGS})"),
    (FlagDecision._meta.db_table, "id", f"flag_id = ANY({_FLAGS})"),
    # Results whose check is outstanding have no verdict.
    (
        Job._meta.db_table,
        "id",
        f"{OWN_CHECK_SQL} AND (study_id = %(study)s OR study_id = ANY("
        f"{_ids('study_id', _CELL, f'id = ANY({_BASELINES})')}))",
    ),
)
# The hashes of rows are combined by xor, because rows have no order.
_ROW_HASH_SQL = "hashtidextended(ctid, hashint8extended({key}, xmin::text::bigint))"
_ROWS_HASH_SQL = f"count(*), ':', bit_xor({_ROW_HASH_SQL})"
_ROW_HASHES = ", ".join(
    f"(SELECT concat({_ROWS_HASH_SQL.format(key=key)}) FROM {table} WHERE {rows})"
    for table, key, rows in STUDY_PAGE_TABLES
)
STUDY_VERSION_SQL = f"{WITH_CELLS_SQL} SELECT concat_ws('-', {_ROW_HASHES})"


# Identifies the run of the server: after a crash, transaction numbers may repeat, and
# statistics are reset.
_SERVER = """
    concat_ws(
        ' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(),
        (SELECT oid FROM pg_database WHERE datname = current_database())
    )
"""
# No row on a standby, whose snapshot does not list running transactions.
SNAPSHOT_SQL = f"""
    SELECT concat_ws(' ', {_SERVER}, pg_current_snapshot())
    WHERE NOT pg_is_in_recovery()
"""
# Counts only grow, so equal sums mean no change. TRUNCATE resets them, but also gives
# the table a new file.
CHANGE_COUNTS_TABLE: Final = "benchmarks_changecount"
_PARTS_VERSION_SQL = f"""
    SELECT concat_ws(
        ' ', {_SERVER}, pg_relation_filenode('{CHANGE_COUNTS_TABLE}'), (
            SELECT coalesce(sum(note.n), 0)
            FROM unnest(%s::text[], %s::bigint[]) AS read (relation, part)
            JOIN {CHANGE_COUNTS_TABLE} AS note USING (relation, part)
        )
    )
"""
# The same for several lists of parts; each part has the number of its list.
_PARTS_VERSIONS_SQL = f"""
    SELECT concat_ws(
        ' ', (SELECT {_SERVER}), pg_relation_filenode('{CHANGE_COUNTS_TABLE}'),
        coalesce(sum(note.n), 0)
    )
    FROM unnest(%s::int[], %s::text[], %s::bigint[]) AS read (number, relation, part)
    LEFT JOIN {CHANGE_COUNTS_TABLE} AS note USING (relation, part)
    GROUP BY read.number ORDER BY read.number
"""
# Tables with a counting trigger for each kind of change. For samples, three triggers
# suffice: new samples come with counted changes of their runs.
_COUNTED_TABLES_SQL = """
    SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE tgname ~ '^[a-z]+_are_counted$' AND tgenabled = 'A'
    GROUP BY relname
    HAVING count(*) >= CASE relname WHEN %s THEN 3 ELSE 4 END
"""
_RELATIONS = """
    SELECT relname FROM pg_class
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
      AND relnamespace = current_schema()::regnamespace
"""
# A change of these tables affects one study, or one lab, or (shared tables) nothing
# until another row refers to the new one. Changes of other tables affect all readers.
TABLES_COUNTED_BY_STUDY: Final = frozenset(
    f"benchmarks_{name}"
    for name in (
        *("cell", "cellsession", "comment", "corun", "efficiency", "flag"),
        *(
            "flag_cells",
            "flag_quoted_studies",
            "flag_runs",
            "flagdecision",
            "job",
            "plan",
        ),
        *("run", "runenergy", "runmean", "runwindow", "sample", "session"),
    )
)
TABLES_COUNTED_BY_LAB: Final = frozenset(
    f"benchmarks_{name}"
    for name in (
        *("agent", "customtool", "customtoolversion", "host", "meter"),
        *("powerchunk", "system"),
    )
)
SHARED_TABLES: Final = frozenset({Case._meta.db_table})
WHOLE_TABLE, ALL_PARTS = 0, -1
# A study, the studies of its baselines, and the studies that its flags quote.
BASELINE_STUDIES_SQL = f"""
    {WITH_CELLS_SQL}
    SELECT study_id FROM {_CELL} WHERE id = ANY({_BASELINES})
    UNION SELECT unnest({_QUOTED})
    UNION SELECT id FROM {Study._meta.db_table} WHERE id = %(study)s
"""

_COUNTED_OF_STUDY: Final = frozenset(
    model._meta.db_table for model in (Run, Cell, Efficiency, Flag, Flag.cells.through)
)
_COUNTED_OF_LAB: Final = frozenset(
    model._meta.db_table for model in (System, CustomTool, CustomToolVersion)
)
_COUNTED: Final = _COUNTED_OF_STUDY | _COUNTED_OF_LAB | SHARED_TABLES
_ROLLUPS: Final = frozenset({CHANGE_COUNTS_TABLE, StudyRollup._meta.db_table})
_SUMS = f"""
    SELECT CASE WHEN relation = ANY(%(study)s) THEN 'study'
                WHEN relation = ANY(%(lab)s) THEN 'lab' ELSE 'case' END AS counted,
           part, sum(n)::bigint
    FROM {CHANGE_COUNTS_TABLE} WHERE relation = ANY(%(all)s) AND part <> {WHOLE_TABLE}
    GROUP BY counted, part
    UNION ALL SELECT 'file', pg_relation_filenode('{CHANGE_COUNTS_TABLE}')::bigint, 0
"""
ROLLUP_BASELINES_SQL = f"""
    {WITH_CELLS_SQL}
    SELECT id, lab_id FROM {Study._meta.db_table}
    WHERE id = %(study)s OR id = ANY(ARRAY(
        SELECT study_id FROM {_CELL} WHERE id = ANY({_BASELINES})
    )) ORDER BY id
"""

RollupBaselines: TypeAlias = list[list[int]]
"""Pairs of study and lab: a study and the studies of its baselines."""

TableParts: TypeAlias = tuple[tuple[str, int], ...]
"""Pairs of a table that was read, and a study, a lab or `WHOLE_TABLE`."""


@dataclass
class TableTracker:
    tables: set[str] = field(default_factory=set)

    def track(self, execute: Any, sql: Any, *arguments: Any) -> Any:
        self.tables |= _tables_in(str(sql))
        return execute(sql, *arguments)

    def parts(self, study_id: int | None = None) -> TableParts | None:
        """Return the read tables with the parts that matter; None if one has no change
        counts.

        With ``study_id``, the caller has read only this study and studies that it
        depends on.
        """
        tables, counted = self.tables, frozenset[str]()
        if not tables.isdisjoint(_ROLLUPS):
            # Rollups are current while their sources are unchanged.
            tables, counted = tables - _ROLLUPS, _COUNTED
        if not tables | counted <= counted_tables():
            return None
        studies, labs = baseline_studies(study_id) if study_id else (None, None)
        parts = {(table, WHOLE_TABLE) for table in counted}
        for table in tables:
            ids: Iterable[int] | None = None
            if studies is not None:
                ids = studies if table in TABLES_COUNTED_BY_STUDY else ids
                ids = labs if table in TABLES_COUNTED_BY_LAB else ids
                ids = () if table in SHARED_TABLES else ids
            part_ids = (WHOLE_TABLE,) if ids is None else (ALL_PARTS, *ids)
            parts |= {(table, part) for part in part_ids}
        return tuple(sorted(parts))


@rls.allow_all()  # also studies hidden from the reader, which may become public
def baseline_studies(study_id: int) -> tuple[list[int], list[int]]:
    """Return ids of the studies that a study's pages read, and of their labs."""
    with connection.cursor() as cursor:
        cursor.execute(BASELINE_STUDIES_SQL, {"study": study_id})
        studies = [pk for (pk,) in cursor.fetchall()]
    owners = Study.objects.filter(pk__in=studies).values_list("lab_id", flat=True)
    return studies, list(owners.distinct())


class _ActiveTrackers(threading.local):
    def __init__(self) -> None:
        self.trackers: list[TableTracker] = []


_active = _ActiveTrackers()


@contextmanager
def track_tables() -> Iterator[TableTracker]:
    tracker = TableTracker()
    _relations()  # not tracked
    _active.trackers.append(tracker)
    try:
        with connection.execute_wrapper(tracker.track):
            yield tracker
    finally:
        _active.trackers.pop()


def add_read_tables(tables: frozenset[str]) -> None:
    """Track tables whose data come from a cache, without a query."""
    for tracker in _active.trackers:
        tracker.tables |= tables


@lru_cache(maxsize=4096)
def _tables_in(sql: str) -> frozenset[str]:
    return frozenset(TABLE_NAME_PATTERN.findall(sql)) & _relations()


@cache
def _relations() -> frozenset[str]:
    """Return all table names; cached, because processes restart after migrations."""
    return _names(_RELATIONS)


@cache
def counted_tables() -> frozenset[str]:
    return _names(_COUNTED_TABLES_SQL, [Sample._meta.db_table])


def _names(statement: str, parameters: Sequence[str] = ()) -> frozenset[str]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return frozenset(name for (name,) in cursor.fetchall())


def parts_version(parts: TableParts | None) -> str | None:
    """Return a version of the data of these parts.

    ``parts`` is None if a table has no change counts. Then the version is the snapshot
    of a new query, or None on a standby or a distributed database.
    """
    if parts is None and is_distributed():
        return None
    with connection.cursor() as cursor:
        if parts is None:
            cursor.execute(SNAPSHOT_SQL)
        else:
            names, numbers = zip(*parts, strict=True) if parts else ((), ())
            cursor.execute(_PARTS_VERSION_SQL, [list(names), list(numbers)])
        row = cursor.fetchone()
    return str(row[0]) if row else None


def parts_versions(lists: Sequence[TableParts]) -> list[str]:
    """Return the versions of several lists of parts, all with change counts."""
    rows = [(number, *part) for number, parts in enumerate(lists) for part in parts]
    if not rows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            _PARTS_VERSIONS_SQL, [list(column) for column in zip(*rows, strict=True)]
        )
        return [version for (version,) in cursor.fetchall()]


@dataclass(frozen=True)
class RollupChangeCounts:
    """Numbers of changes in the tables that rollups are computed from.

    ``counter_file`` is the number of the file that stores the counts.
    """

    by_study: Mapping[int, int]
    by_lab: Mapping[int, int]
    case_changes: int
    counter_file: int

    def version(self, baseline_studies: RollupBaselines) -> str:
        study_ids, lab_ids = (
            {pk for pk, _ in baseline_studies},
            {lab for _, lab in baseline_studies},
        )
        changes = self.case_changes
        changes += sum(self.by_study.get(pk, 0) for pk in {ALL_PARTS, *study_ids})
        changes += sum(self.by_lab.get(pk, 0) for pk in {ALL_PARTS, *lab_ids})
        return f"{self.counter_file} {changes}"


def rollup_change_counts() -> RollupChangeCounts:
    parameters = {
        "study": sorted(_COUNTED_OF_STUDY),
        "lab": sorted(_COUNTED_OF_LAB),
        "all": sorted(_COUNTED),
    }
    sums: dict[str, dict[int, int]] = {"study": {}, "lab": {}, "case": {}, "file": {}}
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, parameters)
        for scope, part, n in cursor.fetchall():
            sums[scope][part] = n
    return RollupChangeCounts(
        sums["study"], sums["lab"], sum(sums["case"].values()), *sums["file"]
    )


def rollup_baseline_studies(study_id: int) -> RollupBaselines:
    with connection.cursor() as cursor:
        cursor.execute(ROLLUP_BASELINES_SQL, {"study": study_id})
        return [[*row] for row in cursor.fetchall()]


def merge_change_counts(limit: int = 20) -> int:
    """Merge parts with more than ``limit`` rows of counts; return the number of merged
    rows.

    The sums stay the same.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT merge_change_counts(%s)", [limit])
        return int(cursor.fetchone()[0])


def study_version(study: Study) -> str:
    """Return a version of all data that a study's pages read.

    Call this before reading the data, so that later changes make it outdated.
    """
    with connection.cursor() as cursor:
        # Created by `rls_policies`: it sees all rows and is planned once a connection.
        cursor.execute("SELECT virtlab_study_version(%s, %s)", [study.pk, study.lab_id])
        return str(cursor.fetchone()[0])
