"""Hints through Redis: few, enough, and never needed for the work to be done."""

import time
from datetime import timedelta

import pytest
import redis
from django.core.management import call_command
from kombu.exceptions import OperationalError

from benchmarks import broker, tasks, wake
from benchmarks.models import Job, PublishingJob, Run
from benchmarks.studies import checking
from benchmarks.uploads import intake
from benchmarks.uploads.intake import submit_runs
from tests import publishing


@pytest.fixture(autouse=True)
def quiet_redis(valkey):
    """Begin without a hint under way."""
    valkey.flushdb()
    wake._seen_until[:] = [0.0, 0.0]


@pytest.fixture
def sent(monkeypatch):
    """The hints that were sent instead of being sent."""
    hints = []
    monkeypatch.setattr(
        wake.current_app, "send_task", lambda *what, **how: hints.append(what)
    )
    return hints


def test_many_uploads_need_one_hint_until_a_worker_looks(sent):
    for _ in range(5):
        wake.wake()

    assert len(sent) == 1


def test_what_comes_after_a_worker_looked_sends_a_hint_of_its_own(sent, db):
    wake.wake()
    tasks.drain()

    wake.wake()

    assert len(sent) == 2


def test_other_web_processes_learn_how_long_a_worker_waits(sent):
    wake.wake()
    wake._seen_until[:] = [0.0, 0.0]  # another process
    wake.wake()
    waits_until = wake._seen_until[0]
    assert 0 < waits_until - time.monotonic() <= wake.LINGER_S

    wake.note_wait(0, 10 * wake.LINGER_S)
    wake._seen_until[:] = [0.0, 0.0]
    wake.wake()

    assert wake._seen_until[0] > waits_until + 5 * wake.LINGER_S
    assert len(sent) == 1


def test_a_worker_waits_while_more_comes_but_not_for_ever(monkeypatch):
    slept, told = [], []
    coming = [True, True, False]
    monkeypatch.setattr(tasks.time, "sleep", slept.append)
    monkeypatch.setattr(tasks, "note_wait", lambda _, wait_s: told.append(wait_s))
    monkeypatch.setattr(
        tasks.processing, "is_still_coming", lambda _: coming.pop(0) if coming else True
    )
    clock = iter(range(100))
    monkeypatch.setattr(tasks.time, "monotonic", lambda: next(clock) / 10)

    tasks._linger(0)
    assert slept == [tasks.LINGER_S, *told]
    assert len(told) == 2
    slept.clear()
    tasks._linger(0)

    assert len(slept) == tasks.LINGER_AT_MOST_S * 10


def test_the_sweeper_sees_whether_a_worker_was_woken(sent, monkeypatch):
    assert not wake.is_worker_woken()
    wake.wake()
    assert wake.is_worker_woken()

    def refuse(*_, **__):
        raise redis.ConnectionError("Redis is away")

    monkeypatch.setattr(redis.Redis, "exists", refuse)
    assert not wake.is_worker_woken()


def test_many_runs_at_once_are_not_waited_with(sent, agent, submit, run_document):
    wake.wake(1)
    broker.connection().delete(*wake.HINT_SENT)
    wake.wake(wake.TOGETHER)

    assert sent == [
        ("benchmarks.tasks.drain", (True,)),
        ("benchmarks.tasks.drain_bulk", (False,)),
    ]


def test_without_redis_an_upload_is_taken_all_the_same(
    agent, run_document, monkeypatch, django_capture_on_commit_callbacks
):
    def refuse(*_, **__):
        raise redis.ConnectionError("Redis is away")

    monkeypatch.setattr(redis.Redis, "set", refuse)

    with django_capture_on_commit_callbacks(execute=True):
        submit_runs(agent=agent, documents=[run_document()])

    assert Run.objects.count() == 1


@pytest.fixture
def forgotten(study, submit, run_document, person):
    """A study that is to be published, and whose hint was lost."""
    submit(run_document())
    checking.check_due_studies(timedelta(0))
    requested = publishing.requested(study, person)
    Job.objects.update(hinted_at=None)
    return requested


def test_the_sweeper_sends_a_forgotten_version_to_a_worker(forgotten, monkeypatch):
    sent = []
    monkeypatch.setattr(
        tasks.run_jobs, "apply_async", lambda args, **how: sent.append(args)
    )
    call_command("sweep", once=True)

    assert sent == [("publishing", forgotten.pk)]


def test_without_redis_a_forgotten_version_is_sent_later(
    forgotten, monkeypatch, caplog
):
    def refuse(*_, **__):
        raise OperationalError("no broker")

    monkeypatch.setattr(tasks.run_jobs, "apply_async", refuse)

    tasks.send_workers()

    assert "Redis took no publishing" in caplog.text
    assert PublishingJob.objects.get().stage == "waiting"


def test_an_upload_is_taken_whatever_becomes_of_its_hint(
    agent, run_document, monkeypatch, django_capture_on_commit_callbacks
):
    def break_down(runs):
        raise AttributeError("a broken connection of the message library")

    monkeypatch.setattr(intake, "wake", break_down)

    with django_capture_on_commit_callbacks(execute=True):
        submit_runs(agent=agent, documents=[run_document()])

    assert Run.objects.get().status == Run.Status.RECEIVED
