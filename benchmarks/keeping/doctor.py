"""What is wrong with an installation, or soon will be, and what to do about it."""

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

from benchmarks import broker, replica
from benchmarks.health import health, readiness
from benchmarks.row_security import is_enforced

BACKUP_STAMP: Final = "last-backup"
"""A file in VAR: `make backup` touches it when a backup is whole."""
BACKUP_DAYS: Final = 2.0
CLOCK_S: Final = 2.0
FREE_SHARE, FREE_BYTES = 0.1, 2e9
# PostgreSQL stops at two thousand million, to keep old rows from becoming new ones.
OLDEST_TRANSACTION: Final = 1_000_000_000
FEW_LETTERS: Final = 32
DURABLE: Final = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


@dataclass(frozen=True)
class Finding:
    """A check; ``problem`` is "" if it passed, ``grave`` if data or service are at
    risk."""

    what: str
    problem: str = ""
    grave: bool = False


def _when(is_wrong: object, what: str, problem: str, grave: bool = False) -> Finding:
    return Finding(what, problem if is_wrong else "", grave)


def examine() -> list[Finding]:
    """Look at everything; whatever cannot be looked at is a finding, too."""
    findings: list[Finding] = []
    looks = _settings, _servers, _replica, _clocks, _disk, _indexes, _work, _backups
    for look in looks:
        try:
            findings += look()
        except (DatabaseError, redis.RedisError, OSError) as error:
            connection.close()
            what = look.__name__.removeprefix("_")
            text = " ".join(str(error).split())
            findings.append(Finding(what, f"It cannot be looked at: {text}", True))
    return findings


def _settings() -> Iterator[Finding]:
    yield _when(
        settings.DEBUG,
        "DEBUG",
        "It is on: error pages show settings to everybody. Unset DEBUG.",
        grave=True,
    )
    yield _when(
        len(settings.SECRET_KEY) < FEW_LETTERS,
        "SECRET_KEY",
        "It has fewer than 32 letters and could be guessed. Draw a longer one.",
        grave=True,
    )
    hosts = settings.ALLOWED_HOSTS
    yield _when(
        "*" in hosts,
        "ALLOWED_HOSTS",
        "It takes any name. Say under which ones pages are asked for.",
    )
    own = {"127.0.0.1", "localhost", "[::1]", "web"}
    yield _when(
        set(hosts) - own and not settings.HTTPS,
        "HTTPS",
        "Others reach this server, and HTTPS is off: passwords go in clear. Put a "
        "proxy with HTTPS in front and set HTTPS=on.",
    )


