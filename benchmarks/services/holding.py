"""Who has a piece of long work in hand: PostgreSQL knows, and notices when they die.

An advisory lock of the maker's connection says so. It ends with the connection, however
that ended, so nobody has to guess from a clock whether a maker is only slow or dead
(`docs/decisions/snapshots.md`).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.models import Model

_KEY = "hashtextextended(%s, 0)"
_HELD = f"""
    SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
          AND database = (
              SELECT oid FROM pg_database WHERE datname = current_database()
          )
          AND (classid::bigint << 32) | objid::bigint = {_KEY}
    )
"""


@contextmanager
def held(work: type[Model], pk: int) -> Iterator[bool]:
    """Take a piece of work in hand until the block ends; False if somebody else has."""
    name = _name(work, pk)
    is_mine = bool(_asked(f"SELECT pg_try_advisory_lock({_KEY})", name))
    try:
        yield is_mine
    finally:
        # A connection that broke has lost its lock already.
        if is_mine and connection.is_usable():
            _asked(f"SELECT pg_advisory_unlock({_KEY})", name)


def is_held(work: Model) -> bool:
    """Return whether somebody alive has this in hand."""
    return bool(_asked(_HELD, _name(type(work), work.pk)))


def _name(work: type[Model], pk: int) -> str:
    return f"{work._meta.db_table} {pk}"


def _asked(question: str, name: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(question, [name])
        return cursor.fetchone()[0]
