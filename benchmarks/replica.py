"""Reading of pages and exports from a standby of the database.

In a `from_replica` block, all queries of the thread use the standby; in a
`from_primary` block, the primary. See docs/scaling.md, A standby for readers.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

PRIMARY: Final = "default"
REPLICA: Final = "replica"
# Times after which a standby is checked again: after a failure, and after a success.
FAILURE_RETRY_S: Final = 5.0
CHECK_INTERVAL_S: Final = 1.0
logger = logging.getLogger(__name__)

_PRIMARY_STATE_SQL: Final = """
    SELECT system_identifier::text, pg_current_wal_insert_lsn()::text
    FROM pg_control_system()
"""
_REPLICA_STATE_SQL: Final = """
    SELECT system_identifier::text, pg_is_in_recovery(),
           greatest(0, pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn()))::bigint,
           extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float
    FROM pg_control_system()
"""


@dataclass(frozen=True)
class Lag:
    """The lag of the standby, None if unknown; ``problem`` says why it is not used."""

    seconds: float | None = None
    bytes: int | None = None
    problem: str = ""


def is_configured() -> bool:
    return REPLICA in connections.databases


def lag() -> Lag:
    """Raise DatabaseError if the primary fails."""
    identity, lsn = _fetch_row(PRIMARY, _PRIMARY_STATE_SQL)
    try:
        replica_identity, is_standby, lag_bytes, age_s = _fetch_row(
            REPLICA, _REPLICA_STATE_SQL, lsn
        )
    except DatabaseError as error:
        connections[REPLICA].close()
        return Lag(problem=f"It is not responding: {' '.join(str(error).split())}")
    if not is_standby:
        return Lag(problem="It is not a standby server (any longer).")
    if replica_identity != identity:
        return Lag(problem="It is a standby of another PostgreSQL.")
    seconds = age_s if lag_bytes else 0.0
    problem = ""
    if seconds is None or seconds > settings.REPLICA_MAX_LAG_S:
        problem = f"It is more than {settings.REPLICA_MAX_LAG_S} s behind."
    return Lag(seconds, lag_bytes, problem)


def replica_setting(name: str) -> str:
    return str(_fetch_row(REPLICA, "SELECT current_setting(%s)", name)[0])


class _ReplicaCheck:
    """The result of the last check of the standby, shared by all threads."""

    valid_until = 0.0
    is_usable = False

    def is_recent(self) -> bool:
        return time.monotonic() < self.valid_until

    def record(self, problem: str) -> None:
        if problem and (self.is_usable or not self.valid_until):
            logger.warning("Pages are read from the primary. The standby: %s", problem)
        elif not problem and not self.is_usable:
            logger.info("Pages are read from the standby.")
        self.is_usable = not problem
        self.valid_until = time.monotonic() + (
            FAILURE_RETRY_S if problem else CHECK_INTERVAL_S
        )


_last_check = _ReplicaCheck()


class _ThreadState(threading.local):
    primary: BaseDatabaseWrapper | None = None


_thread = _ThreadState()


def can_serve_reads(min_lsn: str | None) -> bool:
    if not _last_check.is_recent():
        _last_check.record(lag().problem)
    if not _last_check.is_usable:
        return False
    if min_lsn is None:
        return True
    try:
        [has_it] = _fetch_row(
            REPLICA, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", min_lsn
        )
    except DatabaseError as error:
        record_failure(error)
        return False
    return bool(has_it)


def record_failure(error: BaseException) -> None:
    _last_check.record(f"It failed: {' '.join(str(error).split())}")
    connections[REPLICA].close()


def current_lsn() -> str:
    [lsn] = _fetch_row(PRIMARY, "SELECT pg_current_wal_insert_lsn()::text")
    return str(lsn)


@contextmanager
def from_replica() -> Iterator[list[Exception]]:
    """Let the thread read from the standby; yield a list that collects its errors."""
    failures: list[Exception] = []

    def record_errors(execute: Callable[..., Any], *statement: Any) -> Any:
        try:
            return execute(*statement)
        except DatabaseError as error:
            failures.append(error)
            raise

    replica = connections[REPLICA]
    with _redirected_to(replica), replica.execute_wrapper(record_errors):
        yield failures


@contextmanager
def from_primary() -> Iterator[None]:
    """Let the thread read from the primary, even inside `from_replica`."""
    if _thread.primary is None:
        yield
        return
    with _redirected_to(_thread.primary):
        yield


@contextmanager
def _redirected_to(server: BaseDatabaseWrapper) -> Iterator[None]:
    before, primary = connections[PRIMARY], _thread.primary
    connections[PRIMARY] = server
    _thread.primary = None if server is primary else primary or before
    try:
        yield
    finally:
        connections[PRIMARY], _thread.primary = before, primary


def _fetch_row(alias: str, query: str, *values: Any) -> tuple[Any, ...]:
    with connections[alias].cursor() as cursor:
        cursor.execute(query, values)
        return tuple(cursor.fetchone())
