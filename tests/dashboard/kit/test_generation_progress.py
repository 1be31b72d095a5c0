"""Jobs that a user waits for."""

import pytest
from kombu.exceptions import OperationalError

from benchmarks import tasks
from config.celery import app
from dashboard import tasks as registered  # noqa: F401  # as workers do


@pytest.mark.parametrize(
    ("kind", "queue"), [("report", "interactive"), ("publishing", "bulk")]
)
def test_jobs_are_dispatched_to_workers(kind, queue, monkeypatch):
    sent = []
    monkeypatch.setattr(
        tasks.run_jobs, "apply_async", lambda args, **how: sent.append((args, how))
    )

    tasks.dispatch_jobs(kind, 5)

    [(args, how)] = sent
    assert (args, how["queue"]) == ((kind, 5), queue)
    assert app.tasks["benchmarks.tasks.run_jobs"] == tasks.run_jobs


def test_without_redis_jobs_wait_for_the_next_dispatch(monkeypatch, caplog):
    def refuse(args, **how):
        raise OperationalError("no broker")

    monkeypatch.setattr(tasks.run_jobs, "apply_async", refuse)

    tasks.dispatch_jobs("publishing", 5)

    assert "Redis did not accept the task publishing" in caplog.text
