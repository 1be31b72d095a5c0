"""Who has a piece of long work in hand: PostgreSQL knows, and notices when they die.

An advisory lock of the maker's connection says so. It ends with the connection, however
that ended, so nobody has to guess from a clock whether a maker is only slow or dead
(`docs/decisions/versions.md`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Model
from django.utils import timezone

from benchmarks.models import Job

M = TypeVar("M", bound=Job)
UNHELD = timedelta(seconds=2)
"""How long a maker may need between beginning its work and being seen to hold it."""

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


def begin(work: type[M], pk: int, **news: Any) -> M | None:
    """Begin with what waits; None where somebody has, or it is over."""
    waiting = work._default_manager.filter(pk=pk, stage=Job.Stage.WAITING)
    if not waiting.update(**news, stage=Job.Stage.COLLECTING, seen_at=timezone.now()):
        return None
    return work._default_manager.select_related("study__lab", "person").get(pk=pk)


def is_lost(job: Job, untaken: timedelta) -> bool:
    """Return whether nobody makes it: its hint was lost, or its maker was killed.

    ``untaken`` is how long a hint may be under way.
    """
    silence = timezone.now() - job.seen_at
    if job.stage == Job.Stage.WAITING:
        return silence > untaken
    return job.is_unfinished and silence > UNHELD and not is_held(job)


def is_held(work: Model) -> bool:
    """Return whether somebody alive has this in hand."""
    return bool(_asked(_HELD, _name(type(work), work.pk)))


def _name(work: type[Model], pk: int) -> str:
    return f"{work._meta.db_table} {pk}"


def _asked(question: str, name: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(question, [name])
        return cursor.fetchone()[0]
