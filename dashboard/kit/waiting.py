"""What a task makes while somebody waits: wait a moment, say how far it is."""

import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from benchmarks.models import Making

PATIENCE_S = 1.5
"""Most jobs take less: their readers never see the page of the wait."""
LOOK_EVERY_S = 0.05
OVERDUE = timedelta(seconds=5)
STEPS = (*Making.UNFINISHED, Making.Stage.DONE)


def wait_a_moment(job: Making, *fields: str) -> None:
    """Wait until the job is finished, but not for long."""
    deadline = time.monotonic() + PATIENCE_S
    while job.is_unfinished and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
        job.refresh_from_db(fields=["stage", *fields])


def progress_of(job: Making) -> dict[str, Any]:
    """Return what the page of the making says, for its template."""
    is_late = timezone.now() > job.requested_at + OVERDUE
    return {
        "stage": job.stage,
        "done": STEPS.index(job.stage) if job.stage in STEPS else 0,
        "total": len(STEPS) - 1,
        "is_unfinished": job.is_unfinished,
        "is_overdue": job.stage == STEPS[0] and is_late,
    }
