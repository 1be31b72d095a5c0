"""Statistics of cells per session, stored by the check and read as arrays."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from benchmarks.analysis.cell_statistics import summarize
from benchmarks.analysis.sessions import UNKNOWN_TIME
from benchmarks.models import Cell, CellSession, Run, Study
from benchmarks.studies import checking
from benchmarks.studies.cell_session_statistics import (
    cell_runs,
    cell_sessions,
    study_sessions,
)

AT_ONCE = timedelta(0)
MONDAY, TUESDAY = "2021-05-03T08:{:02}:00Z", "2021-05-04T08:{:02}:00Z"


@pytest.fixture
def measured(submit, run_document):
    """Upload values, one run each on one day, and run the check."""

    def take(values, day=None, **changes):
        stated = [{"started_at": day.format(n)} if day else {} for n in range(99)]
        submit(
            *(
                run_document(value, **stated[place], **changes)
                for place, value in enumerate(values)
            )
        )
        checking.check_due_studies(AT_ONCE)

    return take


def test_sessions_of_a_cell_have_separate_statistics(measured):
    measured([50.0, 51.0, 52.0], MONDAY)
    measured([60.0, 61.0], TUESDAY)
    measured([70.0])

    rows = CellSession.objects.order_by("mean")
    assert [str(one.session) for one in rows] == [
        "2021-05-03 08:00",
        "2021-05-04 08:00",
        "None",
    ]
    assert [(one.n, one.mean, one.m2) for one in rows] == [
        (3, 51.0, 2.0),
        (2, 60.5, 0.5),
        (1, 70.0, 0.0),
    ]
    first = rows[0]
    assert (first.minimum, first.maximum) == (50.0, 52.0)
    assert (first.first_at.minute, first.last_at.minute) == (0, 2)
    assert rows[2].first_at is None


def test_statistics_of_sessions_add_up_to_the_cell(measured):
    values = [50.0, 51.5, 49.25, 53.0, 50.5]
    measured(values[:3], MONDAY)
    measured(values[3:], TUESDAY)

    cell, total = Cell.objects.get(), summarize(values)
    rows = list(CellSession.objects.filter(cell=cell))
    between = sum(one.n * (one.mean - cell.mean) ** 2 for one in rows)
    assert sum(one.n for one in rows) == cell.n == total.n
    assert sum(one.m2 for one in rows) + between == pytest.approx(cell.m2)


def test_autocorrelation_within_a_session_is_stored(measured):
    measured([50 + place for place in range(12)], MONDAY)

    assert 0.9 < CellSession.objects.get().rho < 1


def test_unchanged_check_writes_nothing(measured, study):
    measured([50.0, 51.0], MONDAY)
    before = list(CellSession.objects.values())

    checking.check_study(Study.objects.get(pk=study.pk))

    assert list(CellSession.objects.values()) == before


def test_added_run_changes_only_its_session(measured):
    measured([50.0], MONDAY)
    measured([60.0], TUESDAY)
    before = dict(CellSession.objects.values_list("mean", "pk"))

    measured([62.0], TUESDAY)

    assert dict(CellSession.objects.values_list("mean", "pk")) == {
        50.0: before[50.0],
        61.0: before[60.0],
    }


def test_sessions_are_deleted_with_their_cell(measured):
    measured([50.0], MONDAY)

    Cell.objects.all().delete()

    assert not CellSession.objects.exists()


def test_cell_is_analyzed_again_when_its_runs_move(measured, study):
    measured([50.0, 51.0], MONDAY)
    run = Run.objects.order_by("pk").last()
    Run.objects.filter(pk=run.pk).update(started_at="2021-05-06T08:00:00Z")

    checking.check_study(Study.objects.get(pk=study.pk))

    assert list(CellSession.objects.order_by("mean").values_list("n", "mean")) == [
        (1, 50.0),
        (1, 51.0),
    ]


def test_sessions_of_study_and_baselines_take_one_query(
    measured, xen, lab, study, django_assert_num_queries
):
    Study.objects.create(lab=lab, slug="guests", title="Guests", visibility="public")
    measured([50.0, 52.0], MONDAY)
    measured([60.0], TUESDAY)
    measured([40.0], MONDAY, study="guests", system=xen)
    measured([30.0], None, study="guests", system=xen)
    native, guest = Cell.objects.order_by("pk")
    assert guest.efficiency.baseline == native
    guests = guest.study

    with django_assert_num_queries(1):
        columns = study_sessions(guests)

    assert columns.cell.tolist() == [native.pk, native.pk, guest.pk, guest.pk]
    assert sorted(columns.mean[columns.cell == guest.pk]) == [30.0, 40.0]
    unknown = columns.session == UNKNOWN_TIME
    assert columns.mean[unknown].tolist() == [30.0]
    assert columns.n.tolist()[:2] == [2, 1]
    assert np.isnan(columns.rho).all()
    assert study_sessions(study).cell.tolist() == [native.pk, native.pk]


def test_of_cells_returns_rows_of_the_requested_cells(measured, xen):
    measured([50.0], MONDAY)
    measured([60.0], TUESDAY)
    measured([40.0], MONDAY, system=xen)
    native, guest = (cell.pk for cell in Cell.objects.order_by("pk"))

    asked = np.array([guest, 0, native, native])
    row, entries = cell_sessions([native, guest]).of_cells(asked)

    assert row.tolist() == [0, 2, 2, 3, 3]
    assert entries.mean.tolist() == [40.0, 50.0, 60.0, 50.0, 60.0]


def test_empty_study_has_no_sessions(study):
    columns = study_sessions(study)

    assert columns.cell.size == columns.rho.size == 0
    row, entries = columns.of_cells(np.array([1, 2]))
    assert row.size == entries.n.size == 0


def test_runs_are_ordered_by_cell_session_and_start(measured, xen):
    measured([60.0], TUESDAY)
    measured([52.0, 51.0, 50.0], MONDAY)
    measured([70.0])
    measured([40.0], MONDAY, system=xen)
    native, guest = (cell.pk for cell in Cell.objects.order_by("pk"))

    runs = cell_runs([native, guest])

    assert runs.cell.tolist() == [native] * 5 + [guest]
    assert runs.mean.tolist() == [70.0, 60.0, 52.0, 51.0, 50.0, 40.0]
    monday = runs.start[np.isin(runs.mean, [52.0, 51.0, 50.0])]
    assert (monday - datetime(2021, 5, 3, 8, tzinfo=UTC).timestamp()).tolist() == [
        *(0.0, 60.0, 120.0)
    ]
    assert np.isnan(runs.start[runs.mean == 70.0]).all()
    row, of_guest = runs.of_cells(np.array([guest]))
    assert (row.tolist(), of_guest.mean.tolist()) == ([0], [40.0])


@pytest.mark.django_db
def test_cells_without_sessions_have_no_runs():
    assert cell_runs([]).mean.size == cell_runs([1]).start.size == 0
