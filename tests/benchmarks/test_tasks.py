"""Wake-ups through Redis."""

import time

import pytest
import redis

from benchmarks import redis_connection, tasks, worker_wakeup
from benchmarks.models import Run
from benchmarks.uploads import intake
from benchmarks.uploads.intake import submit_runs


@pytest.fixture(autouse=True)
def quiet_redis(valkey):
    """Start without a pending wake-up."""
    valkey.flushdb()
    worker_wakeup._pending_until[:] = [0.0, 0.0]


@pytest.fixture
def sent(monkeypatch):
    """The recorded messages, which are not sent."""
    hints = []
    monkeypatch.setattr(
        worker_wakeup.current_app, "send_task", lambda *what, **how: hints.append(what)
    )
    return hints


def test_many_uploads_send_one_wakeup(sent):
    for _ in range(5):
        worker_wakeup.wake_worker()

    assert len(sent) == 1


def test_upload_after_processing_sends_another_wakeup(sent, db):
    worker_wakeup.wake_worker()
    tasks.process_uploads()

    worker_wakeup.wake_worker()

    assert len(sent) == 2


def test_other_processes_know_how_long_a_worker_waits(sent):
    worker_wakeup.wake_worker()
    worker_wakeup._pending_until[:] = [0.0, 0.0]  # another process
    worker_wakeup.wake_worker()
    waits_until = worker_wakeup._pending_until[0]
    assert 0 < waits_until - time.monotonic() <= worker_wakeup.BATCH_WAIT_S

    worker_wakeup.extend_wakeup(0, 10 * worker_wakeup.BATCH_WAIT_S)
    worker_wakeup._pending_until[:] = [0.0, 0.0]
    worker_wakeup.wake_worker()

    assert (
        worker_wakeup._pending_until[0] > waits_until + 5 * worker_wakeup.BATCH_WAIT_S
    )
    assert len(sent) == 1


def test_worker_waits_for_more_uploads_up_to_a_limit(monkeypatch):
    slept, reported = [], []
    coming = [True, True, False]
    monkeypatch.setattr(tasks.time, "sleep", slept.append)
    monkeypatch.setattr(
        tasks, "extend_wakeup", lambda _, wait_s: reported.append(wait_s)
    )
    monkeypatch.setattr(
        tasks.processing,
        "has_recent_uploads",
        lambda _: coming.pop(0) if coming else True,
    )
    clock = iter(range(100))
    monkeypatch.setattr(tasks.time, "monotonic", lambda: next(clock) / 10)

    tasks._wait_for_more(0)
    assert slept == [tasks.BATCH_WAIT_S, *reported]
    assert len(reported) == 2
    slept.clear()
    tasks._wait_for_more(0)

    assert len(slept) == tasks.MAX_BATCH_WAIT_S * 10


def test_pending_wakeup_is_visible_to_the_sweeper(sent, monkeypatch):
    assert not worker_wakeup.is_wakeup_pending()
    worker_wakeup.wake_worker()
    assert worker_wakeup.is_wakeup_pending()

    def refuse(*_, **__):
        raise redis.ConnectionError("Redis is away")

    monkeypatch.setattr(redis.Redis, "exists", refuse)
    assert not worker_wakeup.is_wakeup_pending()


def test_large_batches_are_processed_without_waiting(sent, agent, submit, run_document):
    worker_wakeup.wake_worker(1)
    redis_connection.connection().delete(*worker_wakeup.WAKEUP_KEYS)
    worker_wakeup.wake_worker(worker_wakeup.NO_WAIT_RUNS)

    assert sent == [
        ("benchmarks.tasks.process_uploads", (True,)),
        ("benchmarks.tasks.process_bulk_uploads", (False,)),
    ]


def test_upload_is_accepted_without_redis(
    agent, run_document, monkeypatch, django_capture_on_commit_callbacks
):
    def refuse(*_, **__):
        raise redis.ConnectionError("Redis is away")

    monkeypatch.setattr(redis.Redis, "set", refuse)

    with django_capture_on_commit_callbacks(execute=True):
        submit_runs(agent=agent, documents=[run_document()])

    assert Run.objects.count() == 1


def test_upload_is_accepted_if_the_wakeup_fails(
    agent, run_document, monkeypatch, django_capture_on_commit_callbacks
):
    def break_down(runs):
        raise AttributeError("a broken connection of the message library")

    monkeypatch.setattr(intake, "wake_worker", break_down)

    with django_capture_on_commit_callbacks(execute=True):
        submit_runs(agent=agent, documents=[run_document()])

    assert Run.objects.get().status == Run.Status.RECEIVED
