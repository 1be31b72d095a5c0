"""Distribute the large tables over the machines of a Citus cluster, by lab.

Samples, run means and raw texts hold almost all bytes. Their keys begin with the lab
and they have no foreign keys. All other tables stay on the coordinator.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from django.db import connection, models

from benchmarks.health import readiness
from benchmarks.models import RunMean, RunOutput, Sample

LARGE: Final[tuple[type[models.Model], ...]] = (Sample, RunMean, RunOutput)
COLUMN: Final = "lab_id"
SHARDS: Final = 32
OLDEST: Final = 14
# Statements that change rows of several labs go to one shard after the other: what ran
# on many at once could not be followed by another change in the same transaction.
SETTING, WANTED = "citus.multi_shard_modify_mode", "sequential"
# Pages that name such a table are not kept then (`studies/data_versions`).
NOTES_CHANGES: Final = "^what_is_[a-z]+_is_noted$"
FORGET: Final = f"""
    DO $$ DECLARE name text; BEGIN
        FOR name IN SELECT tgname FROM pg_trigger
            WHERE tgrelid = '{{table}}'::regclass AND tgname ~ '{NOTES_CHANGES}'
        LOOP EXECUTE format('DROP TRIGGER %I ON {{table}}', name); END LOOP;
    END $$
"""


class DistributionError(Exception):
    """Why a database cannot be distributed, and what to do about it."""


def distribute(
    *, shards: int = SHARDS, dry_run: bool = False, say: Callable[[str], object]
) -> int:
    """Distribute the large tables, one transaction a step; return the number of steps.

    After an interruption the next call continues. Raises DistributionError before
    anything is changed.
    """
    _refuse_what_cannot_be()
    steps = list(_steps(shards))
    if steps and not dry_run:
        _refuse_company()
    for words, statement in steps:
        say(f"{'would ' if dry_run else ''}{words}")
        if not dry_run:
            with connection.cursor() as cursor:
                cursor.execute(statement)
    return len(steps)


def _refuse_what_cannot_be() -> None:
    version = _one("SELECT extversion FROM pg_extension WHERE extname = 'citus'")
    if version is None:
        raise DistributionError(
            "This database has no Citus. Install it on every machine, put citus first "
            "in shared_preload_libraries, and as superuser: CREATE EXTENSION citus "
            "(docs/scaling.md)."
        )
    if int(re.split(r"\D", version)[0]) < OLDEST:
        raise DistributionError(
            f"This is Citus {version}; PostgreSQL 18 needs {OLDEST} or later."
        )
    if not _one("SELECT citus_is_coordinator()"):
        raise DistributionError(
            "This is a worker of the cluster. Let DATABASE_URL lead to the coordinator."
        )
    if not _one("SELECT count(*) FROM citus_get_active_worker_nodes()"):
        raise DistributionError(
            "The cluster has no workers. As superuser: SELECT "
            "citus_set_coordinator_host('this machine', 5432), then SELECT "
            "citus_add_node('worker', 5432) for each."
        )
    if problem := readiness().problem:
        raise DistributionError(problem)
    for model in LARGE:
        _refuse_table(model._meta.db_table)


def _refuse_table(table: str) -> None:
    is_ours, has_policies, column = _row(
        "SELECT pg_has_role(current_user, relowner, 'USAGE'), relrowsecurity,"
        " (SELECT column_to_column_name(logicalrelid, partkey) FROM pg_dist_partition"
        "  WHERE logicalrelid = pg_class.oid AND partmethod = 'h')"
        " FROM pg_class WHERE oid = %s::regclass",
        table,
    )
    if not is_ours:
        raise DistributionError(
            f"The table {table} is another role's. Give that role in "
            "OWNER_DATABASE_URL."
        )
    if has_policies:
        raise DistributionError(
            f"Row-level security is on for {table}, and Citus refuses policies like "
            "ours (docs/decisions/row-level-security.md). Take them off first."
        )
    if column not in (None, COLUMN):
        raise DistributionError(
            f"{table} is distributed by {column} already. First: SELECT "
            f"undistribute_table('{table}')."
        )


def _refuse_company() -> None:
    """Refuse while processes of the product run: they store as they know the tables."""
    others = _one(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        " AND application_name NOT LIKE 'citus%%'"
    )
    if others:
        raise DistributionError(
            f"Connected to this database, beside this command: {others}. Stop web, "
            "workers and sweepers first; what agents measure waits with them."
        )


def _steps(shards: int) -> Iterator[tuple[str, str]]:
    """Yield what is still to be done: in words, and as a statement."""
    beside = "none"
    for model in LARGE:
        table = model._meta.db_table
        is_distributed, notes_changes = _row(
            "SELECT EXISTS (SELECT FROM pg_dist_partition"
            " WHERE logicalrelid = %s::regclass AND partmethod = 'h'),"
            " EXISTS (SELECT FROM pg_trigger"
            " WHERE tgrelid = %s::regclass AND tgname ~ %s)",
            *(table, table, NOTES_CHANGES),
        )
        if not is_distributed:
            if notes_changes:
                yield (
                    f"note changes of {table} no longer: Citus takes no such triggers",
                    FORGET.format(table=table),
                )
            pretty, rows = _row(
                "SELECT pg_size_pretty(pg_total_relation_size(%s::regclass)),"
                f" EXISTS (SELECT FROM {table})",
                table,
            )
            count = f"shard_count => {shards}, " if beside == "none" else ""
            yield (
                f"distribute {table} ({pretty}) by {COLUMN}"
                + (f" over {shards} shards" if count else f", beside {beside}"),
                f"SELECT create_distributed_table('{table}', '{COLUMN}', {count}"
                f"colocate_with => '{beside}')",
            )
            if rows:
                yield (
                    f"remove the coordinator's own copy of {table}",
                    f"SELECT truncate_local_data_after_distributing_table('{table}')",
                )
        beside = table
    if _one(f"SELECT current_setting('{SETTING}')") != WANTED:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        yield (
            f"set {SETTING} = {WANTED} for the database",
            f"ALTER DATABASE {name} SET {SETTING} = '{WANTED}'",
        )


def _row(query: str, *values: Any) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return tuple(cursor.fetchone() or (None,))


def _one(query: str, *values: Any) -> Any:
    return _row(query, *values)[0]
