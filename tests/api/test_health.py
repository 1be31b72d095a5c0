"""/health/ and /ready/: the state of the server."""

from datetime import timedelta

import redis
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from benchmarks import redis_connection
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import Job

GONE = redis.Redis(port=1, retry=Retry(NoBackoff(), 0))


def test_healthy_servers_are_ok(anyone, api, run_document):
    api.post("runs/", run_document())

    answer = anyone.get("health/")

    body = answer.json()
    assert answer.status_code == 200
    assert (body["status"], body["database"], body["redis"]) == ("ok", True, True)
    assert (body["outbox"]["waiting"], body["outbox"]["quarantined"]) == (1, 0)
    assert body["outbox"]["oldest_age_s"] >= 0
    assert body["failed_jobs"] == []


def test_without_redis_servers_are_degraded(anyone, db, monkeypatch):
    monkeypatch.setattr(redis_connection, "connection", lambda: GONE)

    answer = anyone.get("health/")

    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")


def test_without_a_database_health_is_503(anyone, monkeypatch):
    def no_answer(*args, **kwargs):
        raise OperationalError("the database does not answer")

    monkeypatch.setattr(BaseDatabaseWrapper, "cursor", no_answer)

    answer = anyone.get("health/")

    assert answer.status_code == 503
    assert (answer.json()["status"], answer.json()["outbox"]) == ("down", None)
    assert answer.headers["Retry-After"] == "2"


def test_tokens_are_ignored(anyone, db):
    assert anyone.get("health/", token="nonsense").status_code == 200


def test_failed_jobs_are_counted(anyone, study):
    enqueue_checks([study.pk])
    Job.objects.update(failures=5, error="secret", quarantined_at=timezone.now())

    answer = anyone.get("health/")

    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    [stuck] = answer.json()["failed_jobs"]
    assert {**stuck, "last_attempt_age_s": 0} == {
        "kind": "check",
        "retrying": 0,
        "quarantined": 1,
        "last_attempt_age_s": 0,
    }
    assert "secret" not in answer.text


def test_late_jobs_degrade_health(anyone, study):
    long_ago = timezone.now() - timedelta(hours=1)
    enqueue_checks([study.pk], created_at=long_ago)

    body = anyone.get("health/").json()

    assert body["status"] == "degraded"
    [check] = [due for due in body["waiting_jobs"] if due["kind"] == "check"]
    assert (check["waiting"], check["is_late"]) == (1, True)
    assert 3600 <= check["oldest_age_s"] < 3700


def test_new_jobs_are_not_late(anyone, study):
    enqueue_checks([study.pk])

    body = anyone.get("health/").json()

    assert (body["status"], body["waiting_jobs"][0]["waiting"]) == ("ok", 1)


def test_a_server_with_all_its_tables_is_ready(anyone, db):
    answer = anyone.get("ready/")

    assert (answer.status_code, answer.json()) == (200, {"ready": True, "problem": ""})


def test_a_server_before_its_migration_is_not_ready(anyone, db):
    MigrationRecorder(connection).record_unapplied("benchmarks", "0001_initial")

    answer = anyone.get("ready/")

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "manage.py prepare" in answer.json()["problem"]


def test_a_server_without_its_database_is_not_ready(anyone, monkeypatch):
    def no_answer(self):
        raise OperationalError("the database does not answer")

    monkeypatch.setattr(MigrationRecorder, "applied_migrations", no_answer)

    answer = anyone.get("ready/")

    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "problem": "PostgreSQL is not responding."}
