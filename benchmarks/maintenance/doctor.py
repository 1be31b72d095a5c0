"""Checks of an installation, with problems and their solutions."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from benchmarks import redis_connection, replica
from benchmarks.health import check_health, check_readiness
from benchmarks.rls_policies import is_enforced
from benchmarks.sentences import Sentence, join_sentences

BACKUP_STAMP: Final = "last-backup"
"""The name of a file in VAR_DIR that each complete `make backup` touches."""
MAX_BACKUP_AGE_DAYS: Final = 2.0
MAX_CLOCK_DIFFERENCE_S: Final = 2.0
MIN_FREE_FRACTION, MIN_FREE_SPACE_BYTES = 0.1, 2e9
# At two billion, PostgreSQL stops, because transaction ids would wrap around.
MAX_TRANSACTION_AGE: Final = 1_000_000_000
MIN_SECRET_LENGTH: Final = 32
DURABILITY_SETTINGS: Final = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
}


@dataclass(frozen=True)
class Diagnosis:
    """The result of a check; ``problem`` is "" if it passed.

    ``is_critical``: the problem puts data or the service at risk.
    """

    check: str
    problem: str = ""
    is_critical: bool = False


def _diagnosis(
    is_wrong: object, check: str, problem: str, is_critical: bool = False
) -> Diagnosis:
    return Diagnosis(check, problem if is_wrong else "", is_critical)


def diagnose() -> list[Diagnosis]:
    """A check that raises an error counts as a critical problem."""
    findings: list[Diagnosis] = []
    checks = _settings, _servers, _replica, _clocks, _disk, _indexes, _work, _backups
    for check in checks:
        try:
            findings += check()
        except (DatabaseError, redis.RedisError, OSError) as error:
            connection.close()
            name = check.__name__.removeprefix("_")
            text = " ".join(str(error).split())
            problem = Sentence("The check failed: {error}", error=text)
            findings.append(Diagnosis(name, problem, True))
    return findings


def _settings() -> Iterator[Diagnosis]:
    yield _diagnosis(
        settings.DEBUG,
        "DEBUG",
        Sentence("It is on, so error pages show settings to everyone. Unset DEBUG."),
        is_critical=True,
    )
    yield _diagnosis(
        len(settings.SECRET_KEY) < MIN_SECRET_LENGTH,
        "SECRET_KEY",
        Sentence(
            "It has fewer than 32 characters and could be guessed. Generate a longer "
            "one."
        ),
        is_critical=True,
    )
    hosts = settings.ALLOWED_HOSTS
    yield _diagnosis(
        "*" in hosts,
        "ALLOWED_HOSTS",
        Sentence("It accepts any host name. List the host names of this site."),
    )
    internal_hosts = {"127.0.0.1", "localhost", "[::1]", "web"}
    yield _diagnosis(
        set(hosts) - internal_hosts and not settings.HTTPS,
        "HTTPS",
        Sentence(
            "The server is reachable by others, but HTTPS is off: passwords are sent "
            "unencrypted. Put an HTTPS proxy in front and set HTTPS=on."
        ),
    )


def _servers() -> Iterator[Diagnosis]:
    ready = check_readiness()
    yield Diagnosis(Sentence("migrations"), ready.problem, is_critical=True)
    wrong = [
        f"{name}={value}"
        for name, expected in DURABILITY_SETTINGS.items()
        if (value := _one(f"SHOW {name}")) != expected
    ]
    yield _diagnosis(
        wrong,
        Sentence("durability of PostgreSQL"),
        Sentence(
            "A power failure loses acknowledged data ({settings}). Set them to on.",
            settings=", ".join(wrong),
        ),
        is_critical=True,
    )
    yield _diagnosis(
        _one("SHOW data_checksums") != "on",
        Sentence("checksums of PostgreSQL"),
        Sentence(
            "They are off, so disk corruption is not detected. Enable with "
            "pg_checksums."
        ),
    )
    role = _one("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    problem = Sentence(
        "Virtlab connects as a superuser. Create a separate role for it."
    )
    yield _diagnosis(role, Sentence("role in PostgreSQL"), problem)
    yield _diagnosis(
        not is_enforced(),
        Sentence("row-level security"),
        Sentence(
            "It is not enforced: one missing filter shows a lab's data to others. "
            "Create a separate owner of the tables, set OWNER_DATABASE_URL, and run "
            "prepare (docs/settings.md). Not available with Citus."
        ),
    )
    policy = redis_connection.connection().config_get("maxmemory-policy")[
        "maxmemory-policy"
    ]
    yield _diagnosis(
        policy != "noeviction",
        Sentence("memory of the broker"),
        Sentence(
            "It drops messages when full (maxmemory-policy={policy}). Set noeviction.",
            policy=str(policy),
        ),
    )


def _replica() -> Iterator[Diagnosis]:
    if not replica.is_configured():
        return
    lag = replica.lag()
    yield _diagnosis(
        lag.problem,
        Sentence("the standby"),
        Sentence(
            "{problem} Pages are read from the primary in the meantime.",
            problem=lag.problem,
        ),
    )
    # Without this setting, vacuum cancels long queries on the standby.
    feedback = (
        replica.replica_setting("hot_standby_feedback") if not lag.problem else "on"
    )
    yield _diagnosis(
        feedback != "on",
        Sentence("queries on the standby"),
        Sentence(
            "hot_standby_feedback is off on the standby: long exports may be canceled "
            "and read from the primary. Set it to on."
        ),
    )


def _clocks() -> Iterator[Diagnosis]:
    remote_clocks: dict[str, Callable[[], float]] = {
        "PostgreSQL": lambda: float(
            _one("SELECT extract(epoch FROM clock_timestamp())")
        ),
        "Redis": _redis_clock,
    }
    for name, ask in remote_clocks.items():
        before = time.time()
        off = abs(ask() - (before + time.time()) / 2)
        yield _diagnosis(
            off > MAX_CLOCK_DIFFERENCE_S,
            Sentence("clock of {name}", name=name),
            Sentence(
                "It differs from this machine's clock by {seconds} s. Synchronize both "
                "machines with the same time server (chrony).",
                seconds=f"{off:.0f}",
            ),
        )


def _redis_clock() -> float:
    seconds, microseconds = redis_connection.connection().time()  # type: ignore[no-untyped-call]
    return float(seconds + microseconds / 1e6)


def disk_usage() -> shutil._ntuple_diskusage:
    return shutil.disk_usage(settings.VAR_DIR if settings.VAR_DIR.exists() else "/")


def _disk() -> Iterator[Diagnosis]:
    disk = disk_usage()
    is_scarce = (
        disk.free < MIN_FREE_SPACE_BYTES or disk.free < MIN_FREE_FRACTION * disk.total
    )
    yield _diagnosis(
        is_scarce,
        Sentence("disk"),
        Sentence(
            "{free} GB of {total} GB are free. Make space.",
            free=f"{disk.free / 1e9:.1f}",
            total=f"{disk.total / 1e9:.0f}",
        ),
        is_critical=disk.free < MIN_FREE_SPACE_BYTES,
    )


def _indexes() -> Iterator[Diagnosis]:
    broken = _all(
        "SELECT indexrelid::regclass::text FROM pg_index"
        " WHERE NOT indisvalid OR NOT indisready ORDER BY 1"
    )
    names = ", ".join(name for (name,) in broken)
    yield _diagnosis(
        broken,
        Sentence("indexes"),
        Sentence(
            "Not usable: {names}. Rebuild them with REINDEX INDEX CONCURRENTLY.",
            names=names,
        ),
    )
    age = _one(
        "SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()"
    )
    yield _diagnosis(
        int(age) > MAX_TRANSACTION_AGE,
        Sentence("age of transactions"),
        Sentence(
            "{age} transactions are not frozen: autovacuum does not keep up. "
            "Run VACUUM on the database.",
            age=f"{age:,}",
        ),
        is_critical=True,
    )


def _work() -> Iterator[Diagnosis]:
    state = check_health()
    set_aside = state.outbox.quarantined if state.outbox else 0
    yield _diagnosis(
        set_aside,
        Sentence("quarantined runs"),
        Sentence("{n} runs are quarantined. See: manage.py jobs", n=set_aside),
    )
    late_jobs = [jobs for jobs in state.waiting_jobs if jobs.is_late]
    details = join_sentences(
        [
            Sentence(
                "{n} of {kind} for {seconds} s",
                n=row.waiting,
                kind=row.kind,
                seconds=f"{row.oldest_age_s:.0f}",
            )
            for row in late_jobs
        ],
        ", ",
    )
    yield _diagnosis(
        late_jobs,
        Sentence("waiting jobs"),
        Sentence(
            "{jobs}. Check that the worker and the sweeper run, and see their logs.",
            jobs=details,
        ),
        is_critical=True,
    )
    failed = [jobs for jobs in state.failed_jobs if jobs.retrying or jobs.quarantined]
    details = join_sentences(
        [
            Sentence("{n} of {kind}", n=row.retrying + row.quarantined, kind=row.kind)
            for row in failed
        ],
        ", ",
    )
    problem = Sentence("{jobs}. See: manage.py jobs", jobs=details)
    yield _diagnosis(failed, Sentence("failed jobs"), problem)


def _backups() -> Iterator[Diagnosis]:
    age = backup_age_days()
    if age is None:
        problem = Sentence("No backup is known. Run make backup, or archive the WAL.")
    else:
        problem = Sentence(
            "The newest backup is {days} days old. Run: make backup", days=f"{age:.1f}"
        )
    is_old = age is None or age > MAX_BACKUP_AGE_DAYS
    yield _diagnosis(is_old, Sentence("backups"), problem)
    failing = _one(
        "SELECT last_failed_wal FROM pg_stat_archiver"
        " WHERE last_failed_time > coalesce(last_archived_time, '-infinity')"
    )
    yield _diagnosis(
        failing,
        Sentence("the WAL archive"),
        Sentence(
            "PostgreSQL could not archive {file}. The disk fills up until it can. "
            "Check archive_command and the space of the archive.",
            file=str(failing),
        ),
        is_critical=True,
    )


def backup_age_days() -> float | None:
    """Return the age of the newest dump or archived WAL file; None without any."""
    timestamps: list[datetime] = []
    stamp = settings.VAR_DIR / BACKUP_STAMP
    if stamp.exists():
        modified = stamp.stat().st_mtime
        timestamps.append(
            datetime.fromtimestamp(modified, timezone.get_current_timezone())
        )
    if archived := _one("SELECT last_archived_time FROM pg_stat_archiver"):
        timestamps.append(archived)
    if not timestamps:
        return None
    return max((timezone.now() - max(timestamps)).total_seconds(), 0.0) / 86_400


def _all(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _one(query: str) -> Any:
    rows = _all(query)
    return rows[0][0] if rows else None
