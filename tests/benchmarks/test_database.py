"""What is PostgreSQL's absence, and what is a mistake of ours."""

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

from benchmarks.database import one_moment, was_away
from benchmarks.models import Lab
from benchmarks.uploads import storing


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    error.__cause__ = cause
    return error


def test_a_connection_that_ended_has_no_code_and_was_away(db):
    connection.ensure_connection()
    ended = connection.connection.pgconn.make_empty_result(pq.ExecStatus.FATAL_ERROR)

    cause = error_from_result(ended)

    assert cause.sqlstate is None
    assert was_away(raised(DatabaseError("server closed the connection"), cause))
    assert was_away(OperationalError("the database system is in recovery mode"))


def test_what_postgresql_refused_is_no_absence(db):
    refused = ProgrammingError("column is missing")

    assert not was_away(refused)
    assert not was_away(ValueError("5"))
    assert not was_away(None)


@pytest.mark.django_db
def test_what_ends_a_statement_of_ours_is_an_error_of_django_too():
    """Else PostgreSQL away would be the fault of runs, and a 500 for who uploads."""
    with pytest.raises(DatabaseError, match="nothing"), transaction.atomic():
        storing.rows_of("SELECT * FROM nothing", {})


@pytest.mark.django_db
def test_a_statement_that_comes_again_is_not_planned_again():
    for number in range(3):
        storing.rows_of("SELECT %(number)s::int AS again", {"number": str(number)})

    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        assert ("SELECT $1::int AS again",) in cursor.fetchall()


def store_another_lab():
    Lab.objects.create(slug="meanwhile", name="Meanwhile")
    connection.close()  # that of the thread


@pytest.mark.django_db(transaction=True)
def test_what_is_read_in_one_moment_is_as_it_was():
    with one_moment(), ThreadPoolExecutor(1) as pool:
        before = Lab.objects.count()
        pool.submit(store_another_lab).result()
        assert Lab.objects.count() == before

    assert Lab.objects.filter(slug="meanwhile").exists()
