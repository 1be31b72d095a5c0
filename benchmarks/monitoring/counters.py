"""Prometheus counters of all processes, in files that outlive a process.

The client library names these files by process id, so their number would grow. Here, a
process uses the files of the first free slot and continues their counters.
"""

import fcntl
import os
from functools import cache
from pathlib import Path
from typing import Final

from prometheus_client import Counter, Histogram, values

DIRECTORY_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The client library's variable for the folder of its files. If it is not set, each
process counts separately."""
METRIC_TYPES: Final = ("counter", "histogram")
FILE_BYTES: Final = 1 << 20
"""Size of a new file, allocated at once.

The files are memory-mapped: if a page could not be allocated later because the disk is
full, SIGBUS would kill the process.
"""


def counter_folder() -> Path | None:
    path = os.environ.get(DIRECTORY_VARIABLE)
    return Path(path) if path else None


def process_slot() -> str:
    """Return the number of this process's slot, which stays locked until the process
    ends."""
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
    """Lock a file until this process ends; return None if another process has locked
    it."""
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
    "Answered requests, by route name, method and status.",
    ["route", "method", "status"],
)
# Without labels it starts at 0; Prometheus sees no increase in a first value of 1.
SERVER_ERRORS = Counter("virtlab_server_errors", "Requests answered with 500.")
REQUEST_SECONDS = Histogram(
    "virtlab_request_seconds",
    "Time from a completely received request to its response.",
    ["kind"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30),
)
UPLOADS = Counter(
    "virtlab_uploads",
    "Uploaded runs, by outcome: accepted (committed and acknowledged), repeated (sent "
    "again after they were accepted), processed, quarantined.",
    ["outcome"],
)
ACCEPTED, REPEATED, PROCESSED, QUARANTINED = (
    UPLOADS.labels(outcome)
    for outcome in ("accepted", "repeated", "processed", "quarantined")
)
JOBS_TRIED = Counter(
    "virtlab_work",
    "Attempts to run background jobs, by kind and outcome (done or failed).",
    ["kind", "outcome"],
)
TASK_SECONDS = Histogram(
    "virtlab_task_seconds",
    "Duration of Celery tasks.",
    ["task"],
    buckets=(0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 200),
)
SCHEDULER_SECONDS = Histogram(
    "virtlab_sweep_seconds",
    "Duration of the sweeper's duties.",
    ["duty"],
    buckets=(0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 200),
)
