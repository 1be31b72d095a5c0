import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from benchmarks.models import GenerationRequest

MAX_GENERATION_WAIT_S = 1.5
"""Most jobs finish within this time."""
STAGE_POLL_INTERVAL_S = 0.05
OVERDUE_AFTER = timedelta(seconds=5)
GENERATION_STAGES = (*GenerationRequest.UNFINISHED, GenerationRequest.Stage.DONE)


def wait_briefly(job: GenerationRequest, *fields: str) -> None:
    """Wait until the job is finished, at most `MAX_GENERATION_WAIT_S`.

    While waiting, reload the job's stage and ``fields`` from the database.
    """
    deadline = time.monotonic() + MAX_GENERATION_WAIT_S
    while job.is_unfinished and time.monotonic() < deadline:
        time.sleep(STAGE_POLL_INTERVAL_S)
        job.refresh_from_db(fields=["stage", *fields])


def progress_context(job: GenerationRequest) -> dict[str, Any]:
    is_late = timezone.now() > job.requested_at + OVERDUE_AFTER
    return {
        "stage": job.stage,
        "done": GENERATION_STAGES.index(job.stage)
        if job.stage in GENERATION_STAGES
        else 0,
        "total": len(GENERATION_STAGES) - 1,
        "is_unfinished": job.is_unfinished,
        "is_overdue": job.stage == GENERATION_STAGES[0] and is_late,
    }
