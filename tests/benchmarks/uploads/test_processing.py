"""The outbox: every stored run is finished once, whatever happens on the way."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from benchmarks.models import Cell, Efficiency, Job, Run, RunOutput, Sample
from benchmarks.unattended import queue
from benchmarks.uploads import processing
from benchmarks.uploads.intake import submit_runs
from benchmarks.wake import FEW_RUNS
from tests import jobs


@pytest.fixture
def make_due():
    """Let the waiting time of items that failed be over."""
    return lambda: jobs.waiting("upload").update(due_at=timezone.now())


def test_it_turns_an_upload_into_samples_and_a_cell(submit, run_document):
    (submission,) = submit(run_document(13.08))

    run = Run.objects.get(pk=submission.run_id)
    assert (run.status, run.sample_count) == (Run.Status.PARSED, 1)
    assert Sample.objects.get(run=run).value == 13.08
    cell = Cell.objects.get()
    assert (cell.n, cell.mean, cell.case.unit) == (1, 13.08, "MB/s")
    assert not jobs.waiting("upload").exists()


def test_doing_it_again_changes_nothing(submit, run_document, xen):
    submit(run_document(50.0), run_document(25.0, system=xen))
    before = snapshot()

    processing.process_runs(list(Run.objects.all()))

    assert snapshot() == before


def snapshot():
    """Everything that is derived from the uploads."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (Run, Sample, Cell, Efficiency)
    ]


def test_samples_of_a_run_are_one_run_mean(submit, run_document):
    sample = run_document()["samples"][0]
    samples = [
        {**sample, "value": value, "repetition": place}
        for place, value in enumerate([10.0, 20.0, 60.0], start=1)
    ]

    submit(run_document(samples=samples), run_document(50.0))

    cell = Cell.objects.get()
    assert (cell.n, cell.mean, cell.sample_count) == (2, 40.0, 4)
    assert (cell.minimum, cell.maximum) == (30.0, 50.0)


def test_another_spelling_of_the_parameters_is_the_same_cell(submit, run_document):
    first, second = run_document(), run_document()
    first["samples"][0]["parameters"] = {"Block Size": "1 MiB", "operation": "Write"}
    second["samples"][0]["parameters"] = {"operation": "write", "block-size": "1024KiB"}

    submit(first, second)

    assert Cell.objects.get().n == 2


def test_an_upload_that_cannot_be_read_is_rejected_and_kept(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])
    text = RunOutput.objects.get().text.replace("network throughput", "no such metric")
    RunOutput.objects.update(text=text)
    jobs.waiting("upload").update(is_read=False)

    processing.drain()

    run = Run.objects.get()
    assert run.status == Run.Status.REJECTED
    assert "no such metric" in run.reason
    assert run.upload.text == text
    assert not jobs.waiting("upload").exists()


def test_a_run_that_fails_five_times_is_set_aside_with_its_error(
    agent, run_document, make_due
):
    submit_runs(agent=agent, documents=[run_document(), run_document(1.0)])
    bad, good = Run.objects.order_by("pk")
    RunOutput.objects.filter(run=bad).update(text="not JSON")
    jobs.waiting("upload").update(is_read=False)

    for _ in range(queue.QUARANTINE_AFTER):
        processing.drain()
        make_due()

    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.status, good.status) == (Run.Status.QUARANTINED, Run.Status.PARSED)
    assert "JSONDecodeError" in bad.reason
    assert processing.drain() == 0


@pytest.fixture
def die_of(monkeypatch, make_due):
    """Drain with workers that die of a run, each replaced by the next, to the end."""

    def drain(poison: int | None, *, deaths: int = 0) -> int:
        """Return how many workers died; ``deaths`` more die of nothing of ours."""
        work, died = queue.WORKS["upload"], 0

        def die(batch: list[Job]) -> object:
            nonlocal deaths
            if poison in [job.subject_id for job in batch] or deaths > 0:
                deaths -= 1
                raise KeyboardInterrupt  # nothing is caught, nothing is tidied up
            return work.do(batch)

        monkeypatch.setitem(queue.WORKS, "upload", replace(work, do=die))
        while jobs.waiting("upload").filter(quarantined_at=None).exists():
            make_due()
            try:
                processing.drain()
            except KeyboardInterrupt:
                died += 1
            assert died < 50
        return died

    return drain


