"""/api/v1/health/: for load balancers and people."""

import redis
from django.db import OperationalError
from django.db.models import QuerySet
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from benchmarks import broker
from benchmarks.models import UnfinishedWork

GONE = redis.Redis(port=1, retry=Retry(NoBackoff(), 0))


def test_all_is_well(anyone, api, run_document):
    api.post("runs/", run_document())

    answer = anyone.get("health/")

    body = answer.json()
    assert answer.status_code == 200
    assert (body["status"], body["database"], body["redis"]) == ("ok", True, True)
    assert (body["outbox"]["waiting"], body["outbox"]["quarantined"]) == (1, 0)
    assert body["outbox"]["oldest_s"] >= 0
    assert body["stuck"] == []


def test_without_redis_it_is_degraded_and_still_takes_uploads(anyone, db, monkeypatch):
    monkeypatch.setattr(broker, "connection", lambda: GONE)

    answer = anyone.get("health/")

    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")


def test_without_the_database_it_is_503(anyone, monkeypatch):
    def no_answer(*args, **kwargs):
        raise OperationalError("the database does not answer")

    monkeypatch.setattr(QuerySet, "aggregate", no_answer)

    answer = anyone.get("health/")

    assert answer.status_code == 503
    assert (answer.json()["status"], answer.json()["outbox"]) == ("down", None)
    assert answer.headers["Retry-After"] == "2"


def test_it_asks_for_no_token_and_looks_at_none(anyone, db):
    assert anyone.get("health/", token="nonsense").status_code == 200


def test_it_counts_what_is_stuck_and_names_nobody(anyone, study):
    UnfinishedWork.objects.create(
        kind="check",
        lab=study.lab,
        study=study,
        failures=5,
        error="secret",
        quarantined_at=timezone.now(),
    )

    answer = anyone.get("health/")

    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    [stuck] = answer.json()["stuck"]
    assert {**stuck, "since_s": 0} == {
        "kind": "check",
        "failing": 0,
        "quarantined": 1,
        "since_s": 0,
    }
    assert "secret" not in answer.text
