"""Publishing jobs: one per study, retried, and given up."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection

from benchmarks.jobs import queue
from benchmarks.models import Job, PublishingJob, Version
from benchmarks.publishing.generation_requests import set_stage
from benchmarks.studies import checking
from dashboard.exports import version_and_review_files
from tests import job_queue
from tests import publications as test_publications


@pytest.fixture
def measured(study, submit, run_document):
    submit(run_document())
    checking.check_due_studies(timedelta(0))
    return study


@pytest.fixture
def requested(measured, person):
    return test_publications.requested(measured, person)


def in_threads(*jobs):
    def done(job):
        try:
            return job()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as threads:
        return [item.result() for item in [threads.submit(done, job) for job in jobs]]


def test_unfinished_request_is_returned_again(requested, measured, person):
    assert test_publications.requested(measured, person) == requested


def test_finished_request_can_be_repeated(requested, measured, person):
    set_stage(job_queue.claim(requested), "failed", problem="No.")

    assert test_publications.requested(measured, person) != requested
    assert job_queue.waiting("publishing").count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_give_one_job(measured, person):
    ask = partial(test_publications.requested, measured, person)

    assert len(set(in_threads(*[ask] * 4))) == 1


def test_request_that_kills_workers_fails_with_a_reason(requested):
    # A death is counted at the next claim; then the job waits.
    for _ in range(2 * queue.QUARANTINE_AFTER):
        queue._claim("publishing", requested.pk)
        job_queue.make_due()
    assert not queue._claim("publishing", requested.pk)

    requested.refresh_from_db()
    assert requested.stage == "failed"
    assert f"stopped its worker {queue.QUARANTINE_AFTER} times" in requested.problem
    assert not Version.objects.exists()


def test_superseded_worker_stores_nothing(requested):
    slow = job_queue.claim(requested)
    job_queue.claim(requested)

    set_stage(slow, "failed", problem="No.")

    assert PublishingJob.objects.get().stage == "collecting"


def test_internal_error_is_reported_and_retried(requested, measured, monkeypatch):
    def fail(**given):
        raise OSError("disk full")

    monkeypatch.setattr(version_and_review_files, "publish_version", fail)
    queue.run_due_jobs("publishing", requested.pk)

    work = job_queue.failed().get()
    assert (work.subject_id, work.study) == (requested.pk, measured)
    assert work.quarantined_at
    requested.refresh_from_db()
    assert requested.stage == "failed"
    assert "could not be written" in requested.problem

    assert queue.retry_failed(Job.objects.all()) == 1
    Job.objects.update(dispatched_at=None)
    assert queue.partitions_to_dispatch() == [("publishing", requested.pk)]
    assert job_queue.claim(requested).stage == "collecting"


def test_new_request_replaces_a_failed_one(requested, measured, person):
    queue._store_failure(
        "publishing", job_queue.waiting("publishing"), "OSError", timedelta(0), 1
    )

    test_publications.requested(measured, person)

    assert not job_queue.failed().exists()
