"""The Celery application: `celery -A config worker`."""

import gc
import os
import time
from typing import Any

from celery import Celery, signals

from benchmarks.memory import Memory
from benchmarks.monitoring import tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Checks load every page into workers, which show none; `make check` has run them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

NICENESS = 5

memory = Memory()
app = Celery("virtlab")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect
def _keep_ours(**_: Any) -> None:
    """Leave the logs as Django set them up: a listener keeps Celery from its own."""


@signals.celeryd_init.connect
def _step_back(**_: Any) -> None:
    """Let web processes come first: an agent waits for these, and for no worker."""
    os.nice(NICENESS)


@signals.celeryd_after_setup.connect
def _serve_counters(**_: Any) -> None:
    """Serve the worker's counters where METRICS_PORT says so."""
    from django.conf import settings

    from benchmarks.monitoring import exposition

    if settings.METRICS_PORT:
        exposition.serve(settings.METRICS_PORT)


@signals.worker_before_create_process.connect
def _share(**_: Any) -> None:
    """Let a child share what is loaded: the collector would write into all of it."""
    gc.collect()
    gc.freeze()


@signals.before_task_publish.connect
def _name_sender(headers: dict[str, Any], **_: Any) -> None:
    """Send along in whose name a task is sent."""
    headers["request_id"] = tracing.current_id()


@signals.task_prerun.connect
def _begin(task_id: str, task: Any, **_: Any) -> None:
    """Work in the sender's name; a task that nobody sent has its own."""
    sender = getattr(task.request, "request_id", None) or tracing.NOBODY
    task.request.traced = tracing.traced(
        task_id if sender == tracing.NOBODY else sender
    )
    task.request.traced.__enter__()
    task.request.begun = time.perf_counter()


@signals.task_postrun.connect
def _end(task: Any, **_: Any) -> None:
    from benchmarks.monitoring.counters import TASK_SECONDS

    TASK_SECONDS.labels(task.name).observe(time.perf_counter() - task.request.begun)
    task.request.traced.__exit__(None, None, None)
    memory.give_back()
