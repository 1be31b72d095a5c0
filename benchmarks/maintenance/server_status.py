"""The state of the server for its operators: queue, backup, disk, checks."""

from dataclasses import dataclass

from django.db import DatabaseError, connection

from benchmarks.health import Health, check_health
from benchmarks.maintenance.doctor import (
    Diagnosis,
    backup_age_days,
    diagnose,
    disk_usage,
)


@dataclass(frozen=True)
class ServerStatus:
    """Critical findings come first in ``problems``."""

    health: Health
    problems: tuple[Diagnosis, ...]
    passed: tuple[str, ...]
    backup_age_days: float | None
    disk_free_bytes: int
    disk_total_bytes: int
    database_bytes: int | None

    @property
    def critical_count(self) -> int:
        return sum(problem.is_critical for problem in self.problems)


def server_status() -> ServerStatus:
    findings = diagnose()
    disk = disk_usage()
    age_days = database_bytes = None
    try:
        age_days = backup_age_days()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            database_bytes = int(cursor.fetchone()[0])
    except DatabaseError:
        connection.close()
    wrong = [finding for finding in findings if finding.problem]
    return ServerStatus(
        health=check_health(),
        problems=tuple(sorted(wrong, key=lambda finding: not finding.is_critical)),
        passed=tuple(finding.check for finding in findings if not finding.problem),
        backup_age_days=age_days,
        disk_free_bytes=disk.free,
        disk_total_bytes=disk.total,
        database_bytes=database_bytes,
    )
