from datetime import timedelta

import pytest
from django.core.management import call_command
from kombu.exceptions import OperationalError

from benchmarks import tasks
from benchmarks.models import Job, PublishingJob
from benchmarks.studies import checking
from config.celery import app
from dashboard import tasks as registered  # noqa: F401  # as workers do
from tests import publications


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


@pytest.fixture
def forgotten(study, submit, run_document, person):
    """A publishing job whose message was lost."""
    submit(run_document())
    checking.check_due_studies(timedelta(0))
    requested = publications.requested(study, person)
    Job.objects.update(dispatched_at=None)
    return requested


def test_lost_publishing_job_is_dispatched(forgotten, monkeypatch):
    sent = []
    monkeypatch.setattr(
        tasks.run_jobs, "apply_async", lambda args, **how: sent.append(args)
    )
    call_command("sweep", once=True)

    assert sent == [("publishing", forgotten.pk)]


def test_without_redis_a_lost_publishing_job_is_dispatched_later(
    forgotten, monkeypatch, caplog
):
    def refuse(*_, **__):
        raise OperationalError("no broker")

    monkeypatch.setattr(tasks.run_jobs, "apply_async", refuse)

    tasks.dispatch_due_jobs()

    assert "Redis did not accept the task publishing" in caplog.text
    assert PublishingJob.objects.get().stage == "waiting"
