"""The job queue: failing jobs do not stop others and are retried or quarantined."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from socket import gethostname

import pytest
from django.core.management import call_command
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from benchmarks.jobs import advisory_locks, queue
from benchmarks.jobs.failures import study_failures
from benchmarks.models import Job


@pytest.fixture
def attempt(study, monkeypatch):
    """Run a check of the study with a given handler; return the number done."""
    queue.enqueue_checks([study.pk])

    def attempt(work):
        done = queue.JobHandler(lambda jobs: work())
        monkeypatch.setitem(queue.HANDLERS, "check", done)
        return queue.run_due_jobs("check", study.pk)

    return attempt


def succeed():
    return True


def fail():
    raise KeyError("no such case")


def only():
    return Job.objects.get()


def wait_until_due():
    Job.objects.update(due_at=timezone.now())


def refused(state):
    """Return the Django error for a PostgreSQL error."""
    cause = OperationalError("refused")
    cause.sqlstate = state
    error = OperationalError("refused")
    error.__cause__ = cause
    return error


def test_finished_job_is_deleted(attempt):
    assert attempt(succeed)

    assert not Job.objects.exists()


def test_failed_job_stores_its_error(attempt, caplog):
    assert not attempt(fail)

    row = only()
    assert (row.failures, row.error) == (1, "KeyError: 'no such case'")
    assert row.claimed_server_started_at is None
    [record] = caplog.records
    assert record.exc_info


def test_command_shows_the_worker_of_a_claimed_job(attempt):
    out = StringIO()
    attempt(lambda: call_command("jobs", stdout=out))

    assert "1 running" in out.getvalue()
    assert f"{gethostname()}:{os.getpid()}" in out.getvalue()


def test_retry_delay_doubles_up_to_an_hour():
    waits = [queue.retry_delay(n) / timedelta(minutes=1) for n in (1, 2, 3, 4, 7, 999)]

    assert waits == [1, 2, 4, 8, 60, 60]


def test_job_is_not_retried_before_it_is_due(attempt):
    attempt(fail)
    calls = []

    assert not attempt(lambda: bool(calls.append(1)))
    assert not calls
    wait_until_due()
    assert attempt(succeed)
    assert not Job.objects.exists()


def fail_often(attempt):
    for _ in range(queue.QUARANTINE_AFTER):
        attempt(fail)
        wait_until_due()


def test_job_is_quarantined_after_five_failures(attempt):
    for _ in range(queue.QUARANTINE_AFTER - 1):
        attempt(fail)
        wait_until_due()
    assert only().quarantined_at is None

    attempt(fail)

    assert only().quarantined_at
    wait_until_due()
    assert not attempt(succeed)


def test_quarantined_job_is_retried_by_command_or_upgrade(attempt):
    fail_often(attempt)

    assert queue.retry_after_upgrade() == 0
    Job.objects.update(failed_version="0.0.1")
    assert queue.retry_after_upgrade() == 1
    assert attempt(succeed)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "error",
    [
        OperationalError("the server closed the connection"),
        InterfaceError("the connection is closed"),
        refused("40P01"),
        refused("57P01"),
        refused("53300"),
    ],
)
def test_unavailable_database_does_not_count_as_failure(attempt, error):
    def go_away():
        raise error

    with pytest.raises(type(error)):
        attempt(go_away)

    assert (only().failures, only().claimed_server_started_at) == (0, None)


@pytest.mark.parametrize("state", ["57014", "53200", "54001"])
def test_statement_limits_count_as_failure(attempt, state):
    def ask_too_much():
        raise refused(state)

    assert not attempt(ask_too_much)
    assert only().failures == 1


KILLED = """
import django, os, signal
django.setup()
from benchmarks.jobs import queue
handle = lambda jobs: os.kill(os.getpid(), signal.SIGKILL)
queue.HANDLERS["check"] = queue.JobHandler(handle)
queue.run_due_jobs("check", {study})
"""


def kill_a_worker(study):
    name = connection.settings_dict["NAME"]
    host, port = (connection.settings_dict[key] for key in ("HOST", "PORT"))
    user, secret = (connection.settings_dict[key] for key in ("USER", "PASSWORD"))
    script = "\n".join(
        (
            "from django.conf import settings",
            "import tests.settings",
            f"database = dict(NAME={name!r}, HOST={host!r}, PORT={port!r})",
            f"database |= dict(USER={user!r}, PASSWORD={secret!r})",
            "settings.DATABASES['default'].update(database)",
            KILLED.format(study=study.pk),
        )
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment, timeout=60, check=False
    )
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.django_db(transaction=True)
def test_death_of_the_worker_counts_as_failure(attempt, study):
    kill_a_worker(study)
    assert only().claimed_server_started_at

    # Found abandoned. The first time may be chance: the retry is immediate.
    assert attempt(succeed)
    assert not Job.objects.exists()

    queue.enqueue_checks([study.pk])
    kill_a_worker(study)
    kill_a_worker(study)
    assert not attempt(succeed)
    assert (only().failures, only().error) == (
        2,
        ("The worker stopped while processing it."),
    )


@pytest.mark.django_db(transaction=True)
def test_restart_of_postgresql_does_not_count_as_failure(attempt, study):
    kill_a_worker(study)
    Job.objects.update(claimed_server_started_at=timezone.now() - timedelta(days=9))

    assert attempt(succeed)
    assert not Job.objects.exists()


def test_command_lists_and_retries_failed_jobs(attempt, study):
    fail_often(attempt)

    listed, output = StringIO(), StringIO()
    call_command("jobs", stdout=listed)
    assert only().failures == 5
    call_command("jobs", study="alpha-lab/study", retry=True, stdout=output)

    line = listed.getvalue()
    assert "check of study study of alpha-lab: failed 5 times, quarantined" in line
    assert "KeyError" in line
    assert "check: 0 waiting" in line
    assert "1 quarantined" in line
    assert "1 will be retried" in output.getvalue()
    assert attempt(succeed)


def test_study_shows_failures_of_its_check(attempt, study):
    attempt(fail)
    [first] = study_failures(study)
    wait_until_due()
    attempt(fail)
    [second] = study_failures(study)

    end = "failed{}: KeyError: 'no such case'"
    assert first.message.endswith(end.format(""))
    assert second.message.endswith(end.format(" 2 times"))
    assert "out of date" in second.consequence


def test_energy_failures_are_shown_in_studies_of_the_machine(
    submit, run_document, study, monkeypatch
):
    submit(run_document())
    host = study.lab.hosts.get()
    queue.enqueue_energy([(host.pk, None, None)])
    monkeypatch.setitem(queue.HANDLERS, "energy", queue.JobHandler(lambda jobs: fail()))

    queue.run_due_jobs("energy", host.pk)

    [failures] = study_failures(study)
    assert "alpha" in failures.message


def in_a_thread(function, *given):
    def done():
        try:
            return function(*given)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(done).result()


@pytest.mark.django_db(transaction=True)
def test_one_worker_claims_a_request(attempt, study):
    visible = []

    def run_in_thread():
        visible.append(in_a_thread(queue.run_due_jobs, "check", study.pk))

    assert attempt(run_in_thread)
    assert visible == [0]


@pytest.mark.django_db(transaction=True)
def test_lost_task_is_sent_again(study):
    queue.enqueue([Job(kind="report", subject_id=7, dispatched_at=timezone.now())])
    assert queue.partitions_to_dispatch() == []
    Job.objects.update(dispatched_at=timezone.now() - 2 * queue.DISPATCH_TIMEOUT)
    assert queue.partitions_to_dispatch() == [("report", 7)]
    assert queue.partitions_to_dispatch() == []

    with advisory_locks.advisory_lock("job report 7"):
        assert queue._claim("report", 7)
        assert in_a_thread(queue.partitions_to_dispatch) == []
    # The worker died with the claim.
    assert in_a_thread(queue.partitions_to_dispatch) == [("report", 7)]