def _servers() -> Iterator[Finding]:
    ready = readiness()
    yield Finding("migrations", ready.problem, grave=True)
    wrong = [
        f"{name}={value}"
        for name, wanted in DURABLE.items()
        if (value := _one(f"SHOW {name}")) != wanted
    ]
    yield _when(
        wrong,
        "durability of PostgreSQL",
        f"A power cut loses what was acknowledged ({', '.join(wrong)}). "
        "Set them to on.",
        grave=True,
    )
    yield _when(
        _one("SHOW data_checksums") != "on",
        "checksums of PostgreSQL",
        "They are off: a disk that lies is not noticed. pg_checksums turns them on.",
    )
    role = _one("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    problem = "The product is a superuser there. Give it a role of its own."
    yield _when(role, "rights in PostgreSQL", problem)
    yield _when(
        not is_enforced(),
        "row-level security",
        "It is not in force: one forgotten filter shows a lab's data to others. "
        "Give the tables an owner of their own, name it in OWNER_DATABASE_URL, and run "
        "prepare (docs/operations.md). Under Citus there is none.",
    )
    policy = broker.connection().config_get("maxmemory-policy")["maxmemory-policy"]
    yield _when(
        policy != "noeviction",
        "the broker's memory",
        f"It forgets messages when full (maxmemory-policy={policy}). Set noeviction.",
    )


def _replica() -> Iterator[Finding]:
    if not replica.is_configured():
        return
    lag = replica.lag()
    yield _when(
        lag.problem,
        "the standby",
        f"{lag.problem} Pages are read from the primary meanwhile.",
    )
    # Else a long reading on the standby ends in an error whenever rows are tidied away.
    feedback = replica.setting("hot_standby_feedback") if not lag.problem else "on"
    yield _when(
        feedback != "on",
        "readers of the standby",
        "hot_standby_feedback is off there: long exports may be cut off and read "
        "from the primary. Set it to on.",
    )


def _clocks() -> Iterator[Finding]:
    theirs: dict[str, Callable[[], float]] = {
        "PostgreSQL": lambda: float(
            _one("SELECT extract(epoch FROM clock_timestamp())")
        ),
        "Redis": _redis_clock,
    }
    for name, ask in theirs.items():
        before = time.time()
        off = abs(ask() - (before + time.time()) / 2)
        yield _when(
            off > CLOCK_S,
            f"the clock of {name}",
            f"It is {off:.0f} s off ours. Let both machines follow the same time "
            "server (chrony).",
        )


def _redis_clock() -> float:
    seconds, microseconds = broker.connection().time()  # type: ignore[no-untyped-call]
    return float(seconds + microseconds / 1e6)


def _disk() -> Iterator[Finding]:
    disk = shutil.disk_usage(settings.VAR if settings.VAR.exists() else "/")
    is_scarce = disk.free < FREE_BYTES or disk.free < FREE_SHARE * disk.total
    yield _when(
        is_scarce,
        "the disk",
        f"{disk.free / 1e9:.1f} GB of {disk.total / 1e9:.0f} GB are free. Make room.",
        grave=disk.free < FREE_BYTES,
    )


def _indexes() -> Iterator[Finding]:
    broken = _all(
        "SELECT indexrelid::regclass::text FROM pg_index"
        " WHERE NOT indisvalid OR NOT indisready ORDER BY 1"
    )
    names = ", ".join(name for (name,) in broken)
    yield _when(
        broken,
        "indexes",
        f"Not usable: {names}. REINDEX INDEX CONCURRENTLY makes them again.",
    )
    age = _one(
        "SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()"
    )
    yield _when(
        int(age) > OLDEST_TRANSACTION,
        "the age of transactions",
        f"{age:,} transactions were not frozen: autovacuum does not keep up. "
        "Run VACUUM (FREEZE).",
        grave=True,
    )


def _work() -> Iterator[Finding]:
    state = health()
    set_aside = state.outbox.quarantined if state.outbox else 0
    yield _when(
        set_aside, "quarantined runs", f"{set_aside} are set aside. manage.py jobs"
    )
    late = [each for each in state.due if each.is_late]
    told = ", ".join(
        f"{it.waiting} of {it.kind} for {it.oldest_s:.0f} s" for it in late
    )
    yield _when(
        late,
        "work that waits",
        f"{told}. Do the worker and the sweeper run? Their logs say why not.",
        grave=True,
    )
    stuck = [each for each in state.stuck if each.failing or each.quarantined]
    told = ", ".join(f"{it.failing + it.quarantined} of {it.kind}" for it in stuck)
    yield _when(stuck, "work that failed", f"{told}. manage.py jobs")


def _backups() -> Iterator[Finding]:
    age = backup_age_days()
    if age is None:
        problem = "None is known of. make backup, or an archive of the log, makes one."
    elif age > BACKUP_DAYS:
        problem = f"The newest is {age:.1f} days old. make backup"
    else:
        problem = ""
    yield Finding("backups", problem)
    failing = _one(
        "SELECT last_failed_wal FROM pg_stat_archiver"
        " WHERE last_failed_time > coalesce(last_archived_time, '-infinity')"
    )
    yield _when(
        failing,
        "the archive of the log",
        f"PostgreSQL could not archive {failing}: the disk fills until it can.",
        grave=True,
    )


def backup_age_days() -> float | None:
    """Return the age of the newest dump or archived log; None without any."""
    made: list[datetime] = []
    stamp = settings.VAR / BACKUP_STAMP
    if stamp.exists():
        modified = stamp.stat().st_mtime
        made.append(datetime.fromtimestamp(modified, timezone.get_current_timezone()))
    if archived := _one("SELECT last_archived_time FROM pg_stat_archiver"):
        made.append(archived)
    if not made:
        return None
    return max((timezone.now() - max(made)).total_seconds(), 0.0) / 86_400


def _all(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _one(query: str) -> Any:
    rows = _all(query)
    return rows[0][0] if rows else None
