"""Quotas of uploads, storage and previews, counted in Redis.

Without Redis nothing is refused. Agents keep what was refused and send it later.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final

import redis
from django.conf import settings
from django.db import connection as database

from benchmarks.broker import connection
from benchmarks.errors import TooFastError
from benchmarks.models import PowerChunk, RunOutput
from benchmarks.sentences import Sentence

MINUTE_S: Final = 60
DAY_S: Final = 24 * 3600
FULL_S: Final = 3600
"""When to ask again where a lab has stored all that it may."""

UNTOLD: Final = 1000
"""The part of a quota that a process takes before it tells."""

_lock = Lock()
_untold: Counter[str] = Counter()
_full: set[str] = set()

# Adds a number to each key; sets a window's end once. Returns counts and TTLs.
COUNT: Final = """
    local told = {}
    for place, key in ipairs(KEYS) do
        local count = redis.call('INCRBY', key, ARGV[2 * place - 1])
        if redis.call('TTL', key) < 0 then
            redis.call('EXPIRE', key, ARGV[2 * place])
        end
        told[2 * place - 1], told[2 * place] = count, redis.call('TTL', key)
    end
    return told
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Quota:
    """How many of what is wanted now, and how many a window takes; 0: any number."""

    name: str
    number: int
    most: int
    window_s: int
    problem: Sentence

    @property
    def key(self) -> str:
        return f"quota:{self.name}"

    def is_over(self, count: int) -> bool:
        """Whether a counter, with these, is too high; what comes first is taken."""
        before = count - self.number
        return count > self.most and before > 0

    def is_hardly_touched(self, untold: int) -> bool:
        """Whether so many are below a thousandth of the quota, and not yet sent."""
        return untold < self.most // UNTOLD and self.key not in _full


def admit_uploads(lab_id: int, *, runs: int, size: int) -> None:
    """Count uploads; raise TooFastError above a quota. One upload is always taken."""
    most_runs = settings.LAB_RUNS_PER_MINUTE
    too_many_runs = Sentence(
        "The lab uploads more than {most:,} runs a minute.", most=most_runs
    )
    with _counted("Uploads"):
        _check_stored(lab_id, size)
        _take(
            Quota(f"runs:{lab_id}", runs, most_runs, MINUTE_S, too_many_runs),
            _bytes(lab_id, size),
        )


def admit_preview(network: str) -> None:
    """Count a preview; raise TooFastError where a network asks for too many."""
    most = settings.PREVIEWS_PER_MINUTE
    too_many = Sentence("More than {most:,} previews a minute.", most=most)
    with _counted("Previews"):
        _take(Quota(f"previews:{network}", 1, most, MINUTE_S, too_many))


def admit_lab_previews(lab_id: int, *, files: int, size: int) -> None:
    """Count previewed files of a lab, and their bytes with those of uploads."""
    most_files = settings.LAB_PREVIEWS_PER_MINUTE
    too_many_files = Sentence(
        "The lab previews more than {most:,} files a minute.", most=most_files
    )
    name = f"lab-previews:{lab_id}"
    with _counted("Previews"):
        _take(
            Quota(name, files, most_files, MINUTE_S, too_many_files),
            _bytes(lab_id, size),
        )


def stored_bytes(lab_id: int) -> int:
    """Return the uncompressed size of a lab's stored uploads and power logs."""
    tables = (RunOutput._meta.db_table, PowerChunk._meta.db_table)
    sums = " + ".join(
        f"(SELECT coalesce(sum(octet_length(text)), 0) FROM {table}"
        " WHERE lab_id = %(lab)s)"
        for table in tables
    )
    with database.cursor() as cursor:
        cursor.execute(f"SELECT {sums}", {"lab": lab_id})
        return int(cursor.fetchone()[0])


@contextmanager
def _counted(what: str) -> Iterator[None]:
    """Log that nothing is counted where Redis does not answer."""
    try:
        yield
    except redis.RedisError as error:
        log.warning("%s are not counted: %s", what, error)


def _bytes(lab_id: int, size: int) -> Quota:
    most = settings.LAB_BYTES_PER_DAY
    too_many = Sentence("The lab uploads more than {most:,} bytes a day.", most=most)
    return Quota(f"bytes:{lab_id}", size, most, DAY_S, too_many)


def _check_stored(lab_id: int, size: int) -> None:
    if not (most := settings.LAB_BYTES_STORED):
        return
    key = f"quota:stored:{lab_id}"
    if connection().get(key) is None:
        # Summed once a day; uploads in between are added.
        connection().set(key, stored_bytes(lab_id), ex=DAY_S, nx=True)
    if int(connection().incrby(key, size)) > most:
        connection().decrby(key, size)
        raise TooFastError(
            Sentence(
                "The lab has stored the {most:,} bytes that it may. Ask who runs this "
                "installation for more (LAB_BYTES_STORED).",
                most=most,
            ),
            FULL_S,
        )


def _take(*quotas: Quota) -> None:
    """Count all at once; undo and raise TooFastError if one is over."""
    limited = [quota for quota in quotas if quota.most]
    with _lock:
        for quota in limited:
            _untold[quota.key] += quota.number
        if all(quota.is_hardly_touched(_untold[quota.key]) for quota in limited):
            return
        numbers = [_untold.pop(quota.key) for quota in limited]
    windows = [quota.window_s for quota in limited]
    sizes = [size for pair in zip(numbers, windows, strict=True) for size in pair]
    count = connection().register_script(COUNT)
    told = [int(each) for each in count([quota.key for quota in limited], sizes)]
    counts = zip(limited, told[::2], told[1::2], strict=True)
    full = [(quota, left_s) for quota, count, left_s in counts if quota.is_over(count)]
    _full.difference_update(quota.key for quota in limited)
    if full:
        for quota in limited:
            connection().decrby(quota.key, quota.number)
        _full.update(quota.key for quota, _ in full)
        quota, left_s = full[0]
        raise TooFastError(quota.problem, max(left_s, 1))
