"""Refuse to run on a database or broker that may lose what was acknowledged.

`python -m running.durability` checks the servers of DATABASE_URL and REDIS_URL; the
supervisor and docker-compose.yml run it before anything else.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

import psycopg
import redis

from running.errors import ServiceError

# What each setting may be. A 2xx answer means "committed", so a commit must wait for
# the disk: every value of synchronous_commit but "off" does.
DATABASE_SETTINGS = {
    "fsync": {"on"},
    "full_page_writes": {"on"},
    "synchronous_commit": {"on", "local", "remote_write", "remote_apply"},
}
CHECKSUMS = {"data_checksums": {"on"}}
BROKER_SETTINGS = {"maxmemory-policy": {"noeviction"}}
APPEND_ONLY = {"appendonly": {"yes"}}

Settings = Mapping[str, set[str]]


def require_durable_database(
    connection: "psycopg.Connection[Any]", *, checksums: bool
) -> list[str]:
    """Refuse a database that could lose a commit; return advice.

    Settings can differ between roles: ask the session that commits.
    """
    names = [*DATABASE_SETTINGS, *CHECKSUMS]
    query = "select name, setting from pg_settings where name = any(%s)"
    found = dict(connection.execute(query, [names]).fetchall())
    _require("PostgreSQL", DATABASE_SETTINGS | (CHECKSUMS if checksums else {}), found)
    if _unmet(CHECKSUMS, found):
        return ["PostgreSQL runs without data checksums: a bad disk goes unnoticed."]
    return []


def require_durable_broker(
    connection: "redis.Redis", *, append_only: bool
) -> list[str]:
    """Refuse a broker that could drop a message to save memory; return advice."""

    def text(value: object) -> str:
        return value.decode() if isinstance(value, bytes) else str(value)

    settings: Any = connection.config_get(*BROKER_SETTINGS, *APPEND_ONLY)
    found = {text(name): text(value) for name, value in settings.items()}
    _require("Redis", BROKER_SETTINGS | (APPEND_ONLY if append_only else {}), found)
    if _unmet(APPEND_ONLY, found):
        return ["Redis runs without appendonly: a restart delays work by seconds."]
    return []


def _require(server: str, wanted: Settings, found: Mapping[str, str]) -> None:
    for name in _unmet(wanted, found):
        raise ServiceError(
            f"{server} runs with {name}={found.get(name)}; it must be "
            f"{' or '.join(sorted(wanted[name]))}, or results that were acknowledged "
            "may be lost. Change the setting, then start again."
        )


def _unmet(wanted: Settings, found: Mapping[str, str]) -> list[str]:
    return [name for name, allowed in wanted.items() if found.get(name) not in allowed]


def check(database_url: str, redis_url: str) -> list[str]:
    """Check external servers; return advice about settings that are only unwise."""
    try:
        with psycopg.connect(
            database_url, connect_timeout=10, autocommit=True
        ) as connection:
            advice = require_durable_database(connection, checksums=False)
    except psycopg.Error as error:
        raise ServiceError(
            f"The PostgreSQL of DATABASE_URL does not answer: {str(error).strip()}"
        ) from error
    # The redis package has another name for sockets.
    address = redis_url.replace("redis+socket://", "unix://", 1)
    try:
        with redis.Redis.from_url(address, retry=None) as broker:
            broker.ping()
            try:
                advice += require_durable_broker(broker, append_only=False)
            except redis.ResponseError:
                # Rented servers often forbid the question.
                advice.append(
                    "Redis does not tell its maxmemory-policy; it must be noeviction."
                )
    except (redis.RedisError, ValueError) as error:
        raise ServiceError(
            f"The Redis of REDIS_URL does not answer: {error}"
        ) from error
    return advice


def main() -> int:
    try:
        advice = check(os.environ["DATABASE_URL"], os.environ["REDIS_URL"])
    except KeyError as error:
        print(f"{error.args[0]} is not set.", file=sys.stderr)
        return 2
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1
    for sentence in advice:
        print(sentence, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
