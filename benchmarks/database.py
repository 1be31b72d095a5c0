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
    """Let all that is read here be as it is now, whatever others store meanwhile.

    A page that asks twice must not find cells of a system that it has not read. In a
    transaction that somebody else began nothing can be promised.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


# Whether Citus keeps samples and texts on other machines; asked again over each new
# connection, which may lead elsewhere.
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
    """Return whether the same is worth another try, because PostgreSQL is the reason.

    A connection that ends between a question and its answer has no SQLSTATE: psycopg
    cannot tell its kind then, and raises the most general error there is.
    """
    if isinstance(error, OperationalError | InterfaceError):
        return True
    is_general = type(error) in {DatabaseError, InternalError}
    return is_general and sqlstate(error) is None


def sqlstate(error: BaseException | None) -> str | None:
    """Return PostgreSQL's code of an error, if it has one."""
    code: str | None = getattr(getattr(error, "__cause__", None), "sqlstate", None)
    return code


def any_of(ids: Iterable[int]) -> RawSQL:
    """Return what to look up with ``__in`` instead of many ids: one parameter for all.

    A place in the statement for each of thousands takes longer to make than to execute.
    """
    return RawSQL("SELECT unnest(%s::bigint[])", [list(ids)])


def rows_of(statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a prepared statement.

    PostgreSQL plans it once: Django binds parameters itself, so that each is planned.
    """
    connection.ensure_connection()
    raw = connection.connection
    # Without a threshold, as Django opens it, psycopg prepares nothing, asked or not.
    raw.prepare_threshold = NEVER
    with connection.wrap_database_errors, psycopg.Cursor(raw) as cursor:
        cursor.execute(statement, parameters, prepare=True)
        return cursor.fetchall() if cursor.description else []


def despite_others(store: Callable[[], Stored]) -> Stored:
    """Return what ``store`` does in a transaction of its own.

    It looks before it stores. If a row of the same key is stored in between, it is
    called again, and finds that row.
    """
    for _ in range(TRIES - 1):
        with suppress(IntegrityError), transaction.atomic():
            return store()
    with transaction.atomic():
        return store()
