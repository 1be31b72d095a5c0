"""Work in hand: by a lock that goes with whoever holds it, however they end."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_KEY = "hashtextextended(%s, 0)"
# PostgreSQL shows a lock of one 64-bit key as two halves, with an objsubid of 1.
_LOCKS = f"""
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (classid::bigint << 32) | objid::bigint = {_KEY}
"""
_HELD = f"SELECT EXISTS ({_LOCKS})"
# Taken once, however often the session asks.
_TAKEN = f"""
    SELECT CASE WHEN EXISTS ({_LOCKS} AND pid = pg_backend_pid()) THEN true
                ELSE pg_try_advisory_lock({_KEY}) END
"""


@contextmanager
def held(name: str, *, wait: bool = False) -> Iterator[bool]:
    """Take a piece of work in hand until the block ends; False if somebody else has."""
    # The session's lock, not a transaction's: the work commits along the way.
    if wait:
        _answer(f"SELECT pg_advisory_lock({_KEY})", name)
        is_mine = True
    else:
        is_mine = bool(_answer(f"SELECT pg_try_advisory_lock({_KEY})", name))
    try:
        yield is_mine
    finally:
        # A connection that broke has lost its lock already.
        if is_mine and connection.is_usable():
            _answer(f"SELECT pg_advisory_unlock({_KEY})", name)


def is_held(name: str) -> bool:
    """Return whether somebody alive has this in hand."""
    return bool(_answer(_HELD, name))


def take(name: str) -> bool:
    """Take a lock until this session ends; False while another session has it.

    Call it again each time: a broken connection has lost the lock.
    """
    return bool(_answer(_TAKEN, name, name))


def _answer(question: str, *names: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(question, names)
        return cursor.fetchone()[0]
