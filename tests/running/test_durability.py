"""Servers of somebody else's are held to the same settings, as far as they tell."""

import os
import subprocess
import sys

import pytest
import redis

from running import durability
from running.embedded import Services
from running.errors import ServiceError
from running.processes import ROOT


def check(running: Services) -> list[str]:
    return durability.check(running.postgres.url(), running.valkey.url())


def test_durable_servers_need_no_advice(shared):
    assert check(shared) == []


def test_a_database_that_loses_commits_is_refused(running):
    with running.postgres.connect(user="postgres") as connection:
        connection.execute("alter role virtlab set synchronous_commit = off")

    with pytest.raises(ServiceError, match="synchronous_commit=off"):
        check(running)


def test_a_broker_that_forgets_is_refused(running):
    with running.valkey.connect() as valkey:
        valkey.config_set("maxmemory-policy", "volatile-lru")

    with pytest.raises(ServiceError, match=r"volatile-lru; it must be noeviction"):
        check(running)


def test_a_broker_without_a_file_is_only_advised(running):
    with running.valkey.connect() as valkey:
        valkey.config_set("appendonly", "no")

    assert check(running) == [
        "Redis runs without appendonly: a restart delays work by seconds."
    ]


def test_a_broker_that_does_not_tell_is_believed(shared, monkeypatch):
    def refuse(*_: object) -> None:
        raise redis.ResponseError("unknown command 'CONFIG'")

    monkeypatch.setattr("redis.Redis.config_get", refuse)

    assert check(shared) == [
        "Redis does not tell its maxmemory-policy; it must be noeviction."
    ]


@pytest.mark.parametrize(
    ("database", "broker", "words"),
    [
        ("postgresql://127.0.0.1:1/none", None, "PostgreSQL of DATABASE_URL does not"),
        (None, "redis://127.0.0.1:1/0", "Redis of REDIS_URL does not answer"),
        (None, "http://127.0.0.1/", "Redis of REDIS_URL does not answer"),
    ],
)
def test_a_server_that_does_not_answer_is_named(shared, database, broker, words):
    with pytest.raises(ServiceError, match=words):
        durability.check(
            database or shared.postgres.url(), broker or shared.valkey.url()
        )


def test_no_password_appears_in_what_it_says(shared):
    url = shared.postgres.url().replace("/virtlab?", "/no-such-database?")

    with pytest.raises(ServiceError) as caught:
        durability.check(url, shared.valkey.url())

    assert shared.postgres.password("virtlab") not in str(caught.value)


@pytest.mark.parametrize(("missing", "code"), [("", 0), ("REDIS_URL", 2)])
def test_it_is_a_command_for_compose(shared, missing, code):
    environment = {**os.environ, **shared.environment()}
    environment.pop(missing, None)

    ended = subprocess.run(
        [sys.executable, "-m", "running.durability"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, missing in ended.stderr) == (code, True)
