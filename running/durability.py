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
) -> None:
    """Refuse a database that could lose a commit; ask the session that will commit."""
    wanted = DATABASE_SETTINGS | (CHECKSUMS if checksums else {})
    _require("PostgreSQL", wanted, _database_settings(connection))


def require_durable_broker(connection: "redis.Redis", *, append_only: bool) -> None:
    """Refuse a broker that could drop a message to save memory."""
    wanted = BROKER_SETTINGS | (APPEND_ONLY if append_only else {})
    _require("Redis", wanted, _broker_settings(connection))


def _database_settings(connection: "psycopg.Connection[Any]") -> dict[str, str]:
    names = [*DATABASE_SETTINGS, *CHECKSUMS]
    query = "select name, setting from pg_settings where name = any(%s)"
    return dict(connection.execute(query, [names]).fetchall())


def _broker_settings(connection: "redis.Redis") -> dict[str, str]:
    settings: Any = connection.config_get(*BROKER_SETTINGS, *APPEND_ONLY)

    def text(value: object) -> str:
        return value.decode() if isinstance(value, bytes) else str(value)

    return {text(name): text(value) for name, value in settings.items()}


def _require(server: str, wanted: Settings, found: Mapping[str, str]) -> None:
    """Refuse the first setting that is not as it must be."""
    for name in _unmet(wanted, found):
        raise ServiceError(
            f"{server} runs with {name}={found.get(name)}; it must be "
            f"{' or '.join(sorted(wanted[name]))}, or results that were acknowledged "
            "may be lost. Change the setting, then start again."
        )


def _unmet(wanted: Settings, found: Mapping[str, str]) -> list[str]:
    """Return the settings that are not as they are wanted, in their order."""
    return [name for name, allowed in wanted.items() if found.get(name) not in allowed]


def check(database_url: str, redis_url: str) -> list[str]:
    """Check servers of somebody else's; return advice for what is only unwise."""
    return [*_check_database(database_url), *_check_broker(redis_url)]


def _check_database(url: str) -> list[str]:
    try:
        with psycopg.connect(url, connect_timeout=10, autocommit=True) as connection:
            require_durable_database(connection, checksums=False)
            settings = _database_settings(connection)
    except psycopg.Error as error:
        raise ServiceError(
            f"The PostgreSQL of DATABASE_URL does not answer: {str(error).strip()}"
        ) from error
    if _unmet(CHECKSUMS, settings):
        return ["PostgreSQL runs without data checksums: a bad disk goes unnoticed."]
    return []


def _check_broker(url: str) -> list[str]:
    try:
        with redis.Redis.from_url(socket_url(url), retry=None) as connection:
            connection.ping()
            try:
                require_durable_broker(connection, append_only=False)
                settings = _broker_settings(connection)
            except redis.ResponseError:
                # Rented servers often forbid the question.
                return [
                    "Redis does not tell its maxmemory-policy; it must be noeviction."
                ]
            if _unmet(APPEND_ONLY, settings):
                return [
                    "Redis runs without appendonly: a restart delays work by seconds."
                ]
            return []
    except (redis.RedisError, ValueError) as error:
        raise ServiceError(
            f"The Redis of REDIS_URL does not answer: {error}"
        ) from error


def socket_url(url: str) -> str:
    """Return the URL as the redis package spells it."""
    scheme, _, rest = url.partition("://")
    return f"unix://{rest}" if scheme == "redis+socket" else url


def main() -> int:
    """Check the servers named in the environment."""
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
