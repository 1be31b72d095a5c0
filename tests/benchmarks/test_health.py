"""Health of the installation."""

import redis
from django.utils import timezone

from benchmarks.health import check_health
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import Job
from benchmarks.uploads.intake import submit_runs


def test_status_is_ok_with_both_servers(db):
    state = check_health()

    assert (state.status, state.database, state.redis) == ("ok", True, True)
    assert state.outbox.waiting == 0


def test_health_shows_waiting_jobs(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])

    outbox = check_health().outbox

    assert (outbox.waiting, outbox.quarantined) == (1, 0)
    assert outbox.oldest_age_s >= 0


def test_status_is_degraded_without_redis(db, monkeypatch):
    def refuse(*_, **__):
        raise redis.ConnectionError("Redis is away")

    monkeypatch.setattr(redis.Redis, "ping", refuse)

    assert (check_health().status, check_health().redis) == ("degraded", False)


def test_status_is_degraded_with_quarantined_jobs(study):
    enqueue_checks([study.pk])
    Job.objects.update(failures=1, error="secret", attempted_at=timezone.now())
    [waiting] = check_health().failed_jobs
    assert (waiting.kind, waiting.retrying, waiting.quarantined) == ("check", 1, 0)
    assert check_health().status == "ok"

    Job.objects.update(quarantined_at=timezone.now())

    [stuck] = check_health().failed_jobs
    assert (stuck.retrying, stuck.quarantined) == (0, 1)
    assert stuck.last_attempt_age_s >= 0
    assert check_health().status == "degraded"
    assert "secret" not in repr(check_health())


def test_claimed_jobs_are_not_late(study):
    enqueue_checks([study.pk])

    assert check_health().failed_jobs == ()
