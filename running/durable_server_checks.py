"""Refuse databases and brokers that may lose acknowledged data.

`python -m running.durable_server_checks` checks DATABASE_URL and REDIS_URL.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

import psycopg
import redis

from running.errors import StartError

# A 2xx response means committed data, so commits must wait for the disk, as with all
# values of synchronous_commit but "off".
DATABASE_SETTINGS = {
    "fsync": {"on"},
    "full_page_writes": {"on"},
    "synchronous_commit": {"on", "local", "remote_write", "remote_apply"},
}
CHECKSUMS = {"data_checksums": {"on"}}
BROKER_SETTINGS = {"maxmemory-policy": {"noeviction"}}
APPEND_ONLY_SETTINGS = {"appendonly": {"yes"}}

Settings = Mapping[str, set[str]]


def require_durable_database(
    connection: "psycopg.Connection[Any]", *, checksums: bool
) -> list[str]:
    """Raise StartError if the database could lose a commit; return advice.

    The connection must be one of the application's role, because settings can differ
    between roles.
    """
    names = [*DATABASE_SETTINGS, *CHECKSUMS]
    query = "select name, setting from pg_settings where name = any(%s)"
    settings = dict(connection.execute(query, [names]).fetchall())
    required = DATABASE_SETTINGS | (CHECKSUMS if checksums else {})
    _require("PostgreSQL", required, settings)
    if _violations(CHECKSUMS, settings):
        return ["PostgreSQL has no data checksums: disk errors go unnoticed."]
    return []


def require_durable_broker(
    connection: "redis.Redis", *, append_only: bool
) -> list[str]:
    """Raise StartError if the broker could drop messages; return advice."""

    def text(value: object) -> str:
        return value.decode() if isinstance(value, bytes) else str(value)

    config: Any = connection.config_get(*BROKER_SETTINGS, *APPEND_ONLY_SETTINGS)
    settings = {text(name): text(value) for name, value in config.items()}
    required = BROKER_SETTINGS | (APPEND_ONLY_SETTINGS if append_only else {})
    _require("Redis", required, settings)
    if _violations(APPEND_ONLY_SETTINGS, settings):
        return ["Redis has no append-only file: a restart delays work by seconds."]
    return []


def _require(server: str, required: Settings, settings: Mapping[str, str]) -> None:
    for name in _violations(required, settings):
        raise StartError(
            f"{server} has {name}={settings.get(name)}. It must be "
            f"{' or '.join(sorted(required[name]))}; otherwise acknowledged results "
            "may be lost. Change the setting and start again."
        )


def _violations(required: Settings, settings: Mapping[str, str]) -> list[str]:
    return [
        name for name, allowed in required.items() if settings.get(name) not in allowed
    ]


def check(database_url: str, redis_url: str) -> list[str]:
    """Check both servers; raise StartError, or return advice."""
    try:
        with psycopg.connect(
            database_url, connect_timeout=10, autocommit=True
        ) as connection:
            advice = require_durable_database(connection, checksums=False)
    except psycopg.Error as error:
        raise StartError(
            f"PostgreSQL (DATABASE_URL) is not responding: {str(error).strip()}"
        ) from error
    url = redis_url.replace("redis+socket://", "unix://", 1)
    try:
        with redis.Redis.from_url(url, retry=None) as broker:
            broker.ping()
            try:
                advice += require_durable_broker(broker, append_only=False)
            except redis.ResponseError:
                # Hosted servers often forbid CONFIG GET.
                advice.append(
                    "Redis does not show its maxmemory-policy; it must be noeviction."
                )
    except (redis.RedisError, ValueError) as error:
        raise StartError(f"Redis (REDIS_URL) is not responding: {error}") from error
    return advice


def main() -> int:
    try:
        advice = check(os.environ["DATABASE_URL"], os.environ["REDIS_URL"])
    except KeyError as error:
        print(f"{error.args[0]} is not set.", file=sys.stderr)
        return 2
    except StartError as error:
        print(error, file=sys.stderr)
        return 1
    for sentence in advice:
        print(sentence, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
