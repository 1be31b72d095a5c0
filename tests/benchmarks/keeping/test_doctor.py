"""What the doctor finds, each fault made on purpose."""

import io
import os
import time
from datetime import timedelta

import psycopg
import pytest
import redis
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from benchmarks import broker
from benchmarks.keeping import doctor
from benchmarks.models import Job
from benchmarks.unattended import queue

GONE = redis.Redis(port=1, retry=Retry(NoBackoff(), 0))


@pytest.fixture(autouse=True)
def well(db, settings, tmp_path, monkeypatch):
    """An installation with nothing to complain about."""
    # The tests' own server does without the two others (`tests/services.py`).
    assert doctor.DURABLE.keys() == {"fsync", "full_page_writes", "synchronous_commit"}
    monkeypatch.setattr(doctor, "DURABLE", {"synchronous_commit": "on"})
    settings.SECRET_KEY = "s" * 50
    settings.VAR = tmp_path
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
    (tmp_path / doctor.BACKUP_STAMP).touch()


def problems() -> dict[str, str]:
    return {each.what: each.problem for each in doctor.examine() if each.problem}


def test_a_sound_installation_has_no_problem():
    assert problems() == {}
    assert len(doctor.examine()) > 12


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("DEBUG", True, "DEBUG"),
        ("SECRET_KEY", "short", "SECRET_KEY"),
        ("ALLOWED_HOSTS", ["*"], "ALLOWED_HOSTS"),
        ("ALLOWED_HOSTS", ["lab.example.org"], "HTTPS"),
    ],
)
def test_it_finds_wrong_settings(settings, name, value, what):
    setattr(settings, name, value)

    assert what in problems()


def test_it_finds_commits_that_a_power_cut_would_lose():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")

        assert "synchronous_commit=off" in problems()["durability of PostgreSQL"]


@pytest.fixture
def broken_index():
    """What a `CREATE INDEX CONCURRENTLY` leaves behind that did not succeed."""
    name = connection.settings_dict["NAME"]
    with psycopg.connect(
        settings.OWNER_DATABASE_URL, dbname=name, autocommit=True
    ) as other:
        other.execute("SET statement_timeout = '20s'")
        other.execute("CREATE TABLE doubled AS VALUES (1), (1)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            other.execute(
                "CREATE UNIQUE INDEX CONCURRENTLY broken ON doubled (column1)"
            )
        yield "broken"
        other.execute("DROP TABLE doubled")


def test_it_finds_an_index_that_cannot_be_used(broken_index):
    assert broken_index in problems()["indexes"]


def test_it_finds_a_clock_that_is_off(monkeypatch):
    real = time.time
    monkeypatch.setattr(doctor.time, "time", lambda: real() - 3600)

    found = problems()

    assert "3600 s off" in found["the clock of PostgreSQL"]
    assert "the clock of Redis" in found


def test_it_finds_a_disk_that_is_nearly_full(monkeypatch):
    usage = doctor.shutil.disk_usage("/")._replace(total=10**11, used=0, free=10**9)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: usage)

    [disk] = [each for each in doctor.examine() if each.what == "the disk"]
    assert disk.grave
    assert "1.0 GB of 100 GB" in disk.problem


def test_it_finds_work_that_nobody_does_and_work_that_failed(study):
    queue.put_checks([study.pk], created_at=timezone.now() - timedelta(days=1))
    Job.objects.update(failures=1, error="KeyError")

    found = problems()

    assert "1 of check for 864" in found["work that waits"]
    assert "manage.py jobs" in found["work that failed"]


def test_it_finds_an_old_backup_and_none(settings, tmp_path):
    stamp = tmp_path / doctor.BACKUP_STAMP
    os.utime(stamp, (0, time.time() - 5 * 86_400))
    assert "5.0 days old" in problems()["backups"]

    stamp.unlink()
    assert "None is known of" in problems()["backups"]


def test_what_does_not_answer_is_a_problem_too(monkeypatch):
    monkeypatch.setattr(broker, "connection", lambda: GONE)

    found = {each.what: each for each in doctor.examine() if each.problem}

    assert found["servers"].grave
    assert "disk" not in found


def test_the_command_ends_with_1_where_something_is_grave(settings):
    said = io.StringIO()
    call_command("doctor", stdout=said)
    assert "0 to look after, 0 grave" in said.getvalue()

    settings.DEBUG = True
    with pytest.raises(SystemExit):
        call_command("doctor", stdout=said)
    assert "GRAVE DEBUG: It is on" in said.getvalue()
