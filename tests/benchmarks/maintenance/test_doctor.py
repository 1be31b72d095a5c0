"""Checks of the doctor, with one fault each."""

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

from benchmarks import redis_connection
from benchmarks.jobs import queue
from benchmarks.maintenance import doctor
from benchmarks.models import Job

GONE = redis.Redis(port=1, retry=Retry(NoBackoff(), 0))


@pytest.fixture(autouse=True)
def well(db, settings, tmp_path, monkeypatch):
    """An installation without problems."""
    # The test server disables the two other settings (`tests/server_plugin.py`).
    assert doctor.DURABILITY_SETTINGS.keys() == {
        "fsync",
        "full_page_writes",
        "synchronous_commit",
    }
    monkeypatch.setattr(doctor, "DURABILITY_SETTINGS", {"synchronous_commit": "on"})
    settings.SECRET_KEY = "s" * 50
    settings.VAR_DIR = tmp_path
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
    (tmp_path / doctor.BACKUP_STAMP).touch()


def problems() -> dict[str, str]:
    return {item.check: item.problem for item in doctor.diagnose() if item.problem}


def test_correct_installation_has_no_problems():
    assert problems() == {}
    assert len(doctor.diagnose()) > 12


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("DEBUG", True, "DEBUG"),
        ("SECRET_KEY", "short", "SECRET_KEY"),
        ("ALLOWED_HOSTS", ["*"], "ALLOWED_HOSTS"),
        ("ALLOWED_HOSTS", ["lab.example.org"], "HTTPS"),
    ],
)
def test_doctor_finds_wrong_settings(settings, name, value, what):
    setattr(settings, name, value)

    assert what in problems()


def test_doctor_finds_unsafe_commits():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")

        assert "synchronous_commit=off" in problems()["durability of PostgreSQL"]


@pytest.fixture
def broken_index():
    """The invalid index of a failed `CREATE INDEX CONCURRENTLY`."""
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


def test_doctor_finds_invalid_indexes(broken_index):
    assert broken_index in problems()["indexes"]


def test_doctor_finds_wrong_clocks(monkeypatch):
    real = time.time
    monkeypatch.setattr(doctor.time, "time", lambda: real() - 3600)

    result = problems()

    assert "3600 s" in result["clock of PostgreSQL"]
    assert "clock of Redis" in result


def test_doctor_finds_a_nearly_full_disk(monkeypatch):
    usage = doctor.shutil.disk_usage("/")._replace(total=10**11, used=0, free=10**9)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: usage)

    [disk] = [item for item in doctor.diagnose() if item.check == "disk"]
    assert disk.is_critical
    assert "1.0 GB of 100 GB" in disk.problem


def test_doctor_finds_late_and_failed_jobs(study):
    queue.enqueue_checks([study.pk], created_at=timezone.now() - timedelta(days=1))
    Job.objects.update(failures=1, error="KeyError")

    result = problems()

    assert "1 of check for 864" in result["waiting jobs"]
    assert "manage.py jobs" in result["failed jobs"]


def test_doctor_finds_old_and_missing_backups(settings, tmp_path):
    stamp = tmp_path / doctor.BACKUP_STAMP
    os.utime(stamp, (0, time.time() - 5 * 86_400))
    assert "5.0 days old" in problems()["backups"]

    stamp.unlink()
    assert "No backup is known" in problems()["backups"]


def test_failing_check_is_a_problem(monkeypatch):
    monkeypatch.setattr(redis_connection, "connection", lambda: GONE)

    result = {item.check: item for item in doctor.diagnose() if item.problem}

    assert result["servers"].is_critical
    assert "disk" not in result


def test_command_exits_with_1_on_critical_problems(settings):
    output = io.StringIO()
    call_command("doctor", stdout=output)
    assert "0 problems, 0 critical" in output.getvalue()

    settings.DEBUG = True
    with pytest.raises(SystemExit):
        call_command("doctor", stdout=output)
    assert "ERROR DEBUG: It is on" in output.getvalue()
