"""Work that nobody waits for: a unit that fails stops no other and is not forgotten."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from benchmarks.models import UnfinishedWork
from benchmarks.unattended import attempts
from benchmarks.unattended.attempts import Kind, Unit, attempt
from benchmarks.unattended.lists import trouble_of


@pytest.fixture
def unit(study):
    return Unit(Kind.CHECK, study.lab_id, study.pk)


def fail():
    raise KeyError("no such case")


def only():
    return UnfinishedWork.objects.get()


def wait_until_due():
    UnfinishedWork.objects.update(next_at=timezone.now())


def refused(state):
    """What Django makes of an answer of PostgreSQL."""
    cause = OperationalError("refused")
    cause.sqlstate = state
    error = OperationalError("refused")
    error.__cause__ = cause
    return error


def test_what_ends_well_leaves_nothing(unit):
    assert attempt(unit, lambda: True)

    assert not UnfinishedWork.objects.exists()


def test_what_fails_is_noted_with_its_error_and_raises_nothing(unit, caplog):
    assert not attempt(unit, fail)

    row = only()
    assert (row.failures, row.error) == (1, "KeyError: 'no such case'")
    assert row.server_started_at is None
    [record] = caplog.records
    assert record.exc_info


def test_it_waits_twice_as_long_each_time_up_to_an_hour():
    waits = [attempts.delay(n) / timedelta(minutes=1) for n in (1, 2, 3, 4, 7, 999)]

    assert waits == [1, 2, 4, 8, 60, 60]


def test_it_is_not_tried_before_its_time(unit):
    attempt(unit, fail)
    calls = []

    assert not attempt(unit, lambda: bool(calls.append(1)))
    assert not calls
    wait_until_due()
    assert attempt(unit, lambda: True)
    assert not UnfinishedWork.objects.exists()


def fail_often(unit):
    for _ in range(attempts.QUARANTINE_AFTER):
        attempt(unit, fail)
        wait_until_due()


def test_it_is_set_aside_after_five_failures(unit):
    for _ in range(attempts.QUARANTINE_AFTER - 1):
        attempt(unit, fail)
        wait_until_due()
    assert only().quarantined_at is None

    attempt(unit, fail)

    assert only().quarantined_at
    wait_until_due()
    assert not attempt(unit, lambda: True)


def test_what_was_set_aside_is_tried_again_when_asked_or_after_an_upgrade(unit):
    fail_often(unit)

    assert attempts.retry_after_upgrade() == 0
    UnfinishedWork.objects.update(version="0.0.1")
    assert attempts.retry_after_upgrade() == 1
    assert attempt(unit, lambda: True)


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
def test_a_database_that_is_away_is_nobodys_fault(unit, error):
    def go_away():
        raise error

    with pytest.raises(type(error)):
        attempt(unit, go_away)

    assert not UnfinishedWork.objects.exists()


@pytest.mark.parametrize("state", ["57014", "53200", "54001"])
def test_what_the_database_cannot_do_is_the_fault_of_the_work(unit, state):
    def ask_too_much():
        raise refused(state)

    assert not attempt(unit, ask_too_much)
    assert only().failures == 1


KILLED = """
import django, os, signal
django.setup()
from benchmarks.unattended.attempts import Kind, Unit, attempt
attempt(Unit(Kind.CHECK, {lab}, {study}), lambda: os.kill(os.getpid(), signal.SIGKILL))
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
            KILLED.format(lab=study.lab_id, study=study.pk),
        )
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment, timeout=60, check=False
    )
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.django_db(transaction=True)
def test_what_kills_its_worker_is_blamed_and_what_else_happens_is_not(unit, study):
    kill_a_worker(study)
    assert only().server_started_at

    # Found in hand of nobody. Once is chance: a worker that was stopped is not late.
    assert attempt(unit, lambda: True)
    assert not UnfinishedWork.objects.exists()

    kill_a_worker(study)
    kill_a_worker(study)
    assert not attempt(unit, lambda: True)
    assert (only().failures, only().error) == (2, "It stopped its worker.")


@pytest.mark.django_db(transaction=True)
def test_nobody_is_blamed_for_a_postgresql_that_was_restarted(unit, study):
    kill_a_worker(study)
    UnfinishedWork.objects.update(server_started_at=timezone.now() - timedelta(days=9))

    assert attempt(unit, partial(bool, 1))
    assert not UnfinishedWork.objects.exists()


def test_a_command_lists_what_is_stuck_and_tries_it_again(unit, study):
    fail_often(unit)

    listed, said = StringIO(), StringIO()
    call_command("retry_stuck", list=True, stdout=listed)
    assert only().failures == 5
    call_command("retry_stuck", study="alpha-lab/study", stdout=said)

    line = listed.getvalue()
    assert "check of study study of alpha-lab: failed 5 times, set aside" in line
    assert "KeyError" in line
    assert "1 will be tried again" in said.getvalue()
    assert attempt(unit, lambda: True)


def test_a_study_says_how_often_its_check_failed_and_of_what(unit, study, lab):
    attempt(unit, fail)
    [first] = trouble_of(study)
    wait_until_due()
    attempt(unit, fail)
    [second] = trouble_of(study)

    end = "failed{}: KeyError: 'no such case'"
    assert first.sentence.endswith(end.format(""))
    assert second.sentence.endswith(end.format(" 2 times"))
    assert "out of date" in second.meaning


def test_energy_of_a_machine_is_told_where_it_was_measured(submit, run_document, study):
    submit(run_document())
    host = study.lab.hosts.get()

    attempt(Unit(Kind.ENERGY, host.lab_id, host.pk), fail)

    [trouble] = trouble_of(study)
    assert "alpha" in trouble.sentence