@pytest.mark.django_db(transaction=True)
def test_of_a_hundred_runs_only_the_one_that_kills_its_worker_is_set_aside(
    agent, run_document, die_of
):
    submit_runs(agent=agent, documents=[run_document(float(n)) for n in range(1, 101)])
    poison = Run.objects.order_by("pk")[70].pk

    deaths = die_of(poison)

    quarantined = Run.objects.filter(status=Run.Status.QUARANTINED)
    assert [run.pk for run in quarantined] == [poison]
    assert "stopped its worker" in quarantined[0].reason
    assert Run.objects.filter(status=Run.Status.PARSED).count() == 99
    # Once together, log2(100) times in halves of what is left, then alone.
    assert deaths <= 1 + 7 + queue.QUARANTINE_AFTER


@pytest.mark.django_db(transaction=True)
def test_deaths_of_a_worker_that_are_no_runs_fault_set_nothing_aside(
    agent, run_document, die_of
):
    submit_runs(agent=agent, documents=[run_document(float(n)) for n in range(1, 21)])

    assert die_of(None, deaths=8) == 8

    assert {run.status for run in Run.objects.all()} == {Run.Status.PARSED}


@pytest.mark.django_db(transaction=True)
def test_a_run_in_hand_while_postgresql_stopped_is_blamed_for_nothing(
    agent, run_document, die_of, make_due
):
    submit_runs(agent=agent, documents=[run_document()])
    for _ in range(2 * queue.QUARANTINE_AFTER):
        make_due()
        now = timezone.now()
        with processing._free_shares(now, False) as shares:
            assert processing._next_batch(1, now, shares, False)
        # As if another server answered next time.
        jobs.waiting("upload").update(
            server_started_at=timezone.now() - timedelta(days=1)
        )

    assert jobs.waiting("upload").get().failures == 0
    assert die_of(None) == 0


@pytest.mark.django_db(transaction=True)
def test_a_database_that_goes_away_gives_back_what_was_in_hand(
    agent, run_document, monkeypatch
):
    def go_away(uploads: object, are_read: object) -> None:
        raise OperationalError("the server closed the connection")

    submit_runs(agent=agent, documents=[run_document(), run_document(1.0)])
    with monkeypatch.context() as patched:
        patched.setattr(processing, "process_runs", go_away)
        with pytest.raises(OperationalError):
            processing.drain()

    assert set(jobs.waiting("upload").values_list("batch", "failures")) == {(None, 0)}
    assert processing.drain() == 2


def test_a_quarantined_run_is_tried_again_by_command(agent, run_document, make_due):
    submit_runs(agent=agent, documents=[run_document()])
    good = RunOutput.objects.get().text
    RunOutput.objects.update(text="not JSON")
    jobs.waiting("upload").update(is_read=False)
    for _ in range(queue.QUARANTINE_AFTER):
        processing.drain()
        make_due()
    RunOutput.objects.update(text=good)

    listed, said = StringIO(), StringIO()
    call_command("jobs", stdout=listed)
    assert Run.objects.get().status == Run.Status.QUARANTINED
    call_command("jobs", study="alpha-lab/study", retry=True, stdout=said)

    assert "JSONDecodeError" in listed.getvalue()
    assert "1 will be tried again" in said.getvalue()
    assert Run.objects.get().status == Run.Status.RECEIVED
    assert processing.drain() == 1


def test_another_version_tries_quarantined_runs_again(agent, run_document, settings):
    submit_runs(agent=agent, documents=[run_document()])
    jobs.waiting("upload").update(
        quarantined_at=timezone.now(), failures=5, version=settings.VERSION
    )

    assert queue.retry_after_upgrade() == 0
    settings.VERSION = "99.0"
    assert queue.retry_after_upgrade() == 1
    assert processing.drain() == 1


def test_young_work_is_left_to_the_worker_that_was_woken(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])

    assert processing.drain(older_than_s=60) == 0
    created_at = timezone.now() - timedelta(seconds=61)
    jobs.waiting("upload").update(created_at=created_at)
    assert processing.drain(older_than_s=60) == 1


