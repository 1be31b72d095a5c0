"""Whether the product says how it is."""

import redis

from benchmarks.health import health
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
