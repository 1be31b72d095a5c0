"""What is read of a wide study grows as the study does, statistics or not."""

from datetime import timedelta

import orjson
import pytest
from django.db import connection

from benchmarks.models import Cell, CellSession, Efficiency, Run, RunMean
from benchmarks.studies import checking, facts, shaping
from benchmarks.uploads import efficiencies, summaries

SYSTEMS, UPLOADS, CASES = 4, 6, 30
CELLS = [summaries.OF_RUNS, shaping.MEANS]


@pytest.fixture
def wide(submit, run_document, study):
    """A study of four systems, measured in runs of half of the cases each.

    PostgreSQL has no statistics of what the test's own transaction wrote, nor those of
    other tests, which left these tables without a row in them.
    """
    with connection.cursor() as cursor:
        for model in (Cell, CellSession, Efficiency, Run, RunMean):
            table = model._meta.db_table
            clear = "SELECT pg_clear_relation_stats('public', %s)"
            cursor.execute(clear, [table])
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
    """Return the most rows that any step of a statement looked at, in all its loops."""
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
    dropped = ("Rows Removed by Filter", "Rows Removed by Join Filter")
    rows = step["Actual Rows"] + sum(step.get(name, 0) for name in dropped)
    return rows * step["Actual Loops"]


@pytest.mark.parametrize("statement", CELLS)
def test_runs_of_cells_are_read_once_without_statistics(wide, statement):
    cells = list(Cell.objects.values_list("pk", flat=True))

    assert rows_looked_at(statement, [cells]) <= RunMean.objects.count()


def test_a_whole_study_is_read_once_without_statistics(wide):
    assert rows_looked_at(facts.RUN_MEANS, [wide.pk]) <= RunMean.objects.count()


def test_few_cells_take_only_what_runs_say_of_them(wide):
    [cell, *_] = Cell.objects.values_list("pk", flat=True)

    # So few cells may be looked through one by one, but not all that runs say of them.
    looked_at = rows_looked_at(summaries.OF_RUNS, [[cell]])

    assert looked_at <= Cell.objects.count() < RunMean.objects.count()


def test_sessions_of_a_study_are_compared_cell_by_cell_without_statistics(wide):
    checking.check_due_studies(timedelta(0))
    cells = Cell.objects.count()
    assert CellSession.objects.count() >= cells

    looked_at = rows_looked_at(efficiencies.MISJUDGED, {"study": wide.pk})

    assert looked_at <= 2 * cells
