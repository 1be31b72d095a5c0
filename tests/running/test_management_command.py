"""Commands on the installation's database, whether the product is running or not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from running import backups, embedded_servers
from running.embedded_servers import EmbeddedServers
from running.postgres import OWNER
from running.processes import ROOT

BACKUP = ("python", "-m", "running.backups")


def run(var: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    urls = ("DATABASE_URL", "OWNER_DATABASE_URL", "REDIS_URL", "SECRET_KEY")
    environment = {
        name: value for name, value in os.environ.items() if name not in urls
    }
    return subprocess.run(
        [sys.executable, "-m", "running.management_command", *words],
        env={**environment, "VAR": str(var), **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def write(services: EmbeddedServers, number: int) -> None:
    with services.postgres.connect() as connection:
        connection.execute("create table if not exists kept (number int)")
        connection.execute("insert into kept values (%s)", [number])


def numbers(var: Path) -> str:
    return run(var, "psql", "-Atc", "select number from kept order by 1").stdout


@pytest.fixture
def filled(running):
    """The servers with one row and the tables that a backup must contain."""
    write(running, 42)
    with running.postgres.connect() as connection:
        for table in backups.REQUIRED_TABLES:
            connection.execute(f"create table {table} (id int)")
    return running


def external(services: EmbeddedServers) -> dict[str, str]:
    """Return variables that name the servers as external ones, and misleading ones."""
    return {
        "DATABASE_URL": services.postgres.url(),
        "OWNER_DATABASE_URL": services.postgres.url(OWNER),
        "REDIS_URL": services.valkey.url(),
        "PGDATABASE": "postgres",
        "PGHOST": "/nowhere",
        "PGUSER": "postgres",
    }


@pytest.mark.parametrize("is_external", [False, True])
def test_backup_of_a_running_database_restores_into_an_empty_one(
    filled, tmp_path, is_external
):
    dump, fresh = tmp_path / "virtlab.dump", tmp_path / "fresh"
    var = tmp_path / "other" if is_external else filled.folder.path
    variables = external(filled) if is_external else {"PGDATABASE": "postgres"}

    backup = run(var, *BACKUP, "write", str(dump), **variables)
    restore = run(fresh, "--alone", *BACKUP, "restore", str(dump))

    assert (backup.returncode, restore.returncode) == (0, 0), (
        backup.stderr + restore.stderr
    )
    assert numbers(fresh) == "42\n"
    assert dump.stat().st_mode & 0o777 == 0o600
    assert (var / "last-backup").exists()


def test_backup_of_another_database_does_not_count(running, tmp_path):
    dump = tmp_path / "virtlab.dump"
    dump.write_text("the previous backup")

    ended = run(running.folder.path, *BACKUP, "write", str(dump))

    assert ended.returncode == 1
    assert "has no data of benchmarks_lab" in ended.stderr
    assert dump.read_text() == "the previous backup"
    assert not (running.folder.path / "last-backup").exists()


def test_damaged_backup_is_not_restored(filled, tmp_path):
    dump, damaged = tmp_path / "virtlab.dump", tmp_path / "damaged.dump"
    assert run(filled.folder.path, *BACKUP, "write", str(dump)).returncode == 0
    damaged.write_bytes(dump.read_bytes()[:-200])

    ended = run(tmp_path / "v", *BACKUP, "restore", str(damaged), **external(filled))

    assert ended.returncode == 1
    assert "pg_restore failed" in ended.stderr
    assert numbers(filled.folder.path) == "42\n"


def test_secret_key_of_the_folder_is_used_with_external_servers(shared, tmp_path):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "secret-key").write_text("k" * 40)

    ended = run(tmp_path, "sh", "-c", "echo $SECRET_KEY $PGUSER", **external(shared))

    assert ended.stdout == f"{'k' * 40} virtlab_owner\n", ended.stderr


def test_alone_excludes_a_running_product(running):
    ended = run(running.folder.path, "--alone", "true")

    assert ended.returncode == 1
    assert "in use by process" in ended.stderr


def test_exit_code_is_returned_and_servers_are_stopped(var):
    assert run(var, "sh", "-c", "exit 7").returncode == 7

    with embedded_servers.embedded_servers(var) as services:
        write(services, 1)
    assert numbers(var) == "1\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "usage"),
        (("no-such-program",), 1, "program no-such-program was not found"),
    ],
)
def test_missing_program_is_explained(var, words, code, message):
    ended = run(var, *words)

    assert ended.returncode == code
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
