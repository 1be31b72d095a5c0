"""Advisory locks of PostgreSQL, which are released when the session ends."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_KEY = "hashtextextended(%s, 0)"
# pg_locks shows a 64-bit key as two halves, with an objsubid of 1.
_LOCKS = f"""
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (classid::bigint << 32) | objid::bigint = {_KEY}
"""
_IS_LOCKED_SQL = f"SELECT EXISTS ({_LOCKS})"
# Does not lock again if the session already has the lock.
_TRY_LOCK_SQL = f"""
    SELECT CASE WHEN EXISTS ({_LOCKS} AND pid = pg_backend_pid()) THEN true
                ELSE pg_try_advisory_lock({_KEY}) END
"""


@contextmanager
def advisory_lock(name: str, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock in this block; yield whether it is held.

    It is not held if another session has it. With ``wait``, wait for that session.
    """
    # A lock of the session, not of a transaction: the block may commit.
    if wait:
        _query_value(f"SELECT pg_advisory_lock({_KEY})", name)
        is_acquired = True
    else:
        is_acquired = bool(_query_value(f"SELECT pg_try_advisory_lock({_KEY})", name))
    try:
        yield is_acquired
    finally:
        # A broken connection has lost its lock.
        if is_acquired and connection.is_usable():
            _query_value(f"SELECT pg_advisory_unlock({_KEY})", name)


def is_locked(name: str) -> bool:
    return bool(_query_value(_IS_LOCKED_SQL, name))


def acquire_lock(name: str) -> bool:
    """Acquire a lock until this session ends; return False if another session has it.

    Call this before each use: a broken connection loses the lock.
    """
    return bool(_query_value(_TRY_LOCK_SQL, name, name))


def _query_value(query: str, *names: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(query, names)
        return cursor.fetchone()[0]