@pytest.mark.django_db(transaction=True)
def test_work_in_another_workers_hands_is_left_alone(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])

    def look_meanwhile() -> int:
        try:
            return processing.drain()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread, transaction.atomic():
        jobs.waiting("upload").select_for_update().get()
        assert thread.submit(look_meanwhile).result() == 0
    assert processing.drain() == 1


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_share_what_a_lab_measured_with_one_tool(
    agent, run_document
):
    """Each would make its cells, and wait for the other."""
    submit_runs(agent=agent, documents=[run_document()])
    begun = timezone.now()

    def look_meanwhile() -> int:
        try:
            return processing.drain()
        finally:
            connection.close()

    with (
        ThreadPoolExecutor(1) as thread,
        processing._free_shares(begun, False) as shares,
    ):
        assert len(shares) == 1
        assert thread.submit(look_meanwhile).result() == 0
        assert processing.is_left(begun, False)
    assert processing.drain() == 1
    assert not processing.is_left(timezone.now(), False)


@pytest.mark.django_db(transaction=True)
def test_many_workers_at_once_finish_everything_once(agent, run_document, xen):
    documents = [
        run_document(float(value), system=xen if value % 2 else {})
        for value in range(1, 61)
    ]
    submit_runs(agent=agent, documents=documents)

    def work(_: int) -> int:
        try:
            return processing.drain(limit=7)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        finished = sum(threads.map(work, range(6)))

    assert finished == 60
    native, vm = Cell.objects.order_by("system__hypervisor").reverse()
    assert {native.n, vm.n} == {30}
    against = Efficiency.objects.get(state="paired")
    assert against.ratio == pytest.approx(30 / 31)


def test_data_cost_processor_time_where_a_run_tells_share_and_rate(
    submit, run_document
):
    document = run_document(100.0)
    share = {"metric": "CPU utilization (network)", "value": 20.0, "unit": "%"}
    share["parameters"] = {"operation": "write"}
    (submission,) = submit({**document, "samples": [*document["samples"], share]})

    cost = Cell.objects.get(case__metric="CPU time per data (network)")
    assert (cost.mean, cost.case.unit) == (pytest.approx(2.048), "us/KB")
    # What was uploaded stays what it is.
    run = Run.objects.get(pk=submission.run_id)
    assert (run.sample_count, run.derived_count) == (3, 1)
    derived = [sample.is_derived for sample in run.samples.order_by("sequence")]
    assert derived == [False, False, True]


def test_a_large_study_is_processed_when_its_pieces_have_come(
    agent, run_document, monkeypatch
):
    monkeypatch.setattr(processing, "FLOOD_SAMPLES", 3)
    pieces = [run_document(value) for value in (50.0, 51.0)]
    submit_runs(agent=agent, documents=pieces)
    assert processing.drain() == 2  # too little for a flood

    submit_runs(agent=agent, documents=[run_document(53.0 + n) for n in range(3)])
    assert processing.flooded_labs(is_bulk=False) == [agent.lab_id]
    assert processing.drain() == 0

    # None came for a moment; or they come and come.
    for ago in (processing.NEXT_RUN, processing.FLOOD_AT_MOST):
        items = jobs.waiting("upload").order_by("pk")
        if ago == processing.FLOOD_AT_MOST:
            items = items.filter(pk=items.earliest("pk").pk)
        with transaction.atomic():
            items.update(created_at=timezone.now() - ago)
            assert processing.flooded_labs(is_bulk=False) == []
            transaction.set_rollback(True)
    jobs.waiting("upload").update(created_at=timezone.now() - processing.NEXT_PIECE)
    assert processing.drain() == 3


def test_what_came_alone_is_processed_before_what_came_in_bulk(agent, run_document):
    """However long the others wait: it is of a lane of its own."""
    many = [run_document(50.0 + number) for number in range(FEW_RUNS + 1)]
    submit_runs(agent=agent, documents=many)
    [alone] = submit_runs(agent=agent, documents=[run_document(70.0)])

    assert processing.drain(is_bulk=False) == 1
    assert Run.objects.get(status=Run.Status.PARSED).pk == alone.run_id
    assert processing.drain(is_bulk=True) == len(many)


def test_a_flood_in_bulk_does_not_hold_up_what_comes_alone(
    agent, run_document, monkeypatch
):
    monkeypatch.setattr(processing, "FLOOD_SAMPLES", 3)
    many = [run_document(50.0 + number) for number in range(FEW_RUNS + 1)]
    submit_runs(agent=agent, documents=many)
    submit_runs(agent=agent, documents=[run_document(70.0)])

    assert processing.flooded_labs(is_bulk=True) == [agent.lab_id]
    assert processing.drain() == 1
