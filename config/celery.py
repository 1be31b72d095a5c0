"""The Celery application: `celery -A config worker`."""

import gc
import os
import signal
import sys
import time
from typing import Any

from celery import Celery, signals

from benchmarks.memory_trimming import MemoryTrimmer
from benchmarks.monitoring import request_ids
from running.child_process_setup import PR_SET_PDEATHSIG, prctl

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Skip the checks, which load every page: `make check` has run them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

WORKER_NICENESS = 5
MAIN_PROCESS = os.getpid()

memory = MemoryTrimmer()
app = Celery("virtlab")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect
def _keep_django_logging(**_: Any) -> None:
    """Do nothing: with a receiver, Celery does not set up its own logging."""


@signals.celeryd_init.connect
def _lower_priority(**_: Any) -> None:
    """Let web processes go first, because agents wait for them."""
    os.nice(WORKER_NICENESS)


@signals.celeryd_after_setup.connect
def _serve_counters(**_: Any) -> None:
    from django.conf import settings

    from benchmarks.monitoring import exposition

    if settings.METRICS_PORT:
        exposition.serve(settings.METRICS_PORT)


@signals.worker_before_create_process.connect
def _share_memory(**_: Any) -> None:
    """Exclude loaded objects from garbage collection, which copies shared memory."""
    gc.collect()
    gc.freeze()


@signals.worker_process_init.connect
def _end_with_main_process(**_: Any) -> None:
    """Let the kernel kill this process when the main process dies.

    Otherwise a process of the pool can wait forever: its sibling keeps the pipe open
    whose end would stop it. A pool without processes calls this in the main process.
    """
    if os.getpid() == MAIN_PROCESS:
        return
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != MAIN_PROCESS:
        os._exit(1)


@signals.before_task_publish.connect
def _add_request_id(headers: dict[str, Any], **_: Any) -> None:
    headers["request_id"] = request_ids.current_id()


@signals.task_prerun.connect
def _begin(task_id: str, task: Any, **_: Any) -> None:
    """Use the request ID of the sender; without one, the ID of the task."""
    request_id = getattr(task.request, "request_id", None) or request_ids.NO_ID
    task.request.traced = request_ids.use_request_id(
        task_id if request_id == request_ids.NO_ID else request_id
    )
    task.request.traced.__enter__()
    task.request.started = time.perf_counter()


@signals.task_postrun.connect
def _end(task: Any, **_: Any) -> None:
    from benchmarks.monitoring.counters import TASK_SECONDS

    TASK_SECONDS.labels(task.name).observe(time.perf_counter() - task.request.started)
    task.request.traced.__exit__(None, None, None)
    memory.trim()
