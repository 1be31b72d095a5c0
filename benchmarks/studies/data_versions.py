"""Versions of stored data, as cache keys.

A page: triggers count the changes of each table by study or lab; the version is the sum
of the counts of all that the page read. Other tables: the snapshot of a new query.

A study: a combination of the ``xmin`` and ``ctid`` of all rows that its pages are made
of, which changes with each of them. See `docs/decisions/caching.md`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from django.db import connection

from benchmarks import sight
from benchmarks.database import is_distributed
from benchmarks.models import (
    Case,
    Cell,
    CoRun,
    Decision,
    Efficiency,
    Flag,
    Host,
    Lab,
    Meter,
    OwnTool,
    OwnToolVersion,
    Run,
    RunEnergy,
    Sample,
    Session,
    Study,
    StudyRollup,
    System,
)

WORD: Final = re.compile(r"[a-z_]+")

_CELL, _RUN, _FLAG = (model._meta.db_table for model in (Cell, Run, Flag))
_CELLS = f"SELECT id FROM {_CELL} WHERE study_id = %(study)s"
_BASELINES = f"""
    SELECT baseline.id FROM {_CELL} AS cell
    JOIN {Efficiency._meta.db_table} AS against ON against.cell_id = cell.id
    JOIN {_CELL} AS baseline ON baseline.id = against.baseline_id
    WHERE cell.study_id = %(study)s AND baseline.study_id <> %(study)s
"""
# Runs that nobody could read belong to a system, but to no cell.
_SYSTEMS = f"""
    SELECT system_id FROM {_CELL} WHERE study_id = %(study)s
    UNION SELECT system_id FROM {_RUN} WHERE study_id = %(study)s
    UNION SELECT system_id FROM {_CELL} WHERE id IN ({_BASELINES})
"""
_FLAGS = f"SELECT id FROM {_FLAG} WHERE study_id = %(study)s"
_QUOTES = Flag.quotes.through._meta.db_table
_QUOTED = f"SELECT study_id FROM {_QUOTES} WHERE flag_id IN ({_FLAGS})"
_OWN = "study_id = %(study)s"
_MEASURED = f"run_id IN (SELECT id FROM {_RUN} WHERE {_OWN})"
_ENERGY = RunEnergy._meta.db_table
_METERS = f"SELECT meter_id FROM {_ENERGY} WHERE {_MEASURED}"
# The table, what tells its rows apart, and which of them belong to a study.
READ = (
    # What a flag quotes is seen by whoever sees those studies.
    (Study._meta.db_table, "id", f"id = %(study)s OR id IN ({_QUOTED})"),
    (_QUOTES, "id", f"flag_id IN ({_FLAGS})"),
    (Lab._meta.db_table, "id", "id = %(lab)s"),
    # A changed declaration is a changed row of its tool.
    (OwnTool._meta.db_table, "id", "lab_id = %(lab)s"),
    # Baselines may be cells of other studies.
    (_CELL, "id", f"{_OWN} OR id IN ({_BASELINES})"),
    (Efficiency._meta.db_table, "cell_id", f"cell_id IN ({_CELLS})"),
    (
        Case._meta.db_table,
        "id",
        f"id IN (SELECT case_id FROM {_CELL} WHERE {_OWN})",
    ),
    (System._meta.db_table, "id", f"id IN ({_SYSTEMS})"),
    (
        Host._meta.db_table,
        "id",
        f"id IN (SELECT host_id FROM {System._meta.db_table} WHERE id IN ({_SYSTEMS}))",
    ),
    (Session._meta.db_table, "id", _OWN),
    (CoRun._meta.db_table, "id", _OWN),
    (_RUN, "id", _OWN),
    # Samples and cell sessions change only with their runs and cells.
    (_ENERGY, "id", _MEASURED),
    (Meter._meta.db_table, "id", f"id IN ({_METERS})"),
    (_FLAG, "id", _OWN),
    (Flag.cells.through._meta.db_table, "id", f"flag_id IN ({_FLAGS})"),
    (Decision._meta.db_table, "id", f"flag_id IN ({_FLAGS})"),
)
# Combined by xor, for the rows of a query come in any order.
_MARK = "hashtidextended(ctid, hashint8extended({key}, xmin::text::bigint))"
_MARKS = f"count(*), ':', bit_xor({_MARK})"
VERSION = "SELECT concat_ws('-', {})".format(
    ", ".join(
        f"(SELECT concat({_MARKS.format(key=key)}) FROM {table} WHERE {rows})"
        for table, key, rows in READ
    )
)


# The statistics restart when PostgreSQL recovers from a crash, which may repeat numbers
# of transactions.
_SERVER = """
    concat_ws(
        ' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(),
        (SELECT oid FROM pg_database WHERE datname = current_database())
    )
