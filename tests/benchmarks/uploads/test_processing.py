"""Processing: every stored run is finished once, despite failures."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from benchmarks.jobs import queue
from benchmarks.models import Cell, Efficiency, Job, Run, RunOutput, Sample
from benchmarks.uploads import processing
from benchmarks.uploads.intake import submit_runs
from benchmarks.worker_wakeup import MAX_INTERACTIVE_RUNS
from tests import job_queue


@pytest.fixture
def make_due():
    """Make failed jobs due now."""
    return lambda: job_queue.waiting("upload").update(due_at=timezone.now())


def test_upload_becomes_samples_and_a_cell(submit, run_document):
    (submission,) = submit(run_document(13.08))

    run = Run.objects.get(pk=submission.run_id)
    assert (run.status, run.sample_count) == (Run.Status.PARSED, 1)
    assert Sample.objects.get(run=run).value == 13.08
    cell = Cell.objects.get()
    assert (cell.n, cell.mean, cell.case.unit) == (1, 13.08, "MB/s")
    assert not job_queue.waiting("upload").exists()


def test_processing_again_changes_nothing(submit, run_document, xen):
    submit(run_document(50.0), run_document(25.0, system=xen))
    before = snapshot()

    processing.process_runs(list(Run.objects.all()))

    assert snapshot() == before


def snapshot():
    """All data derived from the uploads."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (Run, Sample, Cell, Efficiency)
    ]


def test_samples_of_a_run_have_one_mean(submit, run_document):
    sample = run_document()["samples"][0]
    samples = [
        {**sample, "value": value, "repetition": place}
        for place, value in enumerate([10.0, 20.0, 60.0], start=1)
    ]

    submit(run_document(samples=samples), run_document(50.0))

    cell = Cell.objects.get()
    assert (cell.n, cell.mean, cell.sample_count) == (2, 40.0, 4)
    assert (cell.minimum, cell.maximum) == (30.0, 50.0)


def test_spelling_of_parameters_does_not_change_the_cell(submit, run_document):
    first, second = run_document(), run_document()
    first["samples"][0]["parameters"] = {"Block Size": "1 MiB", "operation": "Write"}
    second["samples"][0]["parameters"] = {"operation": "write", "block-size": "1024KiB"}

    submit(first, second)

    assert Cell.objects.get().n == 2


def test_unreadable_upload_is_rejected_but_stored(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])
    text = RunOutput.objects.get().text.replace("network throughput", "no such metric")
    RunOutput.objects.update(text=text)
    job_queue.waiting("upload").update(is_preparsed=False)

    processing.process_due_uploads()

    run = Run.objects.get()
    assert run.status == Run.Status.REJECTED
    assert "no such metric" in run.reason
    assert run.upload.text == text
    assert not job_queue.waiting("upload").exists()


def test_run_is_quarantined_with_its_error_after_five_failures(
    agent, run_document, make_due
):
    submit_runs(agent=agent, documents=[run_document(), run_document(1.0)])
    bad, good = Run.objects.order_by("pk")
    RunOutput.objects.filter(run=bad).update(text="not valid JSON")
    job_queue.waiting("upload").update(is_preparsed=False)

    for _ in range(queue.QUARANTINE_AFTER):
        processing.process_due_uploads()
        make_due()

    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.status, good.status) == (Run.Status.QUARANTINED, Run.Status.PARSED)
    assert "JSONDecodeError" in bad.reason
    assert processing.process_due_uploads() == 0


@pytest.fixture
def die_of(monkeypatch, make_due):
    """Process all jobs with workers that die of certain runs and are replaced."""

    def drain(poison: int | None, *, deaths: int = 0) -> int:
        """Return the number of dead workers; ``deaths`` more die for other reasons."""
        work, died = queue.HANDLERS["upload"], 0

        def die(batch: list[Job]) -> object:
            nonlocal deaths
            if poison in [job.subject_id for job in batch] or deaths > 0:
                deaths -= 1
                raise KeyboardInterrupt  # nothing is caught, nothing is tidied up
            return work.handle(batch)

        monkeypatch.setitem(queue.HANDLERS, "upload", replace(work, handle=die))
        while job_queue.waiting("upload").filter(quarantined_at=None).exists():
            make_due()
            try:
                processing.process_due_uploads()
            except KeyboardInterrupt:
                died += 1
            assert died < 50
        return died

    return drain


