"""Gauges computed at each scrape, equal in every web process."""

import shutil
from collections.abc import Iterable, Iterator
from typing import Final

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from benchmarks import redis_connection
from benchmarks.health import (
    FailedJobs,
    Health,
    ReplicaStatus,
    WaitingJobs,
    check_health,
)
from benchmarks.maintenance.doctor import backup_age_days

QUEUES: Final = ("interactive", "bulk")
_DATABASE: Final = """
    SELECT pg_database_size(current_database()),
           (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
           (SELECT setting::int FROM pg_settings WHERE name = 'max_connections'),
           (SELECT coalesce(extract(epoch FROM max(now() - xact_start)), 0)
            FROM pg_stat_activity WHERE datname = current_database())
"""


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"virtlab_{name}", help_text, value=value)


def _by_kind(
    name: str, help_text: str, field: str, rows: Iterable[WaitingJobs | FailedJobs]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"virtlab_{name}", help_text, labels=["kind"])
    for row in rows:
        family.add_metric([row.kind], getattr(row, field))
    return family


class InstallationCollector(Collector):
    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Without a database, yield only gauges that do not need it."""
        state = check_health()
        info = GaugeMetricFamily(
            "virtlab_info", "Which version runs; always 1.", labels=["version"]
        )
        info.add_metric([state.version], 1)
        yield info
        yield _gauge("database_up", "Whether PostgreSQL answers.", state.database)
        yield _gauge("broker_up", "Whether Redis answers.", state.redis)
        yield from _work(state)
        if state.replica:
            yield from replica_gauges(state.replica)
        if state.database:
            yield from _database()
            yield from _backups()
        if state.redis:
            yield from _broker()
        yield from _disk()


def _work(state: Health) -> Iterator[GaugeMetricFamily]:
    if state.outbox is None:
        return
    outbox = state.outbox
    yield _gauge("outbox_waiting", "Uploaded runs not yet processed.", outbox.waiting)
    yield _gauge(
        "outbox_oldest_seconds",
        "How long the oldest of them waits.",
        outbox.oldest_age_s,
    )
    yield _gauge("runs_quarantined", "Runs that were set aside.", outbox.quarantined)
    for name, unit, rows, meaning in (
        ("work_due", "waiting", state.waiting_jobs, "that wait for their turn."),
        (
            "work_failing",
            "retrying",
            state.failed_jobs,
            "that failed and are tried again.",
        ),
        ("work_quarantined", "quarantined", state.failed_jobs, "that were set aside."),
    ):
        yield _by_kind(name, f"Units of background work {meaning}", unit, rows)
    oldest = "How long the oldest of them waits."
    yield _by_kind(
        "work_due_oldest_seconds", oldest, "oldest_age_s", state.waiting_jobs
    )


def replica_gauges(standby: ReplicaStatus) -> Iterator[GaugeMetricFamily]:
    """Yield the standby's lag, if any."""
    yield _gauge(
        "replica_read", "Whether pages are read from the standby.", standby.is_in_use
    )
    if standby.lag_s is not None and standby.lag_bytes is not None:
        yield _gauge(
            "replica_lag_seconds", "How old the standby's data are.", standby.lag_s
        )
        yield _gauge(
            "replica_lag_bytes", "Of the log, not replayed yet.", standby.lag_bytes
        )


def _database() -> Iterator[GaugeMetricFamily]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(_DATABASE)
            size, connections, max_connections, longest_s = cursor.fetchone()
    except DatabaseError:
        connection.close()
        return
    yield _gauge("database_size_bytes", "Of the database on its disk.", size)
    yield _gauge("database_connections", "Open sessions of PostgreSQL.", connections)
    yield _gauge(
        "database_connections_limit", "How many there may be.", max_connections
    )
    yield _gauge(
        "database_transaction_seconds",
        "How long the longest transaction is open.",
        float(longest_s),
    )


def _backups() -> Iterator[GaugeMetricFamily]:
    try:
        days = backup_age_days()
    except DatabaseError:
        connection.close()
        return
    if days is not None:
        yield _gauge(
            "backup_age_seconds", "How old the newest backup is.", days * 86_400
        )


def _broker() -> Iterator[GaugeMetricFamily]:
    try:
        client = redis_connection.connection()
        memory = client.info("memory")["used_memory"]
        waiting = {name: client.llen(name) for name in QUEUES}
    except (redis.RedisError, OSError):
        return
    yield _gauge("broker_memory_bytes", "Used by Redis.", memory)
    messages = GaugeMetricFamily(
        "virtlab_broker_messages", "Hints that no worker has taken.", labels=["queue"]
    )
    for name, number in waiting.items():
        messages.add_metric([name], number)
    yield messages


def _disk() -> Iterator[GaugeMetricFamily]:
    usage = shutil.disk_usage(settings.VAR_DIR if settings.VAR_DIR.exists() else "/")
    yield _gauge(
        "disk_free_bytes", "Of the disk with the product's folder.", usage.free
    )
    yield _gauge("disk_size_bytes", "Of that disk.", usage.total)