"""
# A standby's snapshot does not name what is under way.
SNAPSHOT = f"""
    SELECT concat_ws(' ', {_SERVER}, pg_current_snapshot())
    WHERE NOT pg_is_in_recovery()
"""
# Counts only grow, so an equal sum means no change. A new file restarts them.
NOTES: Final = "benchmarks_change"
_NOTED = f"""
    SELECT concat_ws(
        ' ', {_SERVER}, pg_relation_filenode('{NOTES}'), (
            SELECT coalesce(sum(note.n), 0)
            FROM unnest(%s::text[], %s::bigint[]) AS read (relation, part)
            JOIN {NOTES} AS note USING (relation, part)
        )
    )
"""
# Tables that count all their changes; samples count with their runs.
_TELLING = """
    SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE tgname ~ '^what_is_[a-z]+_is_noted$' AND tgenabled = 'A'
    GROUP BY relname
    HAVING count(*) >= CASE relname WHEN %s THEN 3 ELSE 4 END
"""
_RELATIONS = """
    SELECT relname FROM pg_class
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
      AND relnamespace = current_schema()::regnamespace
"""
# Whom a change concerns: a study, a lab, or nobody while nothing refers to the row.
# Other tables concern every reader.
OF_STUDY: Final = frozenset(
    f"benchmarks_{name}"
    for name in (
        *("cell", "cellsession", "comment", "corun", "decision", "job"),
        *("efficiency", "flag", "flag_cells", "flag_quotes", "flag_runs", "plan"),
        *("run", "runenergy", "runmean", "runwindow", "sample", "session"),
    )
)
OF_LAB: Final = frozenset(
    f"benchmarks_{name}"
    for name in (
        *("agent", "host", "meter", "owntool", "owntoolversion", "powerchunk"),
        "system",
    )
)
REFERRED_TO: Final = frozenset({Case._meta.db_table})
WHOLE, EVERY_PART = 0, -1
# A study, and those that its cells have baselines in or its flags quote.
_LEANT_ON = f"""
    SELECT baseline.study_id FROM {_CELL} AS cell
    JOIN {Efficiency._meta.db_table} AS against ON against.cell_id = cell.id
    JOIN {_CELL} AS baseline ON baseline.id = against.baseline_id
    WHERE cell.study_id = %(study)s
    UNION {_QUOTED}
    UNION SELECT id FROM {Study._meta.db_table} WHERE id = %(study)s
"""

# What the first page counts of each study (`rollups`), and from which tables.
_COUNTED_OF_STUDY: Final = frozenset(
    it._meta.db_table for it in (Run, Cell, Efficiency, Flag, Flag.cells.through)
)
_COUNTED_OF_LAB: Final = frozenset(
    it._meta.db_table for it in (System, OwnTool, OwnToolVersion)
)
_COUNTED: Final = _COUNTED_OF_STUDY | _COUNTED_OF_LAB | REFERRED_TO
_ROLLUPS: Final = frozenset({NOTES, StudyRollup._meta.db_table})
_SUMS = f"""
    SELECT CASE WHEN relation = ANY(%(study)s) THEN 'study'
                WHEN relation = ANY(%(lab)s) THEN 'lab' ELSE 'case' END AS counted,
           part, sum(n)::bigint
    FROM {NOTES} WHERE relation = ANY(%(all)s) AND part <> {WHOLE}
    GROUP BY counted, part
    UNION ALL SELECT 'file', pg_relation_filenode('{NOTES}')::bigint, 0
"""
_LEANT_ON_BY_CELLS = f"""
    SELECT id, lab_id FROM {Study._meta.db_table} WHERE id = %(study)s OR id IN (
        SELECT study_id FROM {_CELL} WHERE id IN ({_BASELINES})
    ) ORDER BY id
