"""Counters of all processes, in files that outlive a process.

The client library names these files by process id, so their number would grow with
every killed child. Here a process takes the first free slot and continues its counters.
"""

import fcntl
import os
from functools import cache
from pathlib import Path
from typing import Final

from prometheus_client import Counter, Histogram, values

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The client library's own variable; without it each process counts for itself."""
KINDS: Final = ("counter", "histogram")
ROOM: Final = 1 << 20
"""Bytes of each file. They are written through a memory map: on a full disk, a page
that was not there before would end its process by SIGBUS."""


def folder() -> Path | None:
    """Return where the processes of this installation count together."""
    path = os.environ.get(FOLDER)
    return Path(path) if path else None


def slot() -> str:
    """Return the name of this process's slot; it holds it until it ends."""
    return _slot_of(os.getpid())


@cache
def _slot_of(pid: int) -> str:
    place = folder()
    assert place is not None
    place.mkdir(parents=True, mode=0o700, exist_ok=True)
    number = 0
    while (held := _take(place / f"{number}.lock")) is None:
        number += 1
    try:
        for kind in KINDS:
            path = place / f"{kind}_{number}.db"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(descriptor, 0, ROOM)
                else:  # macOS
                    os.pwrite(descriptor, b"", os.fstat(descriptor).st_size)
                    os.ftruncate(descriptor, ROOM)
            finally:
                os.close(descriptor)
    except OSError:
        # The next try takes this one again, and not one more each time.
        os.close(held)
        raise
    return str(number)


def _take(lock: Path) -> int | None:
    """Take a lock for as long as this process lives; None where somebody has it."""
    # Not closed: the kernel lets go of it when the last holder is gone.
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


# Before the first counter is made.
if folder():
    values.ValueClass = values.MultiProcessValue(slot)  # type: ignore[no-untyped-call]

REQUESTS = Counter(
    "virtlab_requests",
    "Answered requests, by the name of their address.",
    ["route", "method", "status"],
)
# Without labels it begins at 0: Prometheus sees no increase in a first 1.
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
WORK = Counter(
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
SWEEP_SECONDS = Histogram(
    "virtlab_sweep_seconds",
    "How long the sweeper's duties took.",
    ["duty"],
    buckets=(0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 200),
)
