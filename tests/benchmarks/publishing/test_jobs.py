"""Studies that are to be published: asked for once, found again, given up some time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.utils import timezone

from benchmarks.models import PublishingJob, UnfinishedWork, Version
from benchmarks.publishing.jobs import (
    MOST_ATTEMPTS,
    UNHELD,
    UNTAKEN,
    held,
    note_broken,
    note_failure,
    note_stage,
    requeue_publishing_jobs,
    take_publishing_job,
)
from benchmarks.sentences import Sentence
from benchmarks.studies import checking
from benchmarks.unattended.attempts import retry
from tests import publishing


@pytest.fixture
def measured(study, submit, run_document):
    submit(run_document())
    checking.check_due_studies(timedelta(0))
    return study


@pytest.fixture
def requested(measured, person):
    return publishing.requested(measured, person)


def age(by):
    PublishingJob.objects.update(seen_at=timezone.now() - 2 * by)


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
    note_failure(job=requested, problem="No.")

    assert publishing.requested(measured, person) != requested


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_in_one_instant_get_one(measured, person):
    ask = partial(publishing.requested, measured, person)

    assert len(set(in_threads(*[ask] * 4))) == 1


@pytest.mark.django_db(transaction=True)
def test_it_is_begun_once(requested):
    begun = in_threads(*[partial(take_publishing_job, requested.pk)] * 4)

    assert [each.attempts for each in begun if each] == [1]


def test_one_whose_hint_was_lost_is_sent_again_after_a_while(requested):
    assert requeue_publishing_jobs() == []
    age(UNTAKEN)

    assert requeue_publishing_jobs() == [requested.pk]
    assert requeue_publishing_jobs() == []


@pytest.mark.django_db(transaction=True)
def test_one_in_hand_is_left_alone_and_one_whose_maker_died_is_not(requested):
    taken = take_publishing_job(requested.pk)
    age(UNHELD)

    with held(PublishingJob, taken.pk):
        assert in_threads(requeue_publishing_jobs) == [[]]
    assert in_threads(requeue_publishing_jobs) == [[taken.pk]]
    assert take_publishing_job(taken.pk).attempts == 2


@pytest.mark.django_db(transaction=True)
def test_only_one_has_it_in_hand(requested):
    def is_mine():
        with held(PublishingJob, requested.pk) as mine:
            return mine

    with held(PublishingJob, requested.pk):
        assert in_threads(is_mine) == [False]
    assert in_threads(is_mine) == [True]


def test_one_that_stops_every_worker_is_given_up_with_a_reason(requested):
    for _ in range(MOST_ATTEMPTS):
        take_publishing_job(requested.pk)
        age(UNHELD)
        requeue_publishing_jobs()

    job = PublishingJob.objects.get()
    assert (job.stage, job.attempts) == ("failed", MOST_ATTEMPTS)
    assert f"stopped its worker {MOST_ATTEMPTS} times" in job.problem
    assert not Version.objects.exists()


def test_a_maker_that_was_taken_for_dead_notes_nothing(requested):
    slow = take_publishing_job(requested.pk)
    note_stage(job=slow, stage="waiting")
    take_publishing_job(requested.pk)

    note_failure(job=slow, problem="No.")

    assert PublishingJob.objects.get().stage == "collecting"


def test_one_that_this_program_failed_is_known_and_tried_again(requested, person):
    problem = Sentence("The files could not be written.")
    note_broken(job=requested, problem=problem, error="OSError: disk full")

    work = UnfinishedWork.objects.get()
    assert (work.kind, work.job) == ("publishing", requested)
    assert work.quarantined_at
    assert requeue_publishing_jobs() == []

    retry(UnfinishedWork.objects.all())
    assert requeue_publishing_jobs() == [requested.pk]
    assert not UnfinishedWork.objects.exists()
    requested.refresh_from_db()
    assert (requested.problem, requested.attempts) == ("", 0)


def test_one_that_is_asked_for_anew_takes_the_place_of_one_that_failed(
    requested, measured, person
):
    note_broken(job=requested, problem=Sentence("No."), error="OSError")

    publishing.requested(measured, person)

    assert not UnfinishedWork.objects.exists()
