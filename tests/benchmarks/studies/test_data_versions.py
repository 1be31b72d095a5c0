"""A study's version is another one after whatever happens to it."""

import os
import signal
import time
from contextlib import suppress

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from benchmarks.models import (
    Decision,
    Flag,
    Meter,
    Run,
    RunEnergy,
    Study,
)
from benchmarks.studies import data_versions
from benchmarks.studies.data_versions import reading, study_version, version_of
from benchmarks.uploads import processing
from running import embedded
from running.errors import ServiceError
from tests import jobs
from tests.own_tools import declare


@pytest.fixture
def measured(study, submit, run_document, xen):
    """Return the study with a row in every table that its version is made of."""
    together = {"session": "monday", "corun": "together", "scenario": "parallel"}
    submit(
        run_document(document="A thesis", table="1", session="monday"),
        run_document(13.08, system=xen, vms=2, slot="1", **together),
    )
    flag = Flag.objects.create(
        study=study,
        lab=study.lab,
        rule="unit_slip",
        severity="implausible",
        sentence="It is so.",
        fingerprint="f" * 64,
    )
    flag.cells.add(*study.cells.all())
    flag.quotes.add(Study.objects.create(lab=study.lab, slug="quoted", title="Quoted"))
    Decision.objects.create(flag=flag, status="confirmed", who="carol")
    run = study.runs.order_by("pk")[0]
    meter = Meter.objects.create(
        lab=study.lab, host=run.system.host, name="wall", kind="watts-up"
    )
    RunEnergy.objects.create(
        lab=study.lab, run=run, meter=meter, lead=run, duration_s=1.0
    )
    declare(study.lab)
    return study


@pytest.mark.parametrize(
    ("table", "key"), [row[:2] for row in data_versions.READ], ids=lambda text: text
)
def test_a_row_written_again_in_any_table_is_another_version(measured, table, key):
    before = study_version(measured)

    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {key} = {key}")
        assert cursor.rowcount

    assert study_version(measured) != before


def test_nothing_written_is_the_same_version(measured, django_assert_num_queries):
    before = study_version(measured)

    with django_assert_num_queries(1):
        assert study_version(measured) == before


def test_reading_a_run_again_is_another_version_even_if_it_says_the_same(measured):
    before = study_version(measured)
    run = Run.objects.latest("pk")

    jobs.put_upload(run)
    processing.drain()

    assert study_version(measured) != before


def test_a_flag_that_goes_is_another_version(measured):
    before = study_version(measured)
    measured.flags.all().delete()

    assert study_version(measured) != before


def test_what_happens_to_another_study_is_not_its_affair(
    measured, private_study, submit, run_document
):
    before = study_version(measured)
    submit(run_document(study=private_study.slug, system={"guest_os": "Other"}))

    assert study_version(measured) == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {table} SET title = 'Other'",
        "DELETE FROM {table}",
        "TRUNCATE {table} CASCADE",
    ],
)
def test_every_way_to_write_is_noted(study, statement):
    version = version_of(read(Study.objects.all()))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement.format(table=Study._meta.db_table))

    assert version_of(read(Study.objects.all())) != version


def read(rows):
    with reading() as read:
        list(rows)
    return read.parts()


def test_what_changes_nothing_is_not_noted(study):
    version = version_of(read(Study.objects.all()))

    Study.objects.filter(title="nothing").update(title="is called so")

    assert version_of(read(Study.objects.all())) == version


def test_notes_are_written_for_whoever_writes(db):
    """For roles that are bound by row-level security, and in a replica's session."""
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT bool_and(prosecdef), bool_and(tgenabled = 'A')
            FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
            WHERE tgname ~ '_is_noted$'
        """)
        assert cursor.fetchone() == (True, True)


@pytest.mark.django_db(transaction=True)
def test_the_database_is_another_one_after_any_change(study):
    seen = []
    for change in (study.save, study.delete, study.lab.delete):
        seen.append(version_of(None))
        change()

    assert len({*seen, version_of(None)}) == 4


@pytest.mark.django_db(transaction=True)
def test_the_database_is_the_same_one_while_nobody_writes():
    """Other tests write to the same server: some two questions have nothing between."""
    assert any(version_of(None) == version_of(None) for _ in range(100))


@pytest.mark.django_db(transaction=True)
def test_on_a_standby_there_is_no_version():
    """Its snapshots stay the same while other transactions end."""
    owner = psycopg.connect(
        settings.OWNER_DATABASE_URL,
        dbname=connection.settings_dict["NAME"],
        autocommit=True,
    )
    with owner, connection.cursor() as cursor:
        owner.execute("CREATE SCHEMA away")
        owner.execute("GRANT USAGE ON SCHEMA away TO PUBLIC")
        owner.execute(
            "CREATE FUNCTION away.pg_is_in_recovery() RETURNS bool RETURN true"
        )
        cursor.execute("SET search_path = away, pg_catalog, public")
        try:
            assert version_of(None) is None
            # Notes come there as all rows do.
            assert version_of((("benchmarks_study", 0),))
        finally:
            cursor.execute("RESET search_path")
            owner.execute("DROP SCHEMA away CASCADE")

    assert version_of(None)


def test_a_crash_of_a_process_of_postgresql_is_another_version(tmp_path):
    """It takes back numbers of transactions, and the server is not started anew."""
    with embedded.services(tmp_path / "var") as running:
        with running.postgres.connect() as session:
            before = version_without_numbers(session)
            os.kill(session.info.backend_pid, signal.SIGKILL)
        assert version_once_recovered(running, before) != before


def version_without_numbers(session):
    (version,) = session.execute(data_versions.SNAPSHOT).fetchone()
    return version.rpartition(" ")[0]


def version_once_recovered(running, before):
    """The version after the crash.

    Until PostgreSQL has noticed it, it still gives sessions, and takes them away.
    """
    for _ in range(100):
        with (
            suppress(ServiceError, psycopg.OperationalError),
            running.postgres.connect() as session,
        ):
            if (version := version_without_numbers(session)) != before:
                return version
        time.sleep(0.1)
    return before
