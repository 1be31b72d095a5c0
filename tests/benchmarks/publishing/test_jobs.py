"""Studies that are to be published: asked for once, and given up some time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection

from benchmarks.models import Job, PublishingJob, Version
from benchmarks.publishing.making import note
from benchmarks.studies import checking
from benchmarks.unattended import queue
from dashboard.exports import publications
from tests import jobs, publishing


@pytest.fixture
def measured(study, submit, run_document):
    submit(run_document())
    checking.check_due_studies(timedelta(0))
    return study


@pytest.fixture
def requested(measured, person):
    return publishing.requested(measured, person)


def in_threads(*jobs):
    def done(job):
        try:
            return job()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as threads:
        return [each.result() for each in [threads.submit(done, job) for job in jobs]]


def test_one_under_way_is_not_asked_for_again(requested, measured, person):
    assert publishing.requested(measured, person) == requested


def test_it_may_be_asked_for_again_when_it_is_over(requested, measured, person):
    note(jobs.taken(requested), "failed", problem="No.")

    assert publishing.requested(measured, person) != requested
    assert jobs.waiting("publishing").count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_in_one_instant_get_one(measured, person):
    ask = partial(publishing.requested, measured, person)

    assert len(set(in_threads(*[ask] * 4))) == 1


def test_one_that_stops_every_worker_is_given_up_with_a_reason(requested):
    # A death is counted when the job is next looked at, and it waits after that.
    for _ in range(2 * queue.QUARANTINE_AFTER):
        queue._claim("publishing", requested.pk)
        jobs.make_due()
    assert not queue._claim("publishing", requested.pk)

    requested.refresh_from_db()
    assert requested.stage == "failed"
    assert f"stopped its worker {queue.QUARANTINE_AFTER} times" in requested.problem
    assert not Version.objects.exists()


def test_a_maker_that_was_taken_for_dead_notes_nothing(requested):
    slow = jobs.taken(requested)
    jobs.taken(requested)

    note(slow, "failed", problem="No.")

    assert PublishingJob.objects.get().stage == "collecting"


def test_one_that_this_program_failed_is_known_and_tried_again(
    requested, measured, monkeypatch
):
    def fail(**given):
        raise OSError("disk full")

    monkeypatch.setattr(publications, "publish_version", fail)
    queue.run("publishing", requested.pk)

    work = jobs.failed().get()
    assert (work.subject_id, work.study) == (requested.pk, measured)
    assert work.quarantined_at
    requested.refresh_from_db()
    assert requested.stage == "failed"
    assert "could not be written" in requested.problem

    assert queue.retry(Job.objects.all()) == 1
    Job.objects.update(hinted_at=None)
    assert queue.to_be_sent() == [("publishing", requested.pk)]
    assert jobs.taken(requested).stage == "collecting"


def test_one_that_is_asked_for_anew_takes_the_place_of_one_that_failed(
    requested, measured, person
):
    queue._fail("publishing", jobs.waiting("publishing"), "OSError", timedelta(0), 1)

    publishing.requested(measured, person)

    assert not jobs.failed().exists()
