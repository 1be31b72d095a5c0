"""Work that nobody waits for: a unit that fails stops no other and is not forgotten."""

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

from benchmarks.models import Job
from benchmarks.unattended import holding, queue
from benchmarks.unattended.lists import trouble_of


@pytest.fixture
def attempt(study, monkeypatch):
    """Have a check of the study done by a function, and return how many were done."""
    queue.put_checks([study.pk])

    def attempt(work):
        done = queue.Work(lambda jobs: work())
        monkeypatch.setitem(queue.WORKS, "check", done)
        return queue.run("check", study.pk)

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
    """What Django makes of an answer of PostgreSQL."""
    cause = OperationalError("refused")
    cause.sqlstate = state
    error = OperationalError("refused")
    error.__cause__ = cause
    return error


def test_what_ends_well_leaves_nothing(attempt):
    assert attempt(succeed)

    assert not Job.objects.exists()


def test_what_fails_is_noted_with_its_error_and_raises_nothing(attempt, caplog):
    assert not attempt(fail)

    row = only()
    assert (row.failures, row.error) == (1, "KeyError: 'no such case'")
    assert row.server_started_at is None
    [record] = caplog.records
    assert record.exc_info


def test_the_command_says_which_process_has_a_job_in_hand(attempt):
    out = StringIO()
    attempt(lambda: call_command("jobs", stdout=out))

    assert "1 running" in out.getvalue()
    assert f"{gethostname()}:{os.getpid()}" in out.getvalue()


def test_it_waits_twice_as_long_each_time_up_to_an_hour():
    waits = [queue.delay(n) / timedelta(minutes=1) for n in (1, 2, 3, 4, 7, 999)]

    assert waits == [1, 2, 4, 8, 60, 60]


def test_it_is_not_tried_before_its_time(attempt):
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


def test_it_is_set_aside_after_five_failures(attempt):
    for _ in range(queue.QUARANTINE_AFTER - 1):
        attempt(fail)
        wait_until_due()
    assert only().quarantined_at is None

    attempt(fail)

    assert only().quarantined_at
    wait_until_due()
    assert not attempt(succeed)


def test_what_was_set_aside_is_tried_again_when_asked_or_after_an_upgrade(attempt):
    fail_often(attempt)

    assert queue.retry_after_upgrade() == 0
    Job.objects.update(version="0.0.1")
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
def test_a_database_that_is_away_is_nobodys_fault(attempt, error):
    def go_away():
        raise error

    with pytest.raises(type(error)):
        attempt(go_away)

    assert (only().failures, only().server_started_at) == (0, None)


@pytest.mark.parametrize("state", ["57014", "53200", "54001"])
def test_what_the_database_cannot_do_is_the_fault_of_the_work(attempt, state):
    def ask_too_much():
        raise refused(state)

    assert not attempt(ask_too_much)
    assert only().failures == 1


KILLED = """
import django, os, signal
django.setup()
from benchmarks.unattended import queue
queue.WORKS["check"] = queue.Work(lambda jobs: os.kill(os.getpid(), signal.SIGKILL))
queue.run("check", {study})
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
def test_what_kills_its_worker_is_blamed_and_what_else_happens_is_not(attempt, study):
    kill_a_worker(study)
    assert only().server_started_at

    # Found in hand of nobody. Once is chance: a worker that was stopped is not late.
    assert attempt(succeed)
    assert not Job.objects.exists()

    queue.put_checks([study.pk])
    kill_a_worker(study)
    kill_a_worker(study)
    assert not attempt(succeed)
    assert (only().failures, only().error) == (2, "It stopped its worker.")


@pytest.mark.django_db(transaction=True)
def test_nobody_is_blamed_for_a_postgresql_that_was_restarted(attempt, study):
    kill_a_worker(study)
    Job.objects.update(server_started_at=timezone.now() - timedelta(days=9))

    assert attempt(succeed)
    assert not Job.objects.exists()


def test_a_command_lists_what_is_stuck_and_tries_it_again(attempt, study):
    fail_often(attempt)

    listed, said = StringIO(), StringIO()
    call_command("jobs", stdout=listed)
    assert only().failures == 5
    call_command("jobs", study="alpha-lab/study", retry=True, stdout=said)

    line = listed.getvalue()
    assert "check of study study of alpha-lab: failed 5 times, quarantined" in line
    assert "KeyError" in line
    assert "check: 0 waiting" in line
    assert "1 quarantined" in line
    assert "1 will be tried again" in said.getvalue()
    assert attempt(succeed)


def test_a_study_says_how_often_its_check_failed_and_of_what(attempt, study):
    attempt(fail)
    [first] = trouble_of(study)
    wait_until_due()
    attempt(fail)
    [second] = trouble_of(study)

    end = "failed{}: KeyError: 'no such case'"
    assert first.sentence.endswith(end.format(""))
    assert second.sentence.endswith(end.format(" 2 times"))
    assert "out of date" in second.meaning


def test_energy_of_a_machine_is_told_where_it_was_measured(
    submit, run_document, study, monkeypatch
):
    submit(run_document())
    host = study.lab.hosts.get()
    queue.put_energies([(host.pk, None, None)])
    monkeypatch.setitem(queue.WORKS, "energy", queue.Work(lambda jobs: fail()))

    queue.run("energy", host.pk)

    [trouble] = trouble_of(study)
    assert "alpha" in trouble.sentence


def in_a_thread(function, *given):
    def done():
        try:
            return function(*given)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(done).result()


@pytest.mark.django_db(transaction=True)
def test_one_worker_has_it_in_hand(attempt, study):
    seen = []

    def look():
        seen.append(in_a_thread(queue.run, "check", study.pk))

    assert attempt(look)
    assert seen == [0]


@pytest.mark.django_db(transaction=True)
def test_whose_hint_or_worker_was_lost_is_sent_again(study):
    queue.put([Job(kind="report", subject_id=7, hinted_at=timezone.now())])
    assert queue.to_be_sent() == []
    Job.objects.update(hinted_at=timezone.now() - 2 * queue.HINT_IS_LOST_AFTER)
    assert queue.to_be_sent() == [("report", 7)]
    assert queue.to_be_sent() == []

    with holding.held("job report 7"):
        assert queue._claim("report", 7)
        assert in_a_thread(queue.to_be_sent) == []
    # The worker is gone, and left it in hand.
    assert in_a_thread(queue.to_be_sent) == [("report", 7)]
