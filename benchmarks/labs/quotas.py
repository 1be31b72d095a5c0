"""Quotas of uploads, storage and previews, counted in Redis.

Without Redis there are no quotas. Agents keep rejected uploads and send them later.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final

import redis
from django.conf import settings
from django.db import connection as database

from benchmarks.errors import RateLimitError
from benchmarks.models import PowerChunk, RunOutput
from benchmarks.redis_connection import connection
from benchmarks.sentences import Sentence

MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 24 * 3600
STORAGE_FULL_RETRY_S: Final = 3600
MISSES_PER_HOUR: Final = 30

LOCAL_COUNT_FRACTION: Final = 1000
"""A process counts up to 1/1000 of a quota locally before it updates Redis."""

_lock = Lock()
_local_counts: Counter[str] = Counter()
_exceeded_keys: set[str] = set()

# Adds a number to each key and gives new keys a TTL. Returns counts and remaining TTLs.
COUNT_SCRIPT: Final = """
    local replies = {}
    for i, key in ipairs(KEYS) do
        local count = redis.call('INCRBY', key, ARGV[2 * i - 1])
        if redis.call('TTL', key) < 0 then
            redis.call('EXPIRE', key, ARGV[2 * i])
        end
        replies[2 * i - 1], replies[2 * i] = count, redis.call('TTL', key)
    end
    return replies
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Quota:
    """A requested amount and the limit per time window; limit 0 means unlimited."""

    name: str
    requested: int
    limit: int
    window_s: int
    problem: Sentence

    @property
    def key(self) -> str:
        return f"quota:{self.name}"

    def is_exceeded(self, count: int) -> bool:
        """Return whether ``count``, with this request, is above the limit.

        The first request of a window is always accepted.
        """
        before = count - self.requested
        return count > self.limit and before > 0

    def is_far_from_limit(self, unreported: int) -> bool:
        return (
            unreported < self.limit // LOCAL_COUNT_FRACTION
            and self.key not in _exceeded_keys
        )


def admit_uploads(lab_id: int, *, runs: int, size: int) -> None:
    """Count uploads of ``size`` bytes; raise RateLimitError above a limit.

    Except for stored bytes, the first upload of a time window is always accepted.
    """
    most_runs = settings.LAB_RUNS_PER_MINUTE
    too_many_runs = Sentence(
        "The lab exceeds the limit of {most:,} uploaded runs per minute.",
        most=most_runs,
    )
    with _counted("Uploads"):
        _check_stored(lab_id, size)
        _take(
            Quota(f"runs:{lab_id}", runs, most_runs, MINUTE_S, too_many_runs),
            _bytes(lab_id, size),
        )


def admit_preview(network: str) -> None:
    """Raise RateLimitError above the limit of the network."""
    limit = settings.PREVIEWS_PER_MINUTE
    too_many = Sentence(
        "The limit of {most:,} previews per minute is exceeded.", most=limit
    )
    with _counted("Previews"):
        _take(Quota(f"previews:{network}", 1, limit, MINUTE_S, too_many))


@contextmanager
def preview_cpu_budget(network: str) -> Iterator[None]:
    """Count the CPU time of the block. Raise RateLimitError above the limit."""
    limit_s, key = settings.PREVIEW_CPU_S_PER_MINUTE, f"quota:preview-cpu:{network}"
    if not limit_s:
        yield
        return
    with _counted("Previews"):
        if int(connection().get(key) or 0) >= limit_s * 1000:
            too_long = Sentence(
                "The limit of {most:,} s of computing time for previews per minute is "
                "exceeded.",
                most=limit_s,
            )
            raise RateLimitError(too_long, max(int(connection().ttl(key)), 1))
    started = time.thread_time()
    try:
        yield
    finally:
        spent_ms = round((time.thread_time() - started) * 1000)
        with _counted("Previews"):
            connection().register_script(COUNT_SCRIPT)([key], [spent_ms, MINUTE_S])


def admits_search_miss(network: str) -> bool:
    """Count a search without results for a client's network; False above the limit."""
    too_many = Sentence("Too many searches without results.")
    try:
        with _counted("Searches without results"):
            _take(Quota(f"misses:{network}", 1, MISSES_PER_HOUR, HOUR_S, too_many))
    except RateLimitError:
        return False
    return True


def admit_lab_previews(lab_id: int, *, files: int, size: int) -> None:
    """The bytes of the files count as uploaded. Raises RateLimitError."""
    most_files = settings.LAB_PREVIEWS_PER_MINUTE
    too_many_files = Sentence(
        "The lab exceeds the limit of {most:,} previewed files per minute.",
        most=most_files,
    )
    name = f"lab-previews:{lab_id}"
    with _counted("Previews"):
        _take(
            Quota(name, files, most_files, MINUTE_S, too_many_files),
            _bytes(lab_id, size),
        )


def stored_bytes(lab_id: int) -> int:
    """Return the uncompressed size of uploads and power logs."""
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
def _counted(label: str) -> Iterator[None]:
    """Log a warning, and accept the request, if Redis does not answer."""
    try:
        yield
    except redis.RedisError as error:
        log.warning("%s are not counted: %s", label, error)


def _bytes(lab_id: int, size: int) -> Quota:
    limit = settings.LAB_BYTES_PER_DAY
    too_many = Sentence(
        "The lab exceeds the limit of {most:,} uploaded bytes per day.", most=limit
    )
    return Quota(f"bytes:{lab_id}", size, limit, DAY_S, too_many)


def _check_stored(lab_id: int, size: int) -> None:
    if not (limit := settings.LAB_BYTES_STORED):
        return
    key = f"quota:stored:{lab_id}"
    if connection().get(key) is None:
        # Computed once a day; the sizes of later uploads are added.
        connection().set(key, stored_bytes(lab_id), ex=DAY_S, nx=True)
    if int(connection().incrby(key, size)) > limit:
        connection().decrby(key, size)
        raise RateLimitError(
            Sentence(
                "The lab has reached its storage limit of {most:,} bytes. Ask the "
                "administrator of this server to increase it (LAB_BYTES_STORED).",
                most=limit,
            ),
            STORAGE_FULL_RETRY_S,
        )


def _take(*quotas: Quota) -> None:
    """Count all quotas; undo and raise RateLimitError if one is exceeded."""
    limited = [quota for quota in quotas if quota.limit]
    with _lock:
        for quota in limited:
            _local_counts[quota.key] += quota.requested
        if all(quota.is_far_from_limit(_local_counts[quota.key]) for quota in limited):
            return
        numbers = [_local_counts.pop(quota.key) for quota in limited]
    windows = [quota.window_s for quota in limited]
    sizes = [size for pair in zip(numbers, windows, strict=True) for size in pair]
    count = connection().register_script(COUNT_SCRIPT)
    replies = [int(number) for number in count([quota.key for quota in limited], sizes)]
    counts = zip(limited, replies[::2], replies[1::2], strict=True)
    full = [
        (quota, left_s) for quota, count, left_s in counts if quota.is_exceeded(count)
    ]
    _exceeded_keys.difference_update(quota.key for quota in limited)
    if full:
        for quota in limited:
            connection().decrby(quota.key, quota.requested)
        _exceeded_keys.update(quota.key for quota, _ in full)
        quota, left_s = full[0]
        raise RateLimitError(quota.problem, max(left_s, 1))
