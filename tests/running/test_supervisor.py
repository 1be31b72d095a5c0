"""Messages of `python -m running.supervisor` when it cannot start."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from running import embedded_servers, supervisor
from running.processes import ROOT

from .conftest import AS_ROOT


def start(**environment: object) -> "subprocess.CompletedProcess[str]":
    names = ("DATABASE_URL", "REDIS_URL", "PORT", "BIND", "VAR", "VIRTLAB_VAR")
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(
        [sys.executable, "-m", "running.supervisor"],
        env={
            **inherited,
            **{name: str(value) for name, value in environment.items()},
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def assert_one_sentence(ended: "subprocess.CompletedProcess[str]", words: str) -> None:
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
    assert words in ended.stderr


def test_occupied_port_is_one_message_and_starts_nothing(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = start(PORT=listener.getsockname()[1], VAR=tmp_path / "var")

    assert_one_sentence(ended, "is used by another program")
    assert not (tmp_path / "var").exists()


def test_folder_in_use_is_one_message(tmp_path):
    with embedded_servers.embedded_servers(tmp_path / "var"):
        ended = start(PORT=free_port(), VAR=tmp_path / "var")

    assert_one_sentence(ended, f"in use by process {os.getpid()}")


def test_data_of_an_older_version_are_one_message(var):
    (var / "pgdata" / "PG_VERSION").write_text("17\n")

    assert_one_sentence(
        start(PORT=free_port(), VAR=var), "contains data of PostgreSQL 17"
    )


def test_single_url_is_one_message():
    assert_one_sentence(start(REDIS_URL="redis://127.0.0.1/0"), "DATABASE_URL is not")


def test_unusable_folder_is_one_message(tmp_path):
    closed = Path("/sys/virtlab") if AS_ROOT else tmp_path / "closed" / "var"
    (tmp_path / "closed").mkdir(mode=0o500)

    ended = start(PORT=free_port(), VAR=closed)

    assert_one_sentence(ended, "choose another folder: VAR=")


def test_sign_in_hint_names_existing_files(tmp_path):
    restored = supervisor.sign_in_hint(tmp_path)
    (tmp_path / "first-sign-in").write_text("user: admin\n")
    made = supervisor.sign_in_hint(tmp_path)

    assert f"{tmp_path}/first-sign-in" in made
    assert f"{tmp_path}/upload-token" in made
    assert "create_token LAB NAME --upload" in restored
    assert str(tmp_path / "log") in made
    assert str(tmp_path / "log") in restored
