"""Rows read for a wide study grow linearly, with and without planner statistics."""

from datetime import timedelta

import orjson
import pytest
from django.db import connection

from benchmarks.models import (
    Case,
    Cell,
    CellSession,
    Efficiency,
    Host,
    Run,
    RunMean,
    Study,
    System,
)
from benchmarks.studies import (
    cell_shapes,
    checking,
    data_versions,
    plausibility_facts,
)
from benchmarks.uploads import cell_summaries, efficiencies

SYSTEMS, UPLOADS, CASES = 4, 6, 30
CELLS = [cell_summaries.CELL_RUNS_SQL, cell_shapes.ORDERED_CELL_RUNS_SQL]

CLEAR_COLUMN_STATISTICS_SQL = """
    SELECT pg_clear_attribute_stats(schemaname, tablename, attname, inherited)
    FROM pg_stats WHERE schemaname = 'public' AND tablename = %s
"""


@pytest.fixture
def wide(submit, run_document, study):
    """A study of four systems with runs of half of the cases each.

    PostgreSQL has no statistics of what the test's own transaction wrote, nor those
    that autovacuum collected from the committed rows of other tests.
    """
    with connection.cursor() as cursor:
        for model in (
            *(Case, Cell, CellSession, Efficiency, Host, Run, RunMean, Study, System),
        ):
            table = model._meta.db_table
            clear = "SELECT pg_clear_relation_stats('public', %s)"
            cursor.execute(clear, [table])
            cursor.execute(CLEAR_COLUMN_STATISTICS_SQL, [table])
    submit(
        *(
            run_document(
                system={"guest_os": f"Debian {system}"},
                samples=[
                    {
                        "metric": "network throughput",
                        "parameters": {"n": case + CASES // 2 * (number % 2)},
                        "value": 100.0 + case + number,
                        "unit": "MB/s",
                    }
                    for case in range(CASES // 2)
                ],
            )
            for system in range(SYSTEMS)
            for number in range(UPLOADS)
        )
    )
    assert Cell.objects.count() == SYSTEMS * CASES
    return study


def rows_looked_at(statement, parameters):
    """Return the largest number of rows that a plan node read, over all loops."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
        [[plan]] = cursor.fetchall()
    [top] = orjson.loads(plan) if isinstance(plan, str) else plan
    return max(map(_looked_at, _steps(top["Plan"])))


def _steps(step):
    yield step
    for part in step.get("Plans", ()):
        yield from _steps(part)


def _looked_at(step):
    if step["Node Type"] == "Bitmap Index Scan":
        return 0  # also entries of dead rows; the scan of the heap counts the others
    dropped = ("Rows Removed by Filter", "Rows Removed by Join Filter")
    rows = step["Actual Rows"] + sum(step.get(name, 0) for name in dropped)
    return rows * step["Actual Loops"]


@pytest.mark.parametrize("statement", CELLS)
def test_runs_of_cells_are_read_once_without_planner_statistics(wide, statement):
    cells = list(Cell.objects.values_list("pk", flat=True))

    assert rows_looked_at(statement, [cells]) <= RunMean.objects.count()


def test_study_is_read_once_without_planner_statistics(wide):
    looked_at = rows_looked_at(plausibility_facts.RUN_MEANS, [wide.pk])

    assert looked_at <= RunMean.objects.count()


def test_few_cells_read_only_their_run_means(wide):
    [cell, *_] = Cell.objects.values_list("pk", flat=True)

    # Scanning the few cells is fine, but not all their run means.
    looked_at = rows_looked_at(cell_summaries.CELL_RUNS_SQL, [[cell]])

    assert looked_at <= Cell.objects.count() < RunMean.objects.count()


def test_sessions_are_compared_by_cell_without_planner_statistics(wide):
    checking.check_due_studies(timedelta(0))
    cells = Cell.objects.count()
    assert CellSession.objects.count() >= cells

    looked_at = rows_looked_at(
        efficiencies.OUTDATED_STATES_SQL,
        {"study": wide.pk, "other_session": "another session"},
    )

    assert looked_at <= 2 * cells


def test_version_looks_up_rows_by_cell_without_planner_statistics(
    wide, lab, submit, run_document, xen
):
    guests = Study.objects.create(
        lab=lab, slug="guests", title="Guests", visibility=Study.Visibility.PUBLIC
    )
    samples = [
        {
            "metric": "network throughput",
            "parameters": {"n": case},
            "value": 90.0 + case,
            "unit": "MB/s",
        }
        for case in range(CASES)
    ]
    guest = {"guest_os": "Debian 0", **xen}
    submit(run_document(study=guests.slug, system=guest, samples=samples))
    # Each cell has a baseline in the other, larger study.
    baselines = Efficiency.objects.filter(cell__study=guests, baseline__study=wide)
    assert baselines.count() == Cell.objects.filter(study=guests).count() == CASES

    for statement in (
        data_versions.STUDY_VERSION_SQL,
        data_versions.BASELINE_STUDIES_SQL,
        data_versions.ROLLUP_BASELINES_SQL,
    ):
        looked_at = rows_looked_at(statement, {"study": guests.pk, "lab": lab.pk})
        # Cells, baselines and runs.
        assert looked_at <= 3 * CASES < Cell.objects.count()
