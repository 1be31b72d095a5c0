"""Runs that were uploaded twice count once, until somebody says that they are two."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from benchmarks.models import Cell, Flag, Job, Run, Study
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag

VALUES = [52.97, 53.41, 52.18, 53.02, 52.66]
STARTS = [f"2026-05-01T12:0{minute}:00Z" for minute in range(5)]


@pytest.fixture
def twice(submit, run_document, study):
    """Five runs, and the same five once more under other keys; not checked yet."""

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
    decide_flag(flag=flag, status=status, note="Known.", who="carol", person=person)


def counted():
    cell = Cell.objects.get()
    return cell.n, cell.mean


def test_runs_that_were_uploaded_twice_count_once(twice):
    assert counted()[0] == 10

    check(twice)

    assert counted() == (5, pytest.approx(sum(VALUES) / 5))
    ids = list(Run.objects.order_by("pk").values_list("pk", flat=True))
    marked = Run.objects.order_by("pk").values_list("duplicate_of", flat=True)
    assert list(marked) == [*[None] * 5, *ids[:5]]
    assert set(Flag.objects.get().runs.values_list("pk", flat=True)) == set(ids)


def test_checking_again_changes_nothing(twice):
    check(twice)
    before = list(Flag.objects.values()), list(Cell.objects.values())

    check(twice)

    assert (list(Flag.objects.values()), list(Cell.objects.values())) == before


def test_a_dismissed_flag_brings_them_back(twice, person):
    check(twice)
    Job.objects.filter(kind="check").delete()

    decide("dismissed", person)
    assert Job.objects.filter(kind="check", study=twice).exists()
    check(twice)

    assert counted()[0] == 10
    assert not Run.objects.exclude(duplicate_of=None).exists()
    assert Flag.objects.get().status == "dismissed"


def test_a_reopened_flag_leaves_them_out_again(twice, person):
    check(twice)
    for status in ("dismissed", "open"):
        decide(status, person)
        check(twice)

    assert counted()[0] == 5


def test_the_native_value_of_a_guest_counts_them_once(twice, submit, run_document, xen):
    submit(run_document(50.0, system=xen))

    check(twice)

    guest = Cell.objects.exclude(system__hypervisor="native").get()
    assert guest.efficiency.baseline_n == 5


def test_a_first_run_that_goes_leaves_its_duplicate_counted(twice):
    check(twice)

    Run.objects.order_by("pk").first().delete()
    check(twice)

    assert Run.objects.exclude(duplicate_of=None).count() == 4
    assert counted()[0] == 5


@pytest.mark.django_db(transaction=True)
def test_checks_and_uploads_at_once_end_in_the_same_counts(twice, submit, run_document):
    def check_by_itself(_):
        try:
            check(twice)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        checks = [threads.submit(check_by_itself, place) for place in range(4)]
        for value in (52.5, 52.8, 53.3):
            submit(run_document(value))
        for each in checks:
            each.result(60)

    check(twice)
    assert counted()[0] == 8
