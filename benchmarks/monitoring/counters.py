"""Prometheus counters of all processes, in files that outlive a process.

The client library names files by process id, so their number would grow. Here a process
takes the first free slot and continues its counters.
"""

import fcntl
import os
from functools import cache
from pathlib import Path
from typing import Final

from prometheus_client import Counter, Histogram, values

DIRECTORY_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The client library's; without it, each process counts separately."""
METRIC_TYPES: Final = ("counter", "histogram")
FILE_BYTES: Final = 1 << 20
"""Preallocated size.

Files are memory-mapped: allocating a page on a full disk would kill the process by
SIGBUS.
"""


def counter_folder() -> Path | None:
    """Return the counter files' folder, if configured."""
    path = os.environ.get(DIRECTORY_VARIABLE)
    return Path(path) if path else None


def process_slot() -> str:
    """Return this process's slot, locked until it ends."""
    return _slot_of(os.getpid())


@cache
def _slot_of(pid: int) -> str:
    folder = counter_folder()
    assert folder is not None
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    number = 0
    while (lock_descriptor := _take(folder / f"{number}.lock")) is None:
        number += 1
    try:
        for kind in METRIC_TYPES:
            path = folder / f"{kind}_{number}.db"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(descriptor, 0, FILE_BYTES)
                else:  # macOS
                    os.pwrite(descriptor, b"", os.fstat(descriptor).st_size)
                    os.ftruncate(descriptor, FILE_BYTES)
            finally:
                os.close(descriptor)
    except OSError:
        # Otherwise each attempt would take another slot.
        os.close(lock_descriptor)
        raise
    return str(number)


def _take(lock: Path) -> int | None:
    """Lock a file until this process ends, unless locked."""
    # Never closed: the kernel releases the lock.
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


# Before the first counter is created.
if counter_folder():
    values.ValueClass = values.MultiProcessValue(process_slot)  # type: ignore[no-untyped-call]

REQUESTS = Counter(
    "virtlab_requests",
    "Answered requests, by the name of their address.",
    ["route", "method", "status"],
)
# Without labels it starts at 0; Prometheus sees no increase in a first value of 1.
SERVER_ERRORS = Counter("virtlab_server_errors", "Requests answered with 500.")
REQUEST_SECONDS = Histogram(
    "virtlab_request_seconds",
    "From a request that was read whole to its answer.",
    ["kind"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30),
)
UPLOADS = Counter(
    "virtlab_uploads",
    "Uploaded runs: accepted (committed and acknowledged), repeated (acknowledged "
    "before), processed, quarantined.",
    ["outcome"],
)
ACCEPTED, REPEATED, PROCESSED, QUARANTINED = (
    UPLOADS.labels(outcome)
    for outcome in ("accepted", "repeated", "processed", "quarantined")
)
JOBS_TRIED = Counter(
    "virtlab_work",
    "Units of background work that were tried: done or failed.",
    ["kind", "outcome"],
)
TASK_SECONDS = Histogram(
    "virtlab_task_seconds",
    "How long a task of Celery took.",
    ["task"],
    buckets=(0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 200),
)
SCHEDULER_SECONDS = Histogram(
    "virtlab_sweep_seconds",
    "How long the sweeper's duties took.",
    ["duty"],
    buckets=(0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 200),
)
