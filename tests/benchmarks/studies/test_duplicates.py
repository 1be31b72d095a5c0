"""Duplicate runs count once, unless a person dismisses the flag."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from benchmarks.models import Cell, Flag, Job, Run, Study
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag

VALUES = [52.97, 53.41, 52.18, 53.02, 52.66]
STARTS = [f"2026-05-01T12:0{minute}:00Z" for minute in range(5)]


@pytest.fixture
def duplicated_runs(submit, run_document, study):
    """Five runs, uploaded twice with different keys, before the check."""

    def series():
        return [
            run_document(value, started_at=start)
            for value, start in zip(VALUES, STARTS, strict=True)
        ]

    submit(*series())
    submit(*series())
    return study


def check(study):
    checking.check_study(Study.objects.get(pk=study.pk))


def decide(status, person):
    flag = Flag.objects.get(rule="uploaded-twice")
    decide_flag(flag=flag, status=status, note="Known.", actor="carol", person=person)


def counted():
    cell = Cell.objects.get()
    return cell.n, cell.mean


def test_duplicate_runs_count_once(duplicated_runs):
    assert counted()[0] == 10

    check(duplicated_runs)

    assert counted() == (5, pytest.approx(sum(VALUES) / 5))
    ids = list(Run.objects.order_by("pk").values_list("pk", flat=True))
    marked = Run.objects.order_by("pk").values_list("duplicate_of", flat=True)
    assert list(marked) == [*[None] * 5, *ids[:5]]
    assert set(Flag.objects.get().runs.values_list("pk", flat=True)) == set(ids)


def test_checking_again_changes_nothing(duplicated_runs):
    check(duplicated_runs)
    before = list(Flag.objects.values()), list(Cell.objects.values())

    check(duplicated_runs)

    assert (list(Flag.objects.values()), list(Cell.objects.values())) == before


def test_duplicates_count_after_dismissing_the_flag(duplicated_runs, person):
    check(duplicated_runs)
    Job.objects.filter(kind="check").delete()

    decide("dismissed", person)
    assert Job.objects.filter(kind="check", study=duplicated_runs).exists()
    check(duplicated_runs)

    assert counted()[0] == 10
    assert not Run.objects.exclude(duplicate_of=None).exists()
    assert Flag.objects.get().status == "dismissed"


def test_duplicates_are_excluded_after_reopening_the_flag(duplicated_runs, person):
    check(duplicated_runs)
    for status in ("dismissed", "open"):
        decide(status, person)
        check(duplicated_runs)

    assert counted()[0] == 5


def test_baseline_counts_duplicates_once(duplicated_runs, submit, run_document, xen):
    submit(run_document(50.0, system=xen))

    check(duplicated_runs)

    guest = Cell.objects.exclude(system__hypervisor="native").get()
    assert guest.efficiency.baseline_n == 5


def test_duplicate_counts_after_deletion_of_the_first_run(duplicated_runs):
    check(duplicated_runs)

    Run.objects.order_by("pk").first().delete()
    check(duplicated_runs)

    assert Run.objects.exclude(duplicate_of=None).count() == 4
    assert counted()[0] == 5


@pytest.mark.django_db(transaction=True)
def test_concurrent_checks_and_uploads_give_the_same_counts(
    duplicated_runs, submit, run_document
):
    def check_by_itself(_):
        try:
            check(duplicated_runs)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        checks = [threads.submit(check_by_itself, place) for place in range(4)]
        for value in (52.5, 52.8, 53.3):
            submit(run_document(value))
        for item in checks:
            item.result(60)

    check(duplicated_runs)
    assert counted()[0] == 8
