"""Commands on the installation's database, whether the product is running or not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from running import embedded_servers
from running.embedded_servers import EmbeddedServers
from running.processes import ROOT


def run(var: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    urls = ("DATABASE_URL", "REDIS_URL")
    environment = {
        name: value for name, value in os.environ.items() if name not in urls
    }
    return subprocess.run(
        [sys.executable, "-m", "running.management_command", *words],
        env={**environment, "VAR": str(var)},
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


def test_backup_of_a_running_database_restores_into_an_empty_one(running, tmp_path):
    write(running, 42)
    dump, fresh = str(tmp_path / "virtlab.dump"), tmp_path / "fresh"

    backup = run(
        running.folder.path,
        "pg_dump",
        "--format=custom",
        "--no-owner",
        f"--file={dump}",
    )
    restore = run(
        fresh, "--alone", "pg_restore", "--clean", "--if-exists", "--no-owner",
        "--exit-on-error", "--single-transaction", "--dbname=virtlab", dump,
    )  # fmt: skip

    assert (backup.returncode, restore.returncode) == (0, 0), restore.stderr
    assert numbers(fresh) == "42\n"


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
