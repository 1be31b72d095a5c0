"""What a worker makes while somebody waits."""

import pytest
from kombu.exceptions import OperationalError

from benchmarks import tasks
from config.celery import app
from dashboard import tasks as registered  # noqa: F401  # as workers do


@pytest.mark.parametrize(
    ("kind", "queue"), [("report", "interactive"), ("publishing", "bulk")]
)
def test_it_is_handed_to_the_workers(kind, queue, monkeypatch):
    sent = []
    monkeypatch.setattr(
        tasks.run_jobs, "apply_async", lambda args, **how: sent.append((args, how))
    )

    tasks.send(kind, 5)

    [(args, how)] = sent
    assert (args, how["queue"]) == ((kind, 5), queue)
    assert app.tasks["benchmarks.tasks.run_jobs"] == tasks.run_jobs


def test_without_redis_it_waits_to_be_sent_again(monkeypatch, caplog):
    def refuse(args, **how):
        raise OperationalError("no broker")

    monkeypatch.setattr(tasks.run_jobs, "apply_async", refuse)

    tasks.send("publishing", 5)

    assert "Redis took no publishing" in caplog.text
