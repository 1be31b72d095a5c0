"""What a task makes while somebody waits."""

import pytest
from kombu.exceptions import OperationalError

from config.celery import app
from dashboard import tasks
from dashboard.kit.waiting import send


@pytest.mark.parametrize("name", ["make_report", "publish_version"])
def test_it_is_handed_to_the_workers(name, monkeypatch):
    sent = []
    task = getattr(tasks, name)
    monkeypatch.setattr(task, "apply_async", lambda args, **how: sent.append(args))

    send(task, 5)

    assert sent == [(5,)]
    assert app.tasks[f"dashboard.tasks.{name}"] == task


def test_without_redis_it_waits_to_be_sent_again(monkeypatch, caplog):
    def refuse(args, **how):
        raise OperationalError("no broker")

    monkeypatch.setattr(tasks.publish_version, "apply_async", refuse)

    send(tasks.publish_version, 5)

    assert "Redis took no dashboard.tasks.publish_version" in caplog.text
