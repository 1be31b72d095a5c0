"""Whether the product says how it is."""

import redis
from django.utils import timezone

from benchmarks.health import health
from benchmarks.models import Job
from benchmarks.unattended.queue import put_checks
from benchmarks.uploads.intake import submit_runs


def test_all_is_well_with_both_servers(db):
    state = health()

    assert (state.status, state.database, state.redis) == ("ok", True, True)
    assert state.outbox.waiting == 0


def test_it_says_how_much_work_waits_and_for_how_long(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])

    outbox = health().outbox

    assert (outbox.waiting, outbox.quarantined) == (1, 0)
    assert outbox.oldest_s >= 0


def test_without_redis_it_is_degraded_not_down(db, monkeypatch):
    def refuse(*_, **__):
        raise redis.ConnectionError("Redis is away")

    monkeypatch.setattr(redis.Redis, "ping", refuse)

    assert (health().status, health().redis) == ("degraded", False)


def test_it_is_degraded_while_work_is_set_aside_and_says_what(study):
    put_checks([study.pk])
    Job.objects.update(failures=1, error="secret", tried_at=timezone.now())
    [waiting] = health().stuck
    assert (waiting.kind, waiting.failing, waiting.quarantined) == ("check", 1, 0)
    assert health().status == "ok"

    Job.objects.update(quarantined_at=timezone.now())

    [stuck] = health().stuck
    assert (stuck.failing, stuck.quarantined) == (0, 1)
    assert stuck.since_s >= 0
    assert health().status == "degraded"
    assert "secret" not in repr(health())


def test_work_in_hand_is_not_stuck(study):
    put_checks([study.pk])

    assert health().stuck == ()
