"""Campaigns that are to be frozen: asked for once, found again, given up some time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.utils import timezone

from benchmarks.models import Freezing, Snapshot
from benchmarks.publishing.jobs import (
    MOST_ATTEMPTS,
    UNTAKEN,
    note_failure,
    note_stage,
    revive_freezings,
    take_freezing,
)
from benchmarks.publishing.locks import UNHELD, held
from benchmarks.studies import checking
from tests import freezing


@pytest.fixture
def measured(campaign, submit, run_document):
    submit(run_document())
    checking.check_due_campaigns(timedelta(0))
    return campaign


@pytest.fixture
def asked(measured, person):
    return freezing.asked(measured, person)


def age(by):
    Freezing.objects.update(seen_at=timezone.now() - 2 * by)


def in_threads(*jobs):
    def done(job):
        try:
            return job()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as threads:
        return [each.result() for each in [threads.submit(done, job) for job in jobs]]


def test_one_that_is_being_frozen_is_not_asked_for_again(asked, measured, person):
    assert freezing.asked(measured, person) == asked


def test_it_may_be_asked_for_again_when_it_is_over(asked, measured, person):
    note_failure(freezing=asked, problem="No.")

    assert freezing.asked(measured, person) != asked


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_in_one_instant_get_one(measured, person):
    ask = partial(freezing.asked, measured, person)

    assert len(set(in_threads(*[ask] * 4))) == 1


@pytest.mark.django_db(transaction=True)
def test_it_is_begun_once(asked):
    begun = in_threads(*[partial(take_freezing, asked.pk)] * 4)

    assert [each.attempts for each in begun if each] == [1]


def test_one_whose_hint_was_lost_is_sent_again_after_a_while(asked):
    assert revive_freezings() == []
    age(UNTAKEN)

    assert revive_freezings() == [asked.pk]
    assert revive_freezings() == []


@pytest.mark.django_db(transaction=True)
def test_one_in_hand_is_left_alone_and_one_whose_maker_died_is_not(asked):
    taken = take_freezing(asked.pk)
    age(UNHELD)

    with held(Freezing, taken.pk):
        assert in_threads(revive_freezings) == [[]]
    assert in_threads(revive_freezings) == [[taken.pk]]
    assert take_freezing(taken.pk).attempts == 2


@pytest.mark.django_db(transaction=True)
def test_only_one_has_it_in_hand(asked):
    def is_mine():
        with held(Freezing, asked.pk) as mine:
            return mine

    with held(Freezing, asked.pk):
        assert in_threads(is_mine) == [False]
    assert in_threads(is_mine) == [True]


def test_one_that_stops_every_worker_is_given_up_with_a_reason(asked):
    for _ in range(MOST_ATTEMPTS):
        take_freezing(asked.pk)
        age(UNHELD)
        revive_freezings()

    found = Freezing.objects.get()
    assert (found.stage, found.attempts) == ("failed", MOST_ATTEMPTS)
    assert f"stopped its worker {MOST_ATTEMPTS} times" in found.problem
    assert not Snapshot.objects.exists()


def test_a_maker_that_was_taken_for_dead_notes_nothing(asked):
    slow = take_freezing(asked.pk)
    note_stage(freezing=slow, stage="waiting")
    take_freezing(asked.pk)

    note_failure(freezing=slow, problem="No.")

    assert Freezing.objects.get().stage == "collecting"