@pytest.mark.django_db(transaction=True)
def test_only_the_run_that_kills_its_worker_is_quarantined(agent, run_document, die_of):
    submit_runs(agent=agent, documents=[run_document(float(n)) for n in range(1, 101)])
    poison = Run.objects.order_by("pk")[70].pk

    deaths = die_of(poison)

    quarantined = Run.objects.filter(status=Run.Status.QUARANTINED)
    assert [run.pk for run in quarantined] == [poison]
    assert "worker stopped" in quarantined[0].reason
    assert Run.objects.filter(status=Run.Status.PARSED).count() == 99
    # Once together, log2(100) times in halves, then alone.
    assert deaths <= 1 + 7 + queue.QUARANTINE_AFTER


@pytest.mark.django_db(transaction=True)
def test_worker_deaths_without_a_culprit_quarantine_nothing(
    agent, run_document, die_of
):
    submit_runs(agent=agent, documents=[run_document(float(n)) for n in range(1, 21)])

    assert die_of(None, deaths=8) == 8

    assert {run.status for run in Run.objects.all()} == {Run.Status.PARSED}


@pytest.mark.django_db(transaction=True)
def test_restart_of_postgresql_does_not_count_as_failure(
    agent, run_document, die_of, make_due
):
    submit_runs(agent=agent, documents=[run_document()])
    for _ in range(2 * queue.QUARANTINE_AFTER):
        make_due()
        now = timezone.now()
        with processing._locked_partitions(now, False) as shares:
            assert processing._next_batch(1, now, shares, False)
        # As if another server responded next time.
        job_queue.waiting("upload").update(
            claimed_server_started_at=timezone.now() - timedelta(days=1)
        )

    assert job_queue.waiting("upload").get().failures == 0
    assert die_of(None) == 0


@pytest.mark.django_db(transaction=True)
def test_lost_connection_releases_claimed_jobs(agent, run_document, monkeypatch):
    def go_away(uploads: object, are_preparsed: object) -> None:
        raise OperationalError("the server closed the connection")

    submit_runs(agent=agent, documents=[run_document(), run_document(1.0)])
    with monkeypatch.context() as patched:
        patched.setattr(processing, "process_runs", go_away)
        with pytest.raises(OperationalError):
            processing.process_due_uploads()

    assert set(job_queue.waiting("upload").values_list("claim_id", "failures")) == {
        (None, 0)
    }
    assert processing.process_due_uploads() == 2


def test_command_retries_quarantined_runs(agent, run_document, make_due):
    submit_runs(agent=agent, documents=[run_document()])
    good = RunOutput.objects.get().text
    RunOutput.objects.update(text="not valid JSON")
    job_queue.waiting("upload").update(is_preparsed=False)
    for _ in range(queue.QUARANTINE_AFTER):
        processing.process_due_uploads()
        make_due()
    RunOutput.objects.update(text=good)

    listed, output = StringIO(), StringIO()
    call_command("jobs", stdout=listed)
    assert Run.objects.get().status == Run.Status.QUARANTINED
    call_command("jobs", study="alpha-lab/study", retry=True, stdout=output)

    assert "JSONDecodeError" in listed.getvalue()
    assert "1 will be retried" in output.getvalue()
    assert Run.objects.get().status == Run.Status.RECEIVED
    assert processing.process_due_uploads() == 1


def test_upgrade_retries_quarantined_runs(agent, run_document, settings):
    submit_runs(agent=agent, documents=[run_document()])
    job_queue.waiting("upload").update(
        quarantined_at=timezone.now(), failures=5, failed_version=settings.VERSION
    )

    assert queue.retry_after_upgrade() == 0
    settings.VERSION = "99.0"
    assert queue.retry_after_upgrade() == 1
    assert processing.process_due_uploads() == 1


def test_new_jobs_are_left_to_the_woken_worker(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])

    assert processing.process_due_uploads(min_age_s=60) == 0
    created_at = timezone.now() - timedelta(seconds=61)
    job_queue.waiting("upload").update(created_at=created_at)
    assert processing.process_due_uploads(min_age_s=60) == 1


