"""Versions of stored data change with every write."""

import os
import signal
import time
from contextlib import suppress

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from benchmarks.jobs.queue import OTHERS_CHANGED
from benchmarks.models import (
    Case,
    Cell,
    CoRun,
    CustomTool,
    Efficiency,
    Flag,
    FlagDecision,
    Host,
    Job,
    Lab,
    Meter,
    Run,
    RunEnergy,
    Session,
    Study,
    System,
)
from benchmarks.studies import data_versions
from benchmarks.studies.data_versions import parts_version, study_version, track_tables
from benchmarks.uploads import processing
from running import embedded_servers
from running.errors import StartError
from tests import job_queue
from tests.custom_tools import declare


@pytest.fixture
def measured(study, submit, run_document, xen):
    """Return a study with a row in every table of its version."""
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
        message="It is so.",
        fingerprint="f" * 64,
    )
    flag.cells.add(*study.cells.all())
    flag.quoted_studies.add(
        Study.objects.create(lab=study.lab, slug="quoted", title="Quoted")
    )
    FlagDecision.objects.create(flag=flag, status="confirmed", decided_by="carol")
    run = study.runs.order_by("pk")[0]
    meter = Meter.objects.create(
        lab=study.lab, host=run.system.host, name="wall", kind="watts-up"
    )
    RunEnergy.objects.create(
        lab=study.lab, run=run, meter=meter, lead_run=run, duration_s=1.0
    )
    declare(study.lab)
    return study


@pytest.mark.parametrize(
    ("table", "key"),
    [row[:2] for row in data_versions.STUDY_PAGE_TABLES],
    ids=lambda text: text,
)
def test_any_written_row_changes_the_version(measured, table, key):
    before = study_version(measured)

    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {key} = {key}")
        assert cursor.rowcount

    assert study_version(measured) != before


@pytest.fixture
def using_other_baselines(measured, lab, submit, run_document, xen):
    """A study of guests only, whose baselines are native cells of `measured`."""
    study = Study.objects.create(
        lab=lab, slug="guests", title="Guests", visibility=Study.Visibility.PUBLIC
    )
    submit(run_document(14.1, study=study.slug, system=xen))
    assert Efficiency.objects.filter(
        cell__study=study, baseline__study=measured
    ).exists()
    return study


def test_version_covers_all_rows_of_the_pages(measured, using_other_baselines):
    for study in (measured, using_other_baselines):
        expected = rows_of_pages(study)
        for table, key, condition in data_versions.STUDY_PAGE_TABLES:
            with connection.cursor() as cursor:
                cursor.execute(
                    f"{data_versions.WITH_CELLS_SQL} SELECT {key} FROM {table}"
                    f" WHERE {condition}",
                    {"study": study.pk, "lab": study.lab_id},
                )
                covered = sorted(pk for (pk,) in cursor.fetchall())
            assert covered == sorted(expected.pop(table)), table
        assert not expected


def rows_of_pages(study):
    """The keys of all rows that the pages of a study read, by table."""
    own = Cell.objects.filter(study=study)
    efficiencies = Efficiency.objects.filter(cell__study=study)
    cells = own | Cell.objects.filter(pk__in=efficiencies.values("baseline"))
    runs, flags = Run.objects.filter(study=study), Flag.objects.filter(study=study)
    systems = System.objects.filter(pk__in=cells.values("system"))
    systems |= System.objects.filter(pk__in=runs.values("system"))
    energies = RunEnergy.objects.filter(run__study=study)
    quotes = Flag.quoted_studies.through.objects.filter(flag__study=study)
    rows = (
        Study.objects.filter(
            pk__in=[study.pk, *quotes.values_list("study", flat=True)]
        ),
        quotes,
        Lab.objects.filter(pk=study.lab_id),
        CustomTool.objects.filter(lab=study.lab),
        cells,
        efficiencies,
        Case.objects.filter(pk__in=own.values("case")),
        systems,
        Host.objects.filter(pk__in=systems.values("host")),
        Session.objects.filter(study=study),
        CoRun.objects.filter(study=study),
        runs,
        energies,
        Meter.objects.filter(pk__in=energies.values("meter")),
        flags,
        Flag.cells.through.objects.filter(flag__study=study),
        FlagDecision.objects.filter(flag__study=study),
        Job.objects.filter(
            kind="check", study__in=[study.pk, *cells.values_list("study", flat=True)]
        ).exclude(detail=OTHERS_CHANGED),
    )
    return {
        found.model._meta.db_table: set(found.values_list("pk", flat=True))
        for found in rows
    }