"""

LeantOn: TypeAlias = list[list[int]]
"""Studies whose cells a study counts, itself among them, each with its lab."""

Parts: TypeAlias = tuple[tuple[str, int], ...]
"""Tables, each with a study, a lab or `WHOLE`: what was read."""


@dataclass
class Reading:
    """The tables that statements have named since it began."""

    tables: set[str] = field(default_factory=set)

    def note(self, execute: Any, sql: Any, *given: Any) -> Any:
        """Let a statement be executed, as Django asks of what looks on."""
        self.tables |= _named(str(sql))
        return execute(sql, *given)

    def parts(self, study_id: int | None = None) -> Parts | None:
        """Return the tables and parts that were read; None if one has no change counts.

        With ``study_id`` only rows of this study, and of what it depends on, were read.
        """
        tables, counted = self.tables, frozenset[str]()
        if not tables.isdisjoint(_ROLLUPS):
            # A rollup is read while it says what its rows say.
            tables, counted = tables - _ROLLUPS, _COUNTED
        if not tables | counted <= telling_tables():
            return None
        studies, labs = studies_leant_on(study_id) if study_id else (None, None)
        parts = {(table, WHOLE) for table in counted}
        for table in tables:
            of: Iterable[int] | None = None
            if studies is not None:
                of = studies if table in OF_STUDY else of
                of = labs if table in OF_LAB else of
                of = () if table in REFERRED_TO else of
            each = (WHOLE,) if of is None else (EVERY_PART, *of)
            parts |= {(table, part) for part in each}
        return tuple(sorted(parts))


@sight.everything()  # what is hidden from this reader may be published
def studies_leant_on(study_id: int) -> tuple[list[int], list[int]]:
    """Return the studies that a study's pages read rows of, itself among them, and
    their labs."""
    with connection.cursor() as cursor:
        cursor.execute(_LEANT_ON, {"study": study_id})
        studies = [pk for (pk,) in cursor.fetchall()]
    owners = Study.objects.filter(pk__in=studies).values_list("lab_id", flat=True)
    return studies, list(owners.distinct())


@contextmanager
def reading() -> Iterator[Reading]:
    """Note which tables are read in the block."""
    noted = Reading()
    _relations()  # asked before statements are looked at, this one among them
    with connection.execute_wrapper(noted.note):
        yield noted


@lru_cache(maxsize=4096)
def _named(sql: str) -> frozenset[str]:
    return frozenset(WORD.findall(sql)) & _relations()


@cache
def _relations() -> frozenset[str]:
    """Return all tables there are; a process outlives no migration."""
    return _names(_RELATIONS)


@cache
def telling_tables() -> frozenset[str]:
    """Return the tables whose changes are noted, whoever makes them."""
    return _names(_TELLING, [Sample._meta.db_table])


def _names(statement: str, given: Sequence[str] = ()) -> frozenset[str]:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return frozenset(name for (name,) in cursor.fetchall())


def version_of(parts: Parts | None) -> str | None:
    """Return a text that changes with the data that was read.

    Without parts: the snapshot of a new query, None on a standby or a distributed
    database. None also in a transaction whose statements see different snapshots.
    """
    if parts is None and is_distributed():
        return None
    with connection.cursor() as cursor:
        if parts is None:
            cursor.execute(SNAPSHOT)
        else:
            names, numbers = zip(*parts, strict=True) if parts else ((), ())
            cursor.execute(_NOTED, [list(names), list(numbers)])
        row = cursor.fetchone()
    return str(row[0]) if row else None


@dataclass(frozen=True)
class RollupSums:
    """How often what rollups count was changed, by studies and labs."""

    of_study: Mapping[int, int]
    of_lab: Mapping[int, int]
    of_cases: int
    file: int

    def version(self, leant_on: LeantOn) -> str:
        """Return a text that is another one after any change of what is counted."""
        studies, labs = {pk for pk, _ in leant_on}, {lab for _, lab in leant_on}
        changes = self.of_cases
        changes += sum(self.of_study.get(pk, 0) for pk in {EVERY_PART, *studies})
        changes += sum(self.of_lab.get(pk, 0) for pk in {EVERY_PART, *labs})
        return f"{self.file} {changes}"


def rollup_sums() -> RollupSums:
    """Return what rollups' versions are made of, in one query."""
    given = {
        "study": sorted(_COUNTED_OF_STUDY),
        "lab": sorted(_COUNTED_OF_LAB),
        "all": sorted(_COUNTED),
    }
    sums: dict[str, dict[int, int]] = {"study": {}, "lab": {}, "case": {}, "file": {}}
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, given)
        for counted, part, n in cursor.fetchall():
            sums[counted][part] = n
    return RollupSums(
        sums["study"], sums["lab"], sum(sums["case"].values()), *sums["file"]
    )


def leant_on_by(study_id: int) -> LeantOn:
    """Return the studies whose cells a study counts: itself, and its baselines'."""
    with connection.cursor() as cursor:
        cursor.execute(_LEANT_ON_BY_CELLS, {"study": study_id})
        return [[*row] for row in cursor.fetchall()]


def gather_notes(most: int = 20) -> int:
    """Merge change counts of the same part; their sums stay the same."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT gather_changes(%s)", [most])
        return int(cursor.fetchone()[0])


def study_version(study: Study) -> str:
    """Return a text that changes with any data of a study; ask before reading them."""
    with connection.cursor() as cursor:
        # A function of `row_security`: sees all rows, and is planned once a session.
        cursor.execute("SELECT virtlab_study_version(%s, %s)", [study.pk, study.lab_id])
        return str(cursor.fetchone()[0])
