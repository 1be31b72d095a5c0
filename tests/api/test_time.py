"""/time/: the server's clocks, for guests whose own clocks are unreliable."""

import time

import pytest

from agents.timing.clocks import own_clocks
from agents.timing.time_client import (
    connect_time_server,
    interval_of,
    offset_of,
    take_stamp,
)
from api import server_info as time_module


def test_responses_have_both_clocks_and_the_nonce(anyone):
    before_us = time.time_ns() // 1000

    answer = anyone.get("time/", nonce="6f1f-a")

    told = answer.json()
    assert answer.status_code == 200
    assert told["nonce"] == "6f1f-a"
    assert before_us <= told["wall_us"] <= time.time_ns() // 1000
    assert 0 < told["monotonic_us"] <= time.monotonic_ns() // 1000


def test_responses_must_not_be_cached(anyone):
    assert anyone.get("time/").headers["Cache-Control"] == "no-store"


def test_all_processes_have_the_same_clock(anyone):
    first = anyone.get("time/").json()["clock_id"]
    time_module.clock_id.cache_clear()

    assert anyone.get("time/").json()["clock_id"] == first == own_clocks().name


@pytest.mark.parametrize("nonce", ["a b", "x" * 65, "ä", "<b>"])
def test_invalid_nonces_are_rejected(anyone, nonce):
    answer = anyone.get("time/", nonce=nonce)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_no_database_is_needed(anyone, django_assert_num_queries, db):
    with django_assert_num_queries(0):
        assert anyone.get("time/").status_code == 200


def test_agents_can_take_stamps(live_server):
    with connect_time_server(live_server.url) as asking:
        start = take_stamp(asking)
        end = take_stamp(asking)

    assert abs(offset_of(start).us) <= offset_of(start).bound_us
    assert interval_of(start, end).hard_bound_us < 5_000_000
