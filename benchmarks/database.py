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

NEVER_PREPARE: Final = 1_000_000_000
"""A ``prepare_threshold`` so high that psycopg never prepares by itself."""
MAX_TRIES: Final = 3

T = TypeVar("T")


@contextmanager
def consistent_snapshot(*, is_read_only: bool = False) -> Iterator[None]:
    """Read from one snapshot in this block; inside another transaction, do nothing."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            access = " READ ONLY" if is_read_only else ""
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ{access}")
        yield


# Determined again for each new connection.
_distributed_by_alias: dict[str, bool] = {}


def is_distributed() -> bool:
    if "distributed" not in _distributed_by_alias:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
            )
            [has_citus] = cursor.fetchone()
            if has_citus:
                cursor.execute("SELECT EXISTS (SELECT FROM pg_dist_partition)")
                [has_citus] = cursor.fetchone()
        _distributed_by_alias["distributed"] = has_citus
    return _distributed_by_alias["distributed"]


def _clear_distributed(**_signal: object) -> None:
    _distributed_by_alias.clear()


connection_created.connect(
    _clear_distributed, dispatch_uid="what is known of the database"
)


def is_connection_error(error: BaseException | None) -> bool:
    """Return whether an error means that PostgreSQL was unavailable."""
    if isinstance(error, OperationalError | InterfaceError):
        return True
    # These errors of a lost connection have no SQLSTATE.
    is_general = type(error) in {DatabaseError, InternalError}
    return is_general and sqlstate(error) is None


def sqlstate(error: BaseException | None) -> str | None:
    code: str | None = getattr(getattr(error, "__cause__", None), "sqlstate", None)
    return code


def ids_subquery(ids: Iterable[int]) -> RawSQL:
    """Return a subquery for ``__in`` with many ids in one parameter."""
    return RawSQL("SELECT unnest(%s::bigint[])", [list(ids)])


def fetch_prepared(
    statement: str, parameters: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, which is planned once per connection."""
    connection.ensure_connection()
    raw = connection.connection
    # Django sets a threshold that forbids any preparation.
    raw.prepare_threshold = NEVER_PREPARE
    with connection.wrap_database_errors, psycopg.Cursor(raw) as cursor:
        cursor.execute(statement, parameters, prepare=True)
        return cursor.fetchall() if cursor.description else []


def retry_on_conflict(store: Callable[[], T]) -> T:
    """Return the result of ``store``, called in a transaction.

    After an IntegrityError it is called again, at most `MAX_TRIES` times in all. It
    must look for existing rows before it inserts.
    """
    for _ in range(MAX_TRIES - 1):
        with suppress(IntegrityError), transaction.atomic():
            return store()
    with transaction.atomic():
        return store()
