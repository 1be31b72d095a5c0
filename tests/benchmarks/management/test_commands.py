"""Management commands for operators and for the supervisor."""

import select
import signal
import stat
import sys
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace

import psycopg
import pytest
from django.contrib.auth import authenticate as sign_in
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from benchmarks.errors import UnauthenticatedError
from benchmarks.jobs import advisory_locks
from benchmarks.labs.tokens import authenticate
from benchmarks.management.commands import sweep
from benchmarks.management.commands.sweep import SCHEDULER_LOCK, stop_signals
from benchmarks.models import (
    Job,
    Lab,
    Membership,
    Run,
    RunOutput,
    Study,
    Token,
)
from benchmarks.uploads import reparsing
from benchmarks.uploads.intake import submit_runs
from tests import job_queue


@pytest.fixture
def other_session(db):
    """Another session with the same database."""
    with psycopg.connect(
        **connection.get_connection_params() | {"cursor_factory": psycopg.Cursor},
        autocommit=True,
    ) as session:
        yield session


def printed(*command: str, **options) -> str:
    out = StringIO()
    call_command(*command, stdout=out, stderr=StringIO(), **options)
    return out.getvalue().strip()


def test_printed_token_works(lab):
    secret = printed("create_token", "alpha-lab", "new-agent", upload=True)

    token = authenticate(secret)
    assert (token.agent.name, token.can_upload, token.can_read) == (
        "new-agent",
        True,
        False,
    )


def test_token_needs_a_scope(lab):
    with pytest.raises(CommandError, match="--upload, --read"):
        printed("create_token", "alpha-lab", "new-agent")


def test_error_lists_existing_labs(lab):
    with pytest.raises(CommandError, match="Known labs: alpha-lab"):
        printed("create_token", "gamma-lab", "new-agent", read=True)


def test_token_is_revoked(token):
    prefix = Token.objects.get().prefix

    assert "was revoked" in printed("revoke_token", prefix)

    with pytest.raises(UnauthenticatedError):
        authenticate(token)
    with pytest.raises(CommandError, match="0000000000"):
        printed("revoke_token", "0000000000")


def test_person_is_created_with_a_printed_password(lab):
    password = printed("create_person", "alpha-lab", "dora", role="maintainer")

    dora = sign_in(username="dora", password=password)
    assert Membership.objects.get(user=dora).role == "maintainer"
    assert printed("create_person", "alpha-lab", "dora", role="admin") == ""
    assert Membership.objects.get(user=dora).role == "admin"
    assert sign_in(username="dora", password=password) == dora


@pytest.mark.parametrize(
    ("lab_slug", "name", "role", "sentence"),
    [
        ("gamma-lab", "dora", "viewer", "Known labs: alpha-lab"),
        ("alpha-lab", "do ra", "viewer", "Enter a valid username"),
        ("alpha-lab", "dora", "king", "invalid choice"),
    ],
)
def test_invalid_person_is_rejected(lab, lab_slug, name, role, sentence):
    with pytest.raises(CommandError, match=sentence):
        printed("create_person", lab_slug, name, "--role", role)


def test_lab_is_created_with_its_first_admin(db):
    password = printed("create_lab", "rack-lab", "The rack lab", admin="dora")

    dora = sign_in(username="dora", password=password)
    place = Membership.objects.get(user=dora)
    assert (place.lab.name, place.role) == ("The rack lab", "admin")
    with pytest.raises(CommandError, match="is taken"):
        printed("create_lab", "rack-lab", "Another", admin="dora")
    with pytest.raises(CommandError, match="slug"):
        printed("create_lab", "rack lab", "Another", admin="dora")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_wakes_the_waiting_sweeper(number):
    before = signal.getsignal(signal.SIGINT)

    with stop_signals() as stopped:
        assert not select.select([stopped], [], [], 0)[0]
        signal.raise_signal(number)

        assert select.select([stopped], [], [], 5)[0]
    assert signal.getsignal(signal.SIGINT) is before


def test_sweeper_processes_uploads_without_wakeup(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])

    call_command("sweep", once=True, older_than=0)

    assert Run.objects.get().status == Run.Status.PARSED
    assert not job_queue.waiting("upload").exists()


def test_second_sweeper_stands_by(agent, run_document, other_session):
    submit_runs(agent=agent, documents=[run_document()])
    other_session.execute(
        "SELECT pg_advisory_lock(hashtextextended(%s, 0))", [SCHEDULER_LOCK]
    )

    output = printed("sweep", once=True, older_than=0)
    assert "another sweeper" in output
    assert job_queue.waiting("upload").exists()

    other_session.execute("SELECT pg_advisory_unlock_all()")
    printed("sweep", once=True, older_than=0)
    assert not job_queue.waiting("upload").exists()


def test_active_sweeper_keeps_the_lock(db, other_session):
    asked = [advisory_locks.acquire_lock(SCHEDULER_LOCK) for _ in range(3)]

    [left] = other_session.execute(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        " AND pid <> pg_backend_pid() AND database ="
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    ).fetchone()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")
    assert asked == [True] * 3
    assert left == 1


