"""What a task makes while somebody waits."""

import pytest
from kombu.exceptions import OperationalError

from benchmarks.publishing.jobs import PUBLISH_TASK
from config.celery import app
from dashboard import tasks
from dashboard.kit.waiting import send


@pytest.mark.parametrize(
    ("task", "name"),
    [
        (tasks.make_report, "dashboard.tasks.make_report"),
        (tasks.publish_version, PUBLISH_TASK),
    ],
)
def test_it_is_handed_to_the_workers(task, name, monkeypatch):
    sent = []
    monkeypatch.setattr(task, "apply_async", lambda args, **how: sent.append(args))

    send(task, 5)

    assert sent == [(5,)]
    assert app.tasks[name] == task


def test_without_redis_it_waits_to_be_sent_again(monkeypatch, caplog):
    def refuse(args, **how):
        raise OperationalError("no broker")

    monkeypatch.setattr(tasks.publish_version, "apply_async", refuse)

    send(tasks.publish_version, 5)

    assert f"Redis took no {PUBLISH_TASK}" in caplog.text
