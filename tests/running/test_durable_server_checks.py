"""External servers must have the same settings, as far as they report them."""

import os
import re
import subprocess
import sys

import pytest
import redis

from running import durable_server_checks
from running.embedded_servers import EmbeddedServers
from running.errors import StartError
from running.processes import ROOT


def check(running: EmbeddedServers) -> list[str]:
    return durable_server_checks.check(running.postgres.url(), running.valkey.url())


def test_durable_servers_need_no_advice(shared):
    assert check(shared) == []


def test_database_that_may_lose_commits_is_refused(running):
    with running.postgres.connect(user="postgres") as connection:
        connection.execute("alter role virtlab set synchronous_commit = off")

    with pytest.raises(StartError, match="synchronous_commit=off"):
        check(running)


def test_evicting_broker_is_refused(running):
    with running.valkey.connect() as valkey:
        valkey.config_set("maxmemory-policy", "volatile-lru")

    with pytest.raises(StartError, match=r"volatile-lru. It must be noeviction"):
        check(running)


def test_broker_without_a_file_gives_advice(running):
    with running.valkey.connect() as valkey:
        valkey.config_set("appendonly", "no")

    assert check(running) == [
        "Redis has no append-only file: a restart delays work by seconds."
    ]


def test_broker_that_hides_its_settings_is_accepted(shared, monkeypatch):
    def refuse(*_: object) -> None:
        raise redis.ResponseError("unknown command 'CONFIG'")

    monkeypatch.setattr("redis.Redis.config_get", refuse)

    assert check(shared) == [
        "Redis does not show its maxmemory-policy; it must be noeviction."
    ]


@pytest.mark.parametrize(
    ("database", "broker", "words"),
    [
        ("postgresql://127.0.0.1:1/none", None, "PostgreSQL (DATABASE_URL) is not"),
        (None, "redis://127.0.0.1:1/0", "Redis (REDIS_URL) is not responding"),
        (None, "http://127.0.0.1/", "Redis (REDIS_URL) is not responding"),
    ],
)
def test_unresponsive_server_is_named(shared, database, broker, words):
    with pytest.raises(StartError, match=re.escape(words)):
        durable_server_checks.check(
            database or shared.postgres.url(), broker or shared.valkey.url()
        )


def test_messages_contain_no_password(shared):
    url = shared.postgres.url().replace("/virtlab?", "/no-such-database?")

    with pytest.raises(StartError) as caught:
        durable_server_checks.check(url, shared.valkey.url())

    assert shared.postgres.password("virtlab") not in str(caught.value)


@pytest.mark.parametrize(("missing", "code"), [("", 0), ("REDIS_URL", 2)])
def test_check_is_a_command_for_compose(shared, missing, code):
    environment = {**os.environ, **shared.environment()}
    environment.pop(missing, None)

    ended = subprocess.run(
        [sys.executable, "-m", "running.durable_server_checks"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, missing in ended.stderr) == (code, True)
