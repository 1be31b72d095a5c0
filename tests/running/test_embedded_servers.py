"""The embedded PostgreSQL and Valkey: durable, private, and robust against kills."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil
import psycopg
import pytest

from running import embedded_servers
from running.embedded_servers import EmbeddedServers
from running.processes import ROOT

from .conftest import AS_ROOT
from .process_checks import wait_until_gone

OFF_GUARD = """
import sys, time
from running import embedded_servers
with embedded_servers.embedded_servers(sys.argv[1]) as running:
    with running.postgres.connect() as connection:
        connection.execute("create table kept as select 1 as one")
    print(running.postgres.pid, running.valkey.pid, flush=True)
    time.sleep(60)
"""


def settings(running: EmbeddedServers) -> dict[str, str]:
    with running.postgres.connect() as connection:
        return dict(
            connection.execute("select name, setting from pg_settings").fetchall()
        )


def test_servers_are_durable_checksummed_and_without_port(shared):
    found = settings(shared)

    assert {found[name] for name in ("fsync", "full_page_writes")} == {"on"}
    assert (found["synchronous_commit"], found["data_checksums"]) == ("on", "on")
    assert (found["listen_addresses"], found["server_encoding"]) == ("", "UTF8")
    assert found["server_version_num"].startswith("18")
    with shared.valkey.connect() as valkey:
        assert valkey.config_get("port", "appendonly", "maxmemory-policy") == {
            "port": "0",
            "appendonly": "yes",
            "maxmemory-policy": "noeviction",
        }


def test_environment_leads_to_both_servers(shared):
    environment = shared.environment()

    url = urlsplit(environment["DATABASE_URL"])
    assert unquote(url.query) == f"host={shared.postgres.socket_folder}"
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        assert connection.execute("select current_user").fetchone() == ("virtlab",)
    assert environment["REDIS_URL"] == f"redis+socket://{shared.valkey.socket}"
    assert len(environment["SECRET_KEY"]) >= 50


@pytest.mark.parametrize("user", ["virtlab", "virtlab_owner"])
def test_roles_have_no_privileges_to_bypass_policies(shared, user):
    with shared.postgres.connect(user) as connection:
        row = connection.execute(
            "select rolsuper, rolcreaterole, rolcreatedb, rolbypassrls from pg_roles"
            " where rolname = current_user"
        ).fetchone()

    assert row == (False, False, False, False)


def test_application_role_owns_nothing(shared):
    refused = pytest.raises(psycopg.errors.InsufficientPrivilege)
    with shared.postgres.connect("virtlab") as connection, refused:
        connection.execute("create table mine as select 1 as one")


def test_tables_of_the_old_single_role_are_reassigned(var):
    with embedded_servers.embedded_servers(var) as running:
        with running.postgres.connect("postgres") as connection:
            connection.execute("grant create on schema public to virtlab")
            connection.execute("alter database virtlab owner to virtlab")
        with running.postgres.connect("virtlab") as connection:
            connection.execute("create table kept as select 1 as one")

    with (
        embedded_servers.embedded_servers(var) as running,
        running.postgres.connect() as connection,
    ):
        owners = connection.execute(
            "select tableowner, (select pg_get_userbyid(datdba) from pg_database"
            " where datname = 'virtlab') from pg_tables where tablename = 'kept'"
        ).fetchone()
        assert owners == ("virtlab_owner", "virtlab_owner")
        assert connection.execute("select one from kept").fetchone() == (1,)


def test_password_is_required(shared):
    folder = shared.postgres.socket_folder

    for password in ("", "guessed"):
        with pytest.raises(psycopg.OperationalError, match=r"password"):
            psycopg.connect(host=str(folder), user="virtlab", password=password)


def test_secrets_and_sockets_are_private(shared):
    secrets = shared.folder.secrets

    assert secrets.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in secrets.iterdir()} == {0o600}
    for folder in (shared.postgres.socket_folder, shared.valkey.socket.parent):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_start_and_stop_take_less_than_two_seconds(var):
    def wanting():
        """Return the number of runnable processes now: the load average lags by a
        minute.
        """
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])

    def is_quick():
        before, begun = wanting(), time.monotonic()
        with embedded_servers.embedded_servers(var):
            during = wanting()
        took_s = time.monotonic() - begun
        # Processes that compete for a processor slow each other down.
        load = max(before, during, wanting(), os.getloadavg()[0])
        return took_s < 2 * max(1, load / (os.cpu_count() or 1))

    assert any(is_quick() for _ in range(5))


def test_commits_survive_kill_9_of_the_postmaster(running):
    with running.postgres.connect() as connection:
        connection.execute("create table kept as select 1 as one")

    os.kill(running.postgres.pid, signal.SIGKILL)
    running.postgres.restart()

    with running.postgres.connect() as connection:
        assert connection.execute("select one from kept").fetchone() == (1,)


def test_kill_9_of_the_starter_leaves_no_process_and_loses_nothing(var):
    starter = subprocess.Popen(
        [sys.executable, "-c", OFF_GUARD, str(var)], stdout=subprocess.PIPE, cwd=ROOT
    )
    with starter:
        pids = [int(word) for word in starter.stdout.readline().split()]
        backends = psutil.Process(pids[0]).children(recursive=True)
        starter.kill()

    with (
        embedded_servers.embedded_servers(var) as restarted,
        restarted.postgres.connect() as connection,
    ):
        assert connection.execute("select one from kept").fetchone() == (1,)
    assert backends
    wait_until_gone(*pids, *(process.pid for process in backends))


def test_pid_file_of_another_program_is_ignored(var):
    pgdata = var / "pgdata"
    (pgdata / "postmaster.pid").write_text(f"{os.getpid()}\n{pgdata}\n1\n5432\n")

    with embedded_servers.embedded_servers(var) as running:
        assert settings(running)["fsync"] == "on"


def test_valkey_restarts_after_kill_9_and_loss_of_its_files(running):
    os.kill(running.valkey.pid, signal.SIGKILL)
    subprocess.run(["rm", "-r", running.folder.valkey], check=True)

    running.valkey.restart()

    with running.valkey.connect() as valkey:
        assert valkey.set("a", 1)


def test_truncated_message_log_is_set_aside(var):
    with (
        embedded_servers.embedded_servers(var) as running,
        running.valkey.connect() as valkey,
    ):
        valkey.set("a", 1)
    for part in (var / "valkey" / "appendonlydir").glob("*.incr.aof"):
        part.write_bytes(b"*3\r\n$3\r\nSET\r\nnonsense" + part.read_bytes())

    with (
        embedded_servers.embedded_servers(var) as running,
        running.valkey.connect() as valkey,
    ):
        assert valkey.get("a") is None

    assert list(var.glob("valkey.torn-*"))


def test_path_too_long_for_a_socket_works(var, tmp_path):
    deep = tmp_path / ("d" * 60) / "with a space" / ("e" * 60)
    deep.parent.mkdir(parents=True)
    var.rename(deep)

    with embedded_servers.embedded_servers(deep) as running:
        outside = running.postgres.socket_folder
        assert deep not in outside.parents
        assert settings(running)["fsync"] == "on"

    assert not outside.exists()


def test_interrupted_first_start_is_repeated(tmp_path):
    half_made = tmp_path / "pgdata.new" / "base"
    half_made.mkdir(parents=True)

    with embedded_servers.embedded_servers(tmp_path) as running:
        assert settings(running)["data_checksums"] == "on"
    assert not (tmp_path / "pgdata.new").exists()


def test_root_uses_another_account_and_a_user_their_own(shared):
    """Everything lies in a folder with mode 0700, as in a clone in /root."""
    process = psutil.Process(shared.postgres.pid)

    assert shared.folder.path.parent.stat().st_mode & 0o077 == 0
    assert (process.uids().effective == 0) is False
    assert (process.uids().effective == os.geteuid()) is not AS_ROOT
    assert psutil.Process(shared.valkey.pid).uids().effective == os.geteuid()
