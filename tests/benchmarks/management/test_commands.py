"""The commands that an operator types, and those the supervisor runs."""

import select
import signal
import stat
from datetime import timedelta
from io import StringIO

import psycopg
import pytest
from django.contrib.auth import authenticate as sign_in
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from benchmarks.errors import UnauthenticatedError
from benchmarks.labs.tokens import authenticate
from benchmarks.management.commands.sweep import SWEEPER, stop_signals
from benchmarks.models import (
    Job,
    Lab,
    Membership,
    Run,
    RunOutput,
    Study,
    Token,
)
from benchmarks.unattended import holding
from benchmarks.uploads import rereading
from benchmarks.uploads.intake import submit_runs
from tests import jobs


@pytest.fixture
def other_session(db):
    """A session of somebody else's with the same database."""
    with psycopg.connect(
        **connection.get_connection_params() | {"cursor_factory": psycopg.Cursor},
        autocommit=True,
    ) as session:
        yield session


def printed(*command: str, **options) -> str:
    out = StringIO()
    call_command(*command, stdout=out, stderr=StringIO(), **options)
    return out.getvalue().strip()


def test_it_prints_a_token_that_works(lab):
    secret = printed("create_token", "alpha-lab", "new-agent", upload=True)

    token = authenticate(secret)
    assert (token.agent.name, token.can_upload, token.can_read) == (
        "new-agent",
        True,
        False,
    )


def test_a_token_must_be_for_something(lab):
    with pytest.raises(CommandError, match="--upload, --read"):
        printed("create_token", "alpha-lab", "new-agent")


def test_it_names_the_labs_there_are(lab):
    with pytest.raises(CommandError, match="The labs are: alpha-lab"):
        printed("create_token", "gamma-lab", "new-agent", read=True)


def test_it_revokes_a_token(token):
    prefix = Token.objects.get().prefix

    assert "is revoked" in printed("revoke_token", prefix)

    with pytest.raises(UnauthenticatedError):
        authenticate(token)
    with pytest.raises(CommandError, match="no token"):
        printed("revoke_token", "0000000000")


def test_it_makes_a_person_and_prints_the_password_once(lab):
    password = printed("create_person", "alpha-lab", "dora", role="maintainer")

    dora = sign_in(username="dora", password=password)
    assert Membership.objects.get(user=dora).role == "maintainer"
    assert printed("create_person", "alpha-lab", "dora", role="admin") == ""
    assert Membership.objects.get(user=dora).role == "admin"
    assert sign_in(username="dora", password=password) == dora


@pytest.mark.parametrize(
    ("lab_slug", "name", "role", "sentence"),
    [
        ("gamma-lab", "dora", "viewer", "The labs are: alpha-lab"),
        ("alpha-lab", "do ra", "viewer", "Enter a valid username"),
        ("alpha-lab", "dora", "king", "invalid choice"),
    ],
)
def test_it_refuses_what_cannot_be_a_person(lab, lab_slug, name, role, sentence):
    with pytest.raises(CommandError, match=sentence):
        printed("create_person", lab_slug, name, "--role", role)


def test_it_makes_a_lab_with_its_first_admin(db):
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


def test_the_sweeper_finishes_what_nobody_was_woken_for(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])

    call_command("sweep", once=True, older_than=0)

    assert Run.objects.get().status == Run.Status.PARSED
    assert not jobs.waiting("upload").exists()


def test_beside_another_sweeper_it_does_nothing(agent, run_document, other_session):
    submit_runs(agent=agent, documents=[run_document()])
    other_session.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [SWEEPER])

    said = printed("sweep", once=True, older_than=0)
    assert "Another sweeper" in said
    assert jobs.waiting("upload").exists()

    other_session.execute("SELECT pg_advisory_unlock_all()")
    printed("sweep", once=True, older_than=0)
    assert not jobs.waiting("upload").exists()


def test_it_stays_the_sweeper_however_often_it_asks(db, other_session):
    asked = [holding.take(SWEEPER) for _ in range(3)]

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


