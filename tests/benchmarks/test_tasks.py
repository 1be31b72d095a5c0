"""Hints through Redis: few, enough, and never needed for the work to be done."""

import pytest
import redis

from benchmarks import broker, tasks
from benchmarks.models import Run
from benchmarks.services.intake import submit_runs


@pytest.fixture(autouse=True)
def quiet_redis():
    """Begin without a hint under way."""
    broker.connection().flushall()


@pytest.fixture
def sent(monkeypatch):
    """The hints that were sent instead of being sent."""
    hints = []
    monkeypatch.setattr(tasks.drain, "apply_async", lambda **how: hints.append(how))
    return hints


def test_many_uploads_need_one_hint_until_a_worker_looks(sent):
    for _ in range(5):
        tasks.wake()

    assert len(sent) == 1


def test_what_comes_after_a_worker_looked_sends_a_hint_of_its_own(sent, db):
    tasks.wake()
    tasks.drain()

    tasks.wake()

    assert len(sent) == 2


def test_without_redis_an_upload_is_taken_all_the_same(
    agent, run_document, monkeypatch, django_capture_on_commit_callbacks
):
    def refuse(*_, **__):
        raise redis.ConnectionError("Redis is away")

    monkeypatch.setattr(redis.Redis, "set", refuse)

    with django_capture_on_commit_callbacks(execute=True):
        submit_runs(agent=agent, documents=[run_document()])

    assert Run.objects.count() == 1