@pytest.mark.django_db(transaction=True)
def test_jobs_claimed_by_another_worker_are_skipped(agent, run_document):
    submit_runs(agent=agent, documents=[run_document()])

    def process_in_thread() -> int:
        try:
            return processing.process_due_uploads()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread, transaction.atomic():
        job_queue.waiting("upload").select_for_update().get()
        assert thread.submit(process_in_thread).result() == 0
    assert processing.process_due_uploads() == 1


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_process_the_same_partition(agent, run_document):
    """Each would create cells and wait for the other."""
    submit_runs(agent=agent, documents=[run_document()])
    begun = timezone.now()

    def process_in_thread() -> int:
        try:
            return processing.process_due_uploads()
        finally:
            connection.close()

    with (
        ThreadPoolExecutor(1) as thread,
        processing._locked_partitions(begun, False) as shares,
    ):
        assert len(shares) == 1
        assert thread.submit(process_in_thread).result() == 0
        assert processing.has_due_uploads(begun, False)
    assert processing.process_due_uploads() == 1
    assert not processing.has_due_uploads(timezone.now(), False)


@pytest.mark.django_db(transaction=True)
def test_concurrent_workers_process_every_run_once(agent, run_document, xen):
    documents = [
        run_document(float(value), system=xen if value % 2 else {})
        for value in range(1, 61)
    ]
    submit_runs(agent=agent, documents=documents)

    def work(_: int) -> int:
        try:
            return processing.process_due_uploads(limit=7)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        finished = sum(threads.map(work, range(6)))

    assert finished == 60
    native, vm = Cell.objects.order_by("system__hypervisor").reverse()
    assert {native.n, vm.n} == {30}
    against = Efficiency.objects.get(state="paired")
    assert against.ratio == pytest.approx(30 / 31)


def test_cpu_cost_is_derived_from_utilization_and_rate(submit, run_document):
    document = run_document(100.0)
    share = {"metric": "CPU utilization (network)", "value": 20.0, "unit": "%"}
    share["parameters"] = {"operation": "write"}
    (submission,) = submit({**document, "samples": [*document["samples"], share]})

    cost = Cell.objects.get(case__metric="CPU time per data (network)")
    assert (cost.mean, cost.case.unit) == (pytest.approx(2.048), "us/KB")
    # Uploads stay unchanged.
    run = Run.objects.get(pk=submission.run_id)
    assert (run.sample_count, run.derived_count) == (3, 1)
    derived = [sample.is_derived for sample in run.samples.order_by("sequence")]
    assert derived == [False, False, True]


def test_large_study_is_processed_after_its_last_piece(
    agent, run_document, monkeypatch
):
    monkeypatch.setattr(processing, "BURST_SAMPLES", 3)
    pieces = [run_document(value) for value in (50.0, 51.0)]
    submit_runs(agent=agent, documents=pieces)
    assert processing.process_due_uploads() == 2  # too little for a flood

    submit_runs(agent=agent, documents=[run_document(53.0 + n) for n in range(3)])
    assert processing.labs_in_burst(is_bulk=False) == [agent.lab_id]
    assert processing.process_due_uploads() == 0

    # Either no upload came for a moment, or they keep coming.
    for ago in (processing.RUN_GAP, processing.MAX_BURST_WAIT):
        items = job_queue.waiting("upload").order_by("pk")
        if ago == processing.MAX_BURST_WAIT:
            items = items.filter(pk=items.earliest("pk").pk)
        with transaction.atomic():
            items.update(created_at=timezone.now() - ago)
            assert processing.labs_in_burst(is_bulk=False) == []
            transaction.set_rollback(True)
    job_queue.waiting("upload").update(created_at=timezone.now() - processing.PIECE_GAP)
    assert processing.process_due_uploads() == 3


def test_single_uploads_are_processed_before_bulk_uploads(agent, run_document):
    """Single uploads have a separate lane."""
    many = [run_document(50.0 + number) for number in range(MAX_INTERACTIVE_RUNS + 1)]
    submit_runs(agent=agent, documents=many)
    [alone] = submit_runs(agent=agent, documents=[run_document(70.0)])

    assert processing.process_due_uploads(is_bulk=False) == 1
    assert Run.objects.get(status=Run.Status.PARSED).pk == alone.run_id
    assert processing.process_due_uploads(is_bulk=True) == len(many)


def test_bulk_uploads_do_not_delay_single_uploads(agent, run_document, monkeypatch):
    monkeypatch.setattr(processing, "BURST_SAMPLES", 3)
    many = [run_document(50.0 + number) for number in range(MAX_INTERACTIVE_RUNS + 1)]
    submit_runs(agent=agent, documents=many)
    submit_runs(agent=agent, documents=[run_document(70.0)])

    assert processing.labs_in_burst(is_bulk=True) == [agent.lab_id]
    assert processing.process_due_uploads() == 1