def test_version_is_stable_without_writes(measured, django_assert_num_queries):
    before = study_version(measured)

    with django_assert_num_queries(1):
        assert study_version(measured) == before


def test_reparsing_changes_the_version(measured):
    before = study_version(measured)
    run = Run.objects.latest("pk")

    job_queue.put_upload(run)
    processing.process_due_uploads()

    assert study_version(measured) != before


def test_deleted_flag_changes_the_version(measured):
    before = study_version(measured)
    measured.flags.all().delete()

    assert study_version(measured) != before


def test_changes_of_other_studies_keep_the_version(
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
def test_all_kinds_of_writes_are_counted(study, statement):
    version = parts_version(read(Study.objects.all()))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement.format(table=Study._meta.db_table))

    assert parts_version(read(Study.objects.all())) != version


def read(rows):
    with track_tables() as read:
        list(rows)
    return read.parts()


def test_statements_without_changes_are_not_counted(study):
    version = parts_version(read(Study.objects.all()))

    Study.objects.filter(title="nothing").update(title="is called so")

    assert parts_version(read(Study.objects.all())) == version


def test_changes_of_any_role_are_counted(db):
    """For roles with row-level security, and in replica sessions."""
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT bool_and(prosecdef), bool_and(tgenabled = 'A')
            FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
            WHERE tgname ~ '_are_counted$'
        """)
        assert cursor.fetchone() == (True, True)


@pytest.mark.django_db(transaction=True)
def test_snapshot_version_changes_with_any_write(study):
    visible = []
    for change in (study.save, study.delete, study.lab.delete):
        visible.append(parts_version(None))
        change()

    assert len({*visible, parts_version(None)}) == 4


@pytest.mark.django_db(transaction=True)
def test_snapshot_version_is_stable_without_writes():
    """Other tests write to the same server, so compare several pairs of queries."""
    assert any(parts_version(None) == parts_version(None) for _ in range(100))


@pytest.mark.django_db(transaction=True)
def test_standby_has_no_snapshot_version():
    """Snapshots on a standby do not change when transactions end."""
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
            assert parts_version(None) is None
            # Change counts are replicated like all rows.
            assert parts_version((("benchmarks_study", 0),))
        finally:
            cursor.execute("RESET search_path")
            owner.execute("DROP SCHEMA away CASCADE")

    assert parts_version(None)


def test_crash_of_postgresql_changes_the_version(tmp_path):
    """A crash may reuse transaction numbers without a restart of the server."""
    with embedded_servers.embedded_servers(tmp_path / "var") as running:
        with running.postgres.connect() as session:
            before = version_without_numbers(session)
            os.kill(session.info.backend_pid, signal.SIGKILL)
        assert version_once_recovered(running, before) != before


def version_without_numbers(session):
    (version,) = session.execute(data_versions.SNAPSHOT_SQL).fetchone()
    return version.rpartition(" ")[0]


def version_once_recovered(running, before):
    """The version after the crash.

    Until PostgreSQL has noticed it, it still gives sessions, and takes them away.
    """
    for _ in range(100):
        with (
            suppress(StartError, psycopg.OperationalError),
            running.postgres.connect() as session,
        ):
            if (version := version_without_numbers(session)) != before:
                return version
        time.sleep(0.1)
    return before
