"""Distribution of the large tables over a Citus cluster, by lab.

Samples, run means and uploaded texts are almost all of the data; their keys begin with
the lab and they have no foreign keys. Other tables stay on the coordinator.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from django.db import connection, models

from benchmarks.health import check_readiness
from benchmarks.models import RunMean, RunOutput, Sample

DISTRIBUTED_MODELS: Final[tuple[type[models.Model], ...]] = (Sample, RunMean, RunOutput)
DISTRIBUTION_COLUMN: Final = "lab_id"
SHARDS: Final = 32
MIN_CITUS_VERSION: Final = 14
# Change several labs' rows shard by shard: after a parallel change, Citus allows no
# further one in the same transaction.
SHARD_MODE_SETTING, SHARD_MODE = "citus.multi_shard_modify_mode", "sequential"
# Distributed tables have no counting triggers, so their pages are not cached
# (`studies/data_versions`).
COUNTER_TRIGGER_PATTERN: Final = "^[a-z]+_are_counted$"
DROP_COUNTERS_SQL: Final = f"""
    DO $$ DECLARE name text; BEGIN
        FOR name IN SELECT tgname FROM pg_trigger
            WHERE tgrelid = '{{table}}'::regclass
            AND tgname ~ '{COUNTER_TRIGGER_PATTERN}'
        LOOP EXECUTE format('DROP TRIGGER %I ON {{table}}', name); END LOOP;
    END $$
"""


class DistributionError(Exception):
    """A reason why the database cannot be distributed, with a remedy."""


def distribute(
    *, shards: int = SHARDS, dry_run: bool = False, report: Callable[[str], object]
) -> int:
    """Distribute the tables that are not distributed yet; return the number of steps.

    Each step is a transaction, so an interrupted distribution can be continued. Raises
    DistributionError before changing anything.
    """
    _check_preconditions()
    steps = list(_steps(shards))
    if steps and not dry_run:
        _check_no_processes_run()
    for description, statement in steps:
        report(f"{'would ' if dry_run else ''}{description}")
        if not dry_run:
            with connection.cursor() as cursor:
                cursor.execute(statement)
    return len(steps)


def _check_preconditions() -> None:
    version = _one("SELECT extversion FROM pg_extension WHERE extname = 'citus'")
    if version is None:
        raise DistributionError(
            "This database has no Citus. Install Citus on every machine, put citus "
            "first in shared_preload_libraries, and run as superuser: CREATE "
            "EXTENSION citus (docs/scaling.md)."
        )
    if int(re.split(r"\D", version)[0]) < MIN_CITUS_VERSION:
        raise DistributionError(
            f"This is Citus {version}. PostgreSQL 18 needs "
            f"{MIN_CITUS_VERSION} or later."
        )
    if not _one("SELECT citus_is_coordinator()"):
        raise DistributionError(
            "DATABASE_URL leads to a worker of the cluster. Enter the coordinator."
        )
    if not _one("SELECT count(*) FROM citus_get_active_worker_nodes()"):
        raise DistributionError(
            "The cluster has no workers. Run as superuser: SELECT "
            "citus_set_coordinator_host('this machine', 5432), then SELECT "
            "citus_add_node('worker', 5432) for each."
        )
    if problem := check_readiness().problem:
        raise DistributionError(problem)
    for model in DISTRIBUTED_MODELS:
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
            f"The table {table} belongs to another role. Enter that role in "
            "OWNER_DATABASE_URL."
        )
    if has_policies:
        raise DistributionError(
            f"Row-level security is on for {table}, and Citus refuses policies like "
            "ours (docs/decisions/row-level-security.md). Remove the policies first."
        )
    if column not in (None, DISTRIBUTION_COLUMN):
        raise DistributionError(
            f"{table} is already distributed by {column}. Run first: SELECT "
            f"undistribute_table('{table}')."
        )


def _check_no_processes_run() -> None:
    """Raise DistributionError if other processes are connected to the database.

    They cache how tables are stored.
    """
    sessions = _one(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        " AND application_name NOT LIKE 'citus%%'"
    )
    if sessions:
        raise DistributionError(
            f"Other connections to this database: {sessions}. Stop web, workers and "
            "sweepers first. Agents keep their results until then."
        )


def _steps(shards: int) -> Iterator[tuple[str, str]]:
    colocated = "none"
    for model in DISTRIBUTED_MODELS:
        table = model._meta.db_table
        is_distributed, notes_changes = _row(
            "SELECT EXISTS (SELECT FROM pg_dist_partition"
            " WHERE logicalrelid = %s::regclass AND partmethod = 'h'),"
            " EXISTS (SELECT FROM pg_trigger"
            " WHERE tgrelid = %s::regclass AND tgname ~ %s)",
            *(table, table, COUNTER_TRIGGER_PATTERN),
        )
        if not is_distributed:
            if notes_changes:
                yield (
                    f"note changes of {table} no longer: Citus takes no such triggers",
                    DROP_COUNTERS_SQL.format(table=table),
                )
            pretty, rows = _row(
                "SELECT pg_size_pretty(pg_total_relation_size(%s::regclass)),"
                f" EXISTS (SELECT FROM {table})",
                table,
            )
            count = f"shard_count => {shards}, " if colocated == "none" else ""
            yield (
                f"distribute {table} ({pretty}) by {DISTRIBUTION_COLUMN}"
                + (f" over {shards} shards" if count else f", with {colocated}"),
                f"SELECT create_distributed_table('{table}', "
                f"'{DISTRIBUTION_COLUMN}', {count}"
                f"colocate_with => '{colocated}')",
            )
            if rows:
                yield (
                    f"remove the coordinator's own copy of {table}",
                    f"SELECT truncate_local_data_after_distributing_table('{table}')",
                )
        colocated = table
    if _one(f"SELECT current_setting('{SHARD_MODE_SETTING}')") != SHARD_MODE:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        yield (
            f"set {SHARD_MODE_SETTING} = {SHARD_MODE} for the database",
            f"ALTER DATABASE {name} SET {SHARD_MODE_SETTING} = '{SHARD_MODE}'",
        )


def _row(query: str, *values: Any) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return tuple(cursor.fetchone() or (None,))


def _one(query: str, *values: Any) -> Any:
    return _row(query, *values)[0]
