"""A standby of the database, for reading pages and exports.

Inside `from_replica` all queries of this thread use the standby, inside `from_primary`
the primary again. A writer's later reads wait until the standby has replayed their LSN.
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
# So long a standby that did not answer is not asked again, and an answer counts.
REST_S: Final = 5.0
LOOK_S: Final = 1.0
logger = logging.getLogger(__name__)

_PRIMARY_SAYS: Final = """
    SELECT system_identifier::text, pg_current_wal_insert_lsn()::text
    FROM pg_control_system()
"""
_REPLICA_SAYS: Final = """
    SELECT system_identifier::text, pg_is_in_recovery(),
           greatest(0, pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn()))::bigint,
           extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float
    FROM pg_control_system()
"""


@dataclass(frozen=True)
class Lag:
    """How far a standby is behind; ``problem``: why it is not used; None: unknown."""

    seconds: float | None = None
    bytes: int | None = None
    problem: str = ""


def is_configured() -> bool:
    return REPLICA in connections.databases


def lag() -> Lag:
    """Ask both servers now. Raises what the primary's absence raises."""
    identity, place = _one(PRIMARY, _PRIMARY_SAYS)
    try:
        other, is_standby, behind, age_s = _one(REPLICA, _REPLICA_SAYS, place)
    except DatabaseError as error:
        connections[REPLICA].close()
        return Lag(problem=f"It does not answer: {' '.join(str(error).split())}")
    if not is_standby:
        return Lag(problem="It is no standby: it was promoted, or never was one.")
    if other != identity:
        return Lag(problem="It is a standby of another PostgreSQL.")
    seconds = age_s if behind else 0.0
    problem = ""
    if seconds is None or seconds > settings.REPLICA_LAG_S:
        problem = f"It is more than {settings.REPLICA_LAG_S} s behind."
    return Lag(seconds, behind, problem)


def setting(name: str) -> str:
    return str(_one(REPLICA, "SELECT current_setting(%s)", name)[0])


class _Look:
    """The last look at the standby, by any thread of this process."""

    until = 0.0
    is_usable = False

    def is_recent(self) -> bool:
        return time.monotonic() < self.until

    def note(self, problem: str) -> None:
        if problem and (self.is_usable or not self.until):
            logger.warning("Pages are read from the primary. The standby: %s", problem)
        elif not problem and not self.is_usable:
            logger.info("Pages are read from the standby.")
        self.is_usable = not problem
        self.until = time.monotonic() + (REST_S if problem else LOOK_S)


_look = _Look()


class _Thread(threading.local):
    primary: BaseDatabaseWrapper | None = None


_thread = _Thread()


def may_be_read(least: str | None) -> bool:
    """Return whether the standby may be read by whoever has written up to ``least``."""
    if not _look.is_recent():
        _look.note(lag().problem)
    if not _look.is_usable:
        return False
    if least is None:
        return True
    try:
        [has_it] = _one(REPLICA, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", least)
    except DatabaseError as error:
        note_failure(error)
        return False
    return bool(has_it)


def note_failure(error: BaseException) -> None:
    """Leave a standby alone for a while that failed a reader."""
    _look.note(f"It failed: {' '.join(str(error).split())}")
    connections[REPLICA].close()


def place_written() -> str:
    """Return the place in the primary's log behind all that was written until now."""
    [place] = _one(PRIMARY, "SELECT pg_current_wal_insert_lsn()::text")
    return str(place)


@contextmanager
def from_replica() -> Iterator[list[Exception]]:
    """Read from the standby in this block and thread; yield what fails of it."""
    failures: list[Exception] = []

    def noting(execute: Callable[..., Any], *statement: Any) -> Any:
        try:
            return execute(*statement)
        except DatabaseError as error:
            failures.append(error)
            raise

    replica = connections[REPLICA]
    with _leading_to(replica), replica.execute_wrapper(noting):
        yield failures


@contextmanager
def from_primary() -> Iterator[None]:
    """Use the primary inside of `from_replica`, for current data and writes."""
    if _thread.primary is None:
        yield
        return
    with _leading_to(_thread.primary):
        yield


@contextmanager
def _leading_to(server: BaseDatabaseWrapper) -> Iterator[None]:
    before, primary = connections[PRIMARY], _thread.primary
    connections[PRIMARY] = server
    _thread.primary = None if server is primary else primary or before
    try:
        yield
    finally:
        connections[PRIMARY], _thread.primary = before, primary


def _one(alias: str, query: str, *values: Any) -> tuple[Any, ...]:
    with connections[alias].cursor() as cursor:
        cursor.execute(query, values)
        return tuple(cursor.fetchone())
