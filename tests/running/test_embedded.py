"""The embedded PostgreSQL and Valkey: durable, private, and hard to kill."""

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

from running import embedded
from running.embedded import Services
from running.processes import ROOT

from .conftest import AS_ROOT
from .watching import wait_until_gone

OFF_GUARD = """
import sys, time
from running import embedded
with embedded.services(sys.argv[1]) as running:
    with running.postgres.connect() as connection:
        connection.execute("create table kept as select 1 as one")
    print(running.postgres.pid, running.valkey.pid, flush=True)
    time.sleep(60)
"""


def settings(running: Services) -> dict[str, str]:
    with running.postgres.connect() as connection:
        return dict(
            connection.execute("select name, setting from pg_settings").fetchall()
        )


def test_it_runs_durable_checksummed_servers_without_a_port(shared):
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


def test_its_environment_leads_to_both_servers(shared):
    environment = shared.environment()

    url = urlsplit(environment["DATABASE_URL"])
    assert unquote(url.query) == f"host={shared.postgres.socket_folder}"
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        assert connection.execute("select current_user").fetchone() == ("virtlab",)
    assert environment["REDIS_URL"] == f"redis+socket://{shared.valkey.socket}"
    assert len(environment["SECRET_KEY"]) >= 50


@pytest.mark.parametrize("user", ["virtlab", "virtlab_owner"])
def test_its_roles_are_no_superusers_make_no_databases_and_pass_no_policy(shared, user):
    with shared.postgres.connect(user) as connection:
        row = connection.execute(
            "select rolsuper, rolcreaterole, rolcreatedb, rolbypassrls from pg_roles"
            " where rolname = current_user"
        ).fetchone()

    assert row == (False, False, False, False)


def test_its_application_role_owns_nothing(shared):
    refused = pytest.raises(psycopg.errors.InsufficientPrivilege)
    with shared.postgres.connect("virtlab") as connection, refused:
        connection.execute("create table mine as select 1 as one")


def test_what_one_role_owned_before_there_were_two_is_handed_over(var):
    with embedded.services(var) as running:
        with running.postgres.connect("postgres") as connection:
            connection.execute("grant create on schema public to virtlab")
            connection.execute("alter database virtlab owner to virtlab")
        with running.postgres.connect("virtlab") as connection:
            connection.execute("create table kept as select 1 as one")

    with embedded.services(var) as running, running.postgres.connect() as connection:
        owners = connection.execute(
            "select tableowner, (select pg_get_userbyid(datdba) from pg_database"
            " where datname = 'virtlab') from pg_tables where tablename = 'kept'"
        ).fetchone()
        assert owners == ("virtlab_owner", "virtlab_owner")
        assert connection.execute("select one from kept").fetchone() == (1,)


def test_it_lets_nobody_in_without_the_password(shared):
    folder = shared.postgres.socket_folder

    for password in ("", "guessed"):
        with pytest.raises(psycopg.OperationalError, match=r"password"):
            psycopg.connect(host=str(folder), user="virtlab", password=password)


def test_its_secrets_and_sockets_are_for_the_owner_only(shared):
    secrets = shared.folder.secrets

    assert secrets.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in secrets.iterdir()} == {0o600}
    for folder in (shared.postgres.socket_folder, shared.valkey.socket.parent):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_it_starts_and_stops_in_well_under_two_seconds(var):
    def wanting():
        """How many processes want a processor now: the load tells of a minute ago."""
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])

    def is_quick():
        before, begun = wanting(), time.monotonic()
        with embedded.services(var):
            during = wanting()
        took_s = time.monotonic() - begun
        # Where several want a processor, each waits for the others.
        load = max(before, during, wanting(), os.getloadavg()[0])
        return took_s < 2 * max(1, load / (os.cpu_count() or 1))

    assert any(is_quick() for _ in range(5))


def test_what_was_committed_survives_kill_9_of_the_postmaster(running):
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

    with embedded.services(var) as again, again.postgres.connect() as connection:
        assert connection.execute("select one from kept").fetchone() == (1,)
    assert backends
    wait_until_gone(*pids, *(process.pid for process in backends))


def test_a_pid_file_that_names_a_stranger_is_no_obstacle(var):
    pgdata = var / "pgdata"
    (pgdata / "postmaster.pid").write_text(f"{os.getpid()}\n{pgdata}\n1\n5432\n")

    with embedded.services(var) as running:
        assert settings(running)["fsync"] == "on"


def test_valkey_comes_back_after_kill_9_and_the_loss_of_its_files(running):
    os.kill(running.valkey.pid, signal.SIGKILL)
    subprocess.run(["rm", "-r", running.folder.valkey], check=True)

    running.valkey.restart()

    with running.valkey.connect() as valkey:
        assert valkey.set("a", 1)


def test_a_torn_message_log_is_set_aside(var):
    with embedded.services(var) as running, running.valkey.connect() as valkey:
        valkey.set("a", 1)
    for part in (var / "valkey" / "appendonlydir").glob("*.incr.aof"):
        part.write_bytes(b"*3\r\n$3\r\nSET\r\nnonsense" + part.read_bytes())

    with embedded.services(var) as running, running.valkey.connect() as valkey:
        assert valkey.get("a") is None

    assert list(var.glob("valkey.torn-*"))


def test_a_path_too_long_for_a_socket_works(var, tmp_path):
    deep = tmp_path / ("d" * 60) / "with a space" / ("e" * 60)
    deep.parent.mkdir(parents=True)
    var.rename(deep)

    with embedded.services(deep) as running:
        outside = running.postgres.socket_folder
        assert deep not in outside.parents
        assert settings(running)["fsync"] == "on"

    assert not outside.exists()


def test_a_broken_off_first_start_is_simply_done_again(tmp_path):
    half_made = tmp_path / "pgdata.new" / "base"
    half_made.mkdir(parents=True)

    with embedded.services(tmp_path) as running:
        assert settings(running)["data_checksums"] == "on"
    assert not (tmp_path / "pgdata.new").exists()


def test_root_gives_postgresql_to_another_account_and_a_user_keeps_it(shared):
    """Everything lies below a folder of mode 0700, as a clone in /root does."""
    process = psutil.Process(shared.postgres.pid)

    assert shared.folder.path.parent.stat().st_mode & 0o077 == 0
    assert (process.uids().effective == 0) is False
    assert (process.uids().effective == os.geteuid()) is not AS_ROOT
    assert psutil.Process(shared.valkey.pid).uids().effective == os.geteuid()
