"""Rollups of studies are stored and never outdated."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.models import Flag, Run, Study, StudyRollup, System
from benchmarks.studies.data_versions import merge_change_counts
from benchmarks.studies.overview import study_cards
from benchmarks.studies.study_rollups import RollupRenewal, current_rollups
from benchmarks.viewer import ANYONE


@pytest.fixture
def measured(study, submit, run_document, xen):
    submit(run_document(50.0), run_document(25.0, system=xen))
    return study


@pytest.fixture
def renew():
    """A sweeper cycle; studies that have just changed are left for the next one."""
    renewal = RollupRenewal()

    def twice():
        return renewal() + renewal()

    return twice


def cards_and_cell_reads():
    """The study cards, and whether cells were read for them."""
    with CaptureQueriesContext(connection) as queries:
        cards = study_cards(ANYONE)
    return cards, any('FROM "benchmarks_cell"' in item["sql"] for item in queries)


def test_stored_rollup_equals_a_fresh_count(measured, renew):
    counted, was_counted = cards_and_cell_reads()
    assert renew() == 1

    read, is_counted = cards_and_cell_reads()

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
def test_changed_study_is_counted_again(measured, renew, submit, run_document, change):
    renew()
    CHANGES[change]({"study": measured, "submit": submit, "document": run_document})

    now, is_counted = cards_and_cell_reads()
    StudyRollup.objects.all().delete()

    assert is_counted
    assert now == cards_and_cell_reads()[0]
    assert renew() == 1


def test_deleted_study_has_no_rollup(measured):
    deleted = measured.pk + 1

    counted = current_rollups([measured.pk, deleted])

    assert (counted[deleted].counts, counted[deleted].bins) == ({}, ())
    assert counted[measured.pk].counts["runs"] == 2


def test_changes_of_other_studies_keep_the_rollup(
    measured, renew, private_study, submit, run_document
):
    renew()
    submit(run_document(study=private_study.slug))

    assert not cards_and_cell_reads()[1]


def test_changing_study_is_not_renewed(measured, submit, run_document):
    renewal = RollupRenewal()
    renewal()
    submit(run_document(41.0))

    assert renewal() == 0
    assert renewal() == 1


def test_merging_change_counts_keeps_versions(measured, renew):
    renew()
    for number in range(30):
        Study.objects.filter(pk=measured.pk).update(title=f"Title {number}")
        measured.cells.update(n=1)

    RollupRenewal()
    renew()
    assert merge_change_counts(limit=5) > 30
    assert not cards_and_cell_reads()[1]
    assert merge_change_counts(limit=5) == 0
