"""Consistent reads, prepared statements, retries, and a PostgreSQL that was away."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

import psycopg
from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
    transaction,
)
from django.db.backends.signals import connection_created
from django.db.models.expressions import RawSQL

NEVER: Final = 1_000_000_000
"""Executions after which psycopg prepares a statement that nobody asked to prepare."""
TRIES: Final = 3

Stored = TypeVar("Stored")


@contextmanager
def one_moment() -> Iterator[None]:
    """Read one consistent snapshot; without effect inside another transaction."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


# Whether tables are distributed by Citus; asked for each new connection.
_known: dict[str, bool] = {}


def is_distributed() -> bool:
    """Return whether the large tables lie on the machines of a Citus cluster."""
    if "distributed" not in _known:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
            )
            [has_citus] = cursor.fetchone()
            if has_citus:
                cursor.execute("SELECT EXISTS (SELECT FROM pg_dist_partition)")
                [has_citus] = cursor.fetchone()
        _known["distributed"] = has_citus
    return _known["distributed"]


def _forget(**_signal: object) -> None:
    _known.clear()


connection_created.connect(_forget, dispatch_uid="what is known of the database")


def was_away(error: BaseException | None) -> bool:
    """Return whether an error is worth a retry because PostgreSQL was away."""
    if isinstance(error, OperationalError | InterfaceError):
        return True
    # A connection lost between query and answer has no SQLSTATE.
    is_general = type(error) in {DatabaseError, InternalError}
    return is_general and sqlstate(error) is None


def sqlstate(error: BaseException | None) -> str | None:
    """Return PostgreSQL's code of an error, if it has one."""
    code: str | None = getattr(getattr(error, "__cause__", None), "sqlstate", None)
    return code


def any_of(ids: Iterable[int]) -> RawSQL:
    """Return a subquery of many ids for ``__in``, with a single parameter."""
    return RawSQL("SELECT unnest(%s::bigint[])", [list(ids)])


def rows_of(statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a prepared statement, which PostgreSQL plans once."""
    connection.ensure_connection()
    raw = connection.connection
    # Without a threshold, as Django opens it, psycopg prepares nothing, asked or not.
    raw.prepare_threshold = NEVER
    with connection.wrap_database_errors, psycopg.Cursor(raw) as cursor:
        cursor.execute(statement, parameters, prepare=True)
        return cursor.fetchall() if cursor.description else []


def despite_others(store: Callable[[], Stored]) -> Stored:
    """Call ``store`` in a transaction; retry after a conflict with a concurrent one.

    ``store`` must look for an existing row before it stores.
    """
    for _ in range(TRIES - 1):
        with suppress(IntegrityError), transaction.atomic():
            return store()
    with transaction.atomic():
        return store()
