"""Connection errors, prepared statements and snapshots."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import (
    DatabaseError,
    OperationalError,
    ProgrammingError,
    connection,
    transaction,
)
from psycopg import pq
from psycopg.errors import error_from_result

from benchmarks.database import consistent_snapshot, is_connection_error
from benchmarks.models import Lab
from benchmarks.uploads import run_storage


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    error.__cause__ = cause
    return error


def test_lost_connection_is_a_connection_error(db):
    connection.ensure_connection()
    ended = connection.connection.pgconn.make_empty_result(pq.ExecStatus.FATAL_ERROR)

    cause = error_from_result(ended)

    assert cause.sqlstate is None
    assert is_connection_error(
        raised(DatabaseError("server closed the connection"), cause)
    )
    assert is_connection_error(
        OperationalError("the database system is in recovery mode")
    )


def test_rejected_statement_is_not_a_connection_error(db):
    refused = ProgrammingError("column is missing")

    assert not is_connection_error(refused)
    assert not is_connection_error(ValueError("5"))
    assert not is_connection_error(None)


@pytest.mark.django_db
def test_errors_of_prepared_statements_are_django_errors():
    """Otherwise an unavailable PostgreSQL would count as failure of runs."""
    with pytest.raises(DatabaseError, match="nothing"), transaction.atomic():
        run_storage.fetch_prepared("SELECT * FROM nothing", {})


@pytest.mark.django_db
def test_repeated_statement_is_planned_once():
    for number in range(3):
        run_storage.fetch_prepared(
            "SELECT %(number)s::int AS again", {"number": str(number)}
        )

    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        assert ("SELECT $1::int AS again",) in cursor.fetchall()


def store_another_lab():
    Lab.objects.create(slug="meanwhile", name="Meanwhile")
    connection.close()  # that of the thread


@pytest.mark.django_db(transaction=True)
def test_snapshot_is_consistent():
    with consistent_snapshot(), ThreadPoolExecutor(1) as pool:
        before = Lab.objects.count()
        pool.submit(store_another_lab).result()
        assert Lab.objects.count() == before

    assert Lab.objects.filter(slug="meanwhile").exists()
