"""What the first page says of a study is stored, and never older than the study."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.models import Flag, Run, Study, StudyRollup, System
from benchmarks.studies.data_versions import gather_notes
from benchmarks.studies.lists import overview
from benchmarks.studies.rollups import Renewal, counted_studies
from benchmarks.viewer import ANYONE


@pytest.fixture
def measured(study, submit, run_document, xen):
    submit(run_document(50.0), run_document(25.0, system=xen))
    return study


@pytest.fixture
def renew():
    """The sweeper's look; what has just changed is left for its next one."""
    renewal = Renewal()

    def twice():
        return renewal() + renewal()

    return twice


def shown():
    """The cards, and whether a cell was read for them."""
    with CaptureQueriesContext(connection) as asked:
        cards = overview(ANYONE)
    return cards, any('FROM "benchmarks_cell"' in each["sql"] for each in asked)


def test_what_was_counted_is_read_and_says_the_same(measured, renew):
    counted, was_counted = shown()
    assert renew() == 1

    read, is_counted = shown()

    assert (was_counted, is_counted) == (True, False)
    assert read == counted
    assert read[0].rollup.bins
    assert renew() == 0


CHANGES = {
    "an upload": lambda it: it["submit"](it["document"](40.0)),
    "a run": lambda it: Run.objects.update(status="rejected"),
    "a flag": lambda it: Flag.objects.create(study=it["study"], lab=it["study"].lab),
    "a system": lambda it: System.objects.update(is_emulated=True),
    "a study that goes": lambda it: it["study"].cells.all().delete(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_it_is_counted_again(
    measured, renew, submit, run_document, change
):
    renew()
    CHANGES[change]({"study": measured, "submit": submit, "document": run_document})

    now, is_counted = shown()
    StudyRollup.objects.all().delete()

    assert is_counted
    assert now == shown()[0]
    assert renew() == 1


def test_of_one_that_went_meanwhile_there_is_nothing(measured):
    gone = measured.pk + 1

    counted = counted_studies([measured.pk, gone])

    assert (counted[gone].numbers, counted[gone].bins) == ({}, ())
    assert counted[measured.pk].numbers["runs"] == 2


def test_what_happens_to_another_study_leaves_it_alone(
    measured, renew, private_study, submit, run_document
):
    renew()
    submit(run_document(study=private_study.slug))

    assert not shown()[1]


def test_what_still_changes_is_not_counted_yet(measured, submit, run_document):
    renewal = Renewal()
    renewal()
    submit(run_document(41.0))

    assert renewal() == 0
    assert renewal() == 1


def test_notes_that_are_put_together_change_no_version(measured, renew):
    renew()
    for number in range(30):
        Study.objects.filter(pk=measured.pk).update(title=f"Title {number}")
        measured.cells.update(n=1)

    Renewal()
    renew()
    assert gather_notes(most=5) > 30
    assert not shown()[1]
    assert gather_notes(most=5) == 0
