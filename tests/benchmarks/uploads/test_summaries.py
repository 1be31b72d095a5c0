"""The statistics of a cell are those of its runs, to the last bit."""

import pytest
from django.db import connection

from benchmarks.comparing import cell_evidence
from benchmarks.comparing.trend import trend_of, trend_subjects
from benchmarks.models import Cell, Run, Sample, Study
from benchmarks.uploads.summaries import (
    store_run_means,
    summarise_cells,
    touched_cells,
)
from benchmarks.viewer import Viewer

# Added up in their order they make 1, in other orders 0: 1 is lost beside 1e16.
VALUES = [1e16, -1e16, 1.0, 0.0]


@pytest.fixture(params=[[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 1, 3]])
def cell(request, submit, run_document):
    """A cell of one run, whose samples lie in the table in some order."""
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
    # As PostgreSQL reads a table that it takes for small.
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_indexscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
    store_run_means(list(Run.objects.all()))
    return Cell.objects.get()


def test_a_mean_is_the_same_in_whatever_order_the_rows_lie(cell):
    (summarised,) = summarise_cells(touched_cells(Run.objects.all()))

    assert summarised.mean == 0.25


def test_so_is_that_of_a_cells_evidence_and_trend(cell, monkeypatch):
    viewer = Viewer(frozenset({cell.lab_id}))
    study = Study.objects.get()
    monkeypatch.setattr(cell_evidence, "SAMPLES_SHOWN", 2)

    (run,) = cell_evidence.evidence(viewer, study, cell.pk, None).runs
    (subject,) = trend_subjects(viewer, study)
    (series,) = trend_of(viewer, subject).series

    assert run.value == 0.25
    assert [run.mean for run in series.runs] == [0.25]
