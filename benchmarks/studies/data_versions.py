"""Which version of a study, or of everything, the database holds: keys.

Of everything: the snapshot of a query begun now, PostgreSQL's own word for which
transactions it sees.

Of a study: PostgreSQL marks every row with the transaction that wrote it (``xmin``)
and its place (``ctid``), and writes a changed row to another place. The marks of all
rows that a study's pages are made of, put together, change with each of them,
whoever wrote it and however: there is no counter that somebody could forget to raise.
`docs/decisions/caching.md` says why, and what may be kept under such a key.
"""

from django.db import connection

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
    Run,
    RunEnergy,
    Session,
    Study,
    System,
)

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
    # Millions of samples are not looked at: who writes them writes their runs as well,
    # and who writes what a session says of a cell (`cell_sessions`) writes that cell.
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


# The statistics begin anew when PostgreSQL recovers from a crash of one of its
# processes, which is no start of the server but may give numbers of transactions once
# more. A standby's snapshot does not name what is under way.
SNAPSHOT = """
    SELECT concat_ws(
        ' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(),
        pg_current_snapshot()
    ) WHERE NOT pg_is_in_recovery()
"""


def database_version() -> str | None:
    """Return a text that is another one after any change of anything, in one query.

    None inside a transaction, which sees its own changes and no snapshot tells of them,
    and on a standby. Any process that writes any row of the server changes it, and a
    restart or a crash does: a server that was set back may give the same numbers again.
    """
    if connection.in_atomic_block:
        return None
    with connection.cursor() as cursor:
        cursor.execute(SNAPSHOT)
        row = cursor.fetchone()
    return str(row[0]) if row else None


def study_version(study: Study) -> str:
    """Return a text that is another one after any change of a study, in one query.

    Ask for it before what is to be kept is read: what is changed in between is then
    kept under a version that nobody will ever ask for again.
    """
    with connection.cursor() as cursor:
        # `row_security` makes a function of it: of rows that the reader is not shown,
        # too, and planned once a session. Planning takes longer than reading.
        cursor.execute("SELECT virtlab_study_version(%s, %s)", [study.pk, study.lab_id])
        return str(cursor.fetchone()[0])
