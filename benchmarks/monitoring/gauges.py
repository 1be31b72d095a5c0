"""Gauges that are computed for each scrape, equal in all web processes."""

from collections.abc import Iterable, Iterator
from typing import Final

import redis
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
from benchmarks.maintenance.doctor import backup_age_days, disk_usage

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
        """Yield the gauges; if the database is down, only those that do not need it."""
        state = check_health()
        info = GaugeMetricFamily(
            "virtlab_info", "The version, as a label; always 1.", labels=["version"]
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
        "Age of the oldest run not yet processed.",
        outbox.oldest_age_s,
    )
    yield _gauge("runs_quarantined", "Quarantined runs.", outbox.quarantined)
    for name, unit, rows, meaning in (
        ("work_due", "waiting", state.waiting_jobs, "that are waiting."),
        (
            "work_failing",
            "retrying",
            state.failed_jobs,
            "that failed and will be tried again.",
        ),
        ("work_quarantined", "quarantined", state.failed_jobs, "in quarantine."),
    ):
        yield _by_kind(name, f"Background jobs {meaning}", unit, rows)
    oldest = "Age of the oldest waiting background job."
    yield _by_kind(
        "work_due_oldest_seconds", oldest, "oldest_age_s", state.waiting_jobs
    )


def replica_gauges(standby: ReplicaStatus) -> Iterator[GaugeMetricFamily]:
    yield _gauge(
        "replica_read", "Whether pages are read from the standby.", standby.is_in_use
    )
    if standby.lag_s is not None and standby.lag_bytes is not None:
        yield _gauge("replica_lag_seconds", "Age of the standby's data.", standby.lag_s)
        yield _gauge(
            "replica_lag_bytes",
            "Bytes of the log that the standby has not replayed yet.",
            standby.lag_bytes,
        )


def _database() -> Iterator[GaugeMetricFamily]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(_DATABASE)
            size, connections, max_connections, longest_s = cursor.fetchone()
    except DatabaseError:
        connection.close()
        return
    yield _gauge("database_size_bytes", "Size of the database on disk.", size)
    yield _gauge("database_connections", "Open connections to PostgreSQL.", connections)
    yield _gauge(
        "database_connections_limit", "Maximum number of connections.", max_connections
    )
    yield _gauge(
        "database_transaction_seconds",
        "Age of the oldest open transaction.",
        float(longest_s),
    )


def _backups() -> Iterator[GaugeMetricFamily]:
    try:
        days = backup_age_days()
    except DatabaseError:
        connection.close()
        return
    if days is not None:
        yield _gauge("backup_age_seconds", "Age of the newest backup.", days * 86_400)


def _broker() -> Iterator[GaugeMetricFamily]:
    try:
        client = redis_connection.connection()
        memory = client.info("memory")["used_memory"]
        waiting = {name: client.llen(name) for name in QUEUES}
    except (redis.RedisError, OSError):
        return
    yield _gauge("broker_memory_bytes", "Memory used by Redis.", memory)
    messages = GaugeMetricFamily(
        "virtlab_broker_messages",
        "Wake-up hints that no worker has taken.",
        labels=["queue"],
    )
    for name, number in waiting.items():
        messages.add_metric([name], number)
    yield messages


def _disk() -> Iterator[GaugeMetricFamily]:
    usage = disk_usage()
    yield _gauge(
        "disk_free_bytes",
        "Free space on the disk with the product's folder.",
        usage.free,
    )
    yield _gauge("disk_size_bytes", "Size of that disk.", usage.total)