def test_a_database_without_citus_is_not_distributed(transactional_db):
    with pytest.raises(CommandError, match="has no Citus"):
        printed("distribute", "--dry-run")


def test_failing_task_does_not_stop_the_sweeper(
    agent, run_document, monkeypatch, caplog
):
    submit_runs(agent=agent, documents=[run_document()])
    call_command("sweep", once=True, older_than=0)

    def fail():
        raise KeyError("no such parser")

    monkeypatch.setattr(reparsing, "advance_reparses", fail)
    Job.objects.filter(kind="check").update(
        created_at=timezone.now() - timedelta(minutes=1)
    )
    call_command("sweep", once=True, older_than=0)

    assert not Job.objects.filter(kind="check").exists()
    [record] = [item for item in caplog.records if item.levelname == "ERROR"]
    assert record.exc_info[0] is KeyError


def test_prepare_creates_the_first_lab_once(transactional_db, tmp_path, settings):
    settings.VAR_DIR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"

    call_command("prepare")
    first = {path.name: path.read_text() for path in tmp_path.glob("*-*")}
    call_command("prepare")

    repeated = {path.name: path.read_text() for path in tmp_path.glob("*-*")}
    assert set(first) == {"first-sign-in", "upload-token", "read-token"}
    assert repeated == first
    assert Lab.objects.count() == 1
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("*-*")}
    assert modes == {0o600}
    upload = authenticate(first["upload-token"].strip())
    assert (upload.can_upload, upload.can_read) == (True, False)


def test_database_with_unknown_migrations_is_not_changed(
    transactional_db, tmp_path, settings
):
    settings.VAR_DIR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"
    applied = MigrationRecorder.Migration.objects.create(
        app="benchmarks", name="0070_impossible_effects_are_counted"
    )

    with pytest.raises(CommandError, match=r"docs/operations\.md"):
        call_command("prepare")

    applied.delete()
    assert not list(tmp_path.iterdir())


def test_static_files_are_collected_again_only_when_one_changed(
    transactional_db, tmp_path, settings, monkeypatch
):
    settings.VAR_DIR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"
    call_command("prepare")
    marker = tmp_path / "static" / "marker"
    marker.write_text("still here")

    call_command("prepare")
    assert marker.exists()

    (tmp_path / "static" / ".collected").write_text("another state of the sources")
    call_command("prepare")
    assert not marker.exists()


def test_reparse_lists_changes(submit, run_document):
    submit(run_document(13.08))
    stored = RunOutput.objects.get()
    stored.text = stored.text.replace("13.08", "14.08")
    stored.save()

    report = printed("reparse", tool="Iometer").splitlines()

    assert report[0].startswith("1 uploads reparsed: 1 samples changed, 0 vanished")
    assert "13.08 -> 14.08" in report[1]


@pytest.mark.parametrize(
    ("which", "sentence"),
    [({"tool": "iomter"}, "Did you mean"), ({"study": "a/b"}, "LAB/STUDY")],
)
def test_reparse_rejects_unknown_names(db, which, sentence):
    with pytest.raises(CommandError, match=sentence):
        printed("reparse", **which)


def command_output(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output)
    return output.getvalue()


def test_deletion_without_yes_is_a_dry_run(submit, run_document, study):
    submit(run_document())
    name = f"{study.lab.slug}/{study.slug}"

    output = command_output("delete", "study", name, "--reason", "a test")

    assert "1 runs, 1 samples, 1 results" in output
    assert "Nothing was deleted" in output
    assert Study.objects.exists()
    assert "Nothing" not in command_output(
        "delete", "study", name, "--reason", "a", "--yes"
    )
    assert not Study.objects.exists()


def test_runs_of_other_labs_are_not_deleted(submit, run_document, lab, other_lab):
    [run] = submit(run_document())

    with pytest.raises(CommandError, match="has no run"):
        command_output(
            "delete", "runs", other_lab.slug, str(run.run_id), "--reason", "a"
        )
    command_output(
        "delete", "runs", lab.slug, str(run.run_id), "--reason", "a", "--yes"
    )

    assert not Run.objects.exists()


def test_undeletable_account_is_reported(person):
    with pytest.raises(CommandError, match="last member who can edit"):
        command_output("delete", "account", "carol", "--yes")
    with pytest.raises(CommandError, match="Account not found"):
        command_output("delete", "account", "nobody")
    assert "alpha-lab" in command_output("delete", "account", "carol")


def test_a_sweeper_that_has_grown_restarts_with_the_same_command(monkeypatch):
    started = []
    monkeypatch.setattr(sweep.os, "setpriority", lambda *_: None)
    monkeypatch.setattr(sweep.os, "execv", lambda *command: started.append(command))
    monkeypatch.setattr(sweep, "connection", SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(sweep, "MIN_RESTART_S", 0)
    monkeypatch.setattr(sweep.Command, "_is_leader", lambda _: False)
    monkeypatch.setattr(sweep.MemoryTrimmer, "has_grown_too_much", True)

    call_command("sweep", every=0.01)

    assert started == [(sys.executable, sys.orig_argv)]
