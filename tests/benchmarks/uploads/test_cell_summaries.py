"""Statistics of cells are reproducible to the last bit."""

import pytest
from django.db import connection

from benchmarks.comparison import cell_details
from benchmarks.comparison.trend import read_trend, trend_subjects
from benchmarks.models import Cell, Run, Sample, Study
from benchmarks.uploads.cell_summaries import (
    affected_cells,
    store_run_means,
    summarize_cells,
)
from benchmarks.viewer import Viewer

# The sum is 1 in this order and 0 in others: 1 is lost when added to 1e16.
VALUES = [1e16, -1e16, 1.0, 0.0]


@pytest.fixture(params=[[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 1, 3]])
def cell(request, submit, run_document):
    """A cell of one run whose samples have some physical order in the table."""
    submit(run_document(1.0))
    (first,) = Sample.objects.all()
    Sample.objects.all().delete()
    for place in request.param:
        Sample.objects.create(
            lab_id=first.lab_id,
            run_id=first.run_id,
            case_id=first.case_id,
            sequence=place,
            value=VALUES[place],
        )
    # A sequential scan, as for a small table.
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_indexscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
    store_run_means(list(Run.objects.all()))
    return Cell.objects.get()


def test_mean_does_not_depend_on_the_order_of_rows(cell):
    (summarized,) = summarize_cells(affected_cells(Run.objects.all()))

    assert summarized.mean == 0.25


def test_evidence_and_trend_do_not_depend_on_the_order_of_rows(cell, monkeypatch):
    viewer = Viewer(frozenset({cell.lab_id}))
    study = Study.objects.get()
    monkeypatch.setattr(cell_details, "MAX_SAMPLES", 2)

    (run,) = cell_details.cell_details(viewer, study, cell.pk, None).runs
    (subject,) = trend_subjects(viewer, study)
    (series,) = read_trend(viewer, subject).series

    assert run.value == 0.25
    assert [run.mean for run in series.runs] == [0.25]