def test_one_duty_that_fails_does_not_keep_the_sweeper_from_the_others(
    agent, run_document, monkeypatch, caplog
):
    submit_runs(agent=agent, documents=[run_document()])
    call_command("sweep", once=True, older_than=0)

    def fail():
        raise KeyError("no such parser")

    monkeypatch.setattr(rereading, "proceed", fail)
    Job.objects.filter(kind="check").update(
        created_at=timezone.now() - timedelta(minutes=1)
    )
    call_command("sweep", once=True, older_than=0)

    assert not Job.objects.filter(kind="check").exists()
    [record] = [each for each in caplog.records if each.levelname == "ERROR"]
    assert record.exc_info[0] is KeyError


def test_preparing_makes_the_first_lab_and_its_secrets_once(
    transactional_db, tmp_path, settings
):
    settings.VAR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"

    call_command("prepare")
    first = {path.name: path.read_text() for path in tmp_path.glob("*-*")}
    call_command("prepare")

    again = {path.name: path.read_text() for path in tmp_path.glob("*-*")}
    assert set(first) == {"first-sign-in", "upload-token", "read-token"}
    assert again == first
    assert Lab.objects.count() == 1
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("*-*")}
    assert modes == {0o600}
    upload = authenticate(first["upload-token"].strip())
    assert (upload.can_upload, upload.can_read) == (True, False)


def test_a_database_of_unknown_migrations_is_not_touched(
    transactional_db, tmp_path, settings
):
    settings.VAR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"
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
    settings.VAR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"
    call_command("prepare")
    marker = tmp_path / "static" / "marker"
    marker.write_text("still here")

    call_command("prepare")
    assert marker.exists()

    (tmp_path / "static" / ".collected").write_text("another state of the sources")
    call_command("prepare")
    assert not marker.exists()


def test_reparse_says_what_changed(submit, run_document):
    submit(run_document(13.08))
    kept = RunOutput.objects.get()
    kept.text = kept.text.replace("13.08", "14.08")
    kept.save()

    report = printed("reparse", tool="Iometer").splitlines()

    assert report[0].startswith("1 uploads read again: 1 samples changed, 0 vanished")
    assert "13.08 -> 14.08" in report[1]


@pytest.mark.parametrize(
    ("which", "sentence"),
    [({"tool": "iomter"}, "Did you mean"), ({"study": "a/b"}, "LAB/STUDY")],
)
def test_reparse_refuses_unknown_names(db, which, sentence):
    with pytest.raises(CommandError, match=sentence):
        printed("reparse", **which)


def said_by(*words: str) -> str:
    said = StringIO()
    call_command(*words, stdout=said)
    return said.getvalue()


def test_a_deletion_without_yes_only_says_what_would_go(submit, run_document, study):
    submit(run_document())
    name = f"{study.lab.slug}/{study.slug}"

    said = said_by("delete", "study", name, "--reason", "a test")

    assert "1 runs, 1 samples, 1 cells" in said
    assert "Nothing was deleted" in said
    assert Study.objects.exists()
    assert "Nothing" not in said_by("delete", "study", name, "--reason", "a", "--yes")
    assert not Study.objects.exists()


def test_runs_are_deleted_of_one_lab_only(submit, run_document, lab, other_lab):
    [run] = submit(run_document())

    with pytest.raises(CommandError, match="has no run"):
        said_by("delete", "runs", other_lab.slug, str(run.run_id), "--reason", "a")
    said_by("delete", "runs", lab.slug, str(run.run_id), "--reason", "a", "--yes")

    assert not Run.objects.exists()


def test_an_account_that_must_stay_is_told_of(person):
    with pytest.raises(CommandError, match="last who may change"):
        said_by("delete", "account", "carol", "--yes")
    with pytest.raises(CommandError, match="There is no account"):
        said_by("delete", "account", "nobody")
    assert "carol, of alpha-lab" in said_by("delete", "account", "carol")
