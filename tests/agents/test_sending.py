"""Sending: what each answer means for a run."""

import json
import uuid

import pytest

from agents import sending
from agents.client import Client
from agents.sending import deliver, pause_s
from bench.stage import TOKEN


@pytest.fixture
def said():
    return []


def save(spool, number=1):
    return [
        spool.save({"key": str(uuid.uuid4()), "output": f"Triad: {each}\n" * 50})
        for each in range(number)
    ]


def test_what_was_sent_is_on_the_server_and_no_longer_here(spool, client, server, said):
    keys = save(spool, 3)

    delivery = deliver(spool, client, said.append)

    assert (delivery.sent, delivery.left, delivery.trouble) == (3, 0, "")
    assert set(server.stored) == set(keys)
    assert spool.waiting() == []
    assert [path for path, _, _ in server.requests] == ["/api/v1/runs/"] * 3
    assert said[-1].endswith("(3 of 3)")


def test_the_file_is_the_body(spool, client, server, said):
    (key,) = save(spool)
    body = spool.read(key)

    deliver(spool, client, said.append)

    assert server.requests[0][2] == body
    assert server.requests[0][1]["Content-Encoding"] == "gzip"


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_leaves_the_run_waiting(spool, client, server, said, status):
    keys = save(spool, 2)
    server.faults = [(status, {"Retry-After": "7"}, {})]

    delivery = deliver(spool, client, said.append)

    assert (delivery.sent, delivery.left, delivery.wait_s) == (0, 2, 7.0)
    assert str(status) in delivery.trouble
    assert set(spool.waiting()) == set(keys)
    assert deliver(spool, client, said.append).sent == 2


def test_an_answer_that_got_lost_is_asked_for_again_and_stored_once(
    spool, client, server, said
):
    (key,) = save(spool)
    server.faults = ["lose"]

    first = deliver(spool, client, said.append)
    assert (first.sent, spool.waiting()) == (0, [key])

    assert deliver(spool, client, said.append).sent == 1
    assert list(server.stored) == [key]
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 404, 409, 413, 415, 422])
def test_what_will_never_pass_is_laid_aside_with_its_reason(
    spool, client, server, said, status
):
    bad, good = save(spool, 2)
    answer = {"code": "wrong", "detail": "It is wrong.", "fields": {"output": ["No."]}}
    server.refused_keys[bad] = (status, answer)

    delivery = deliver(spool, client, said.append)

    assert (delivery.sent, delivery.rejected) == (1, 1)
    (rejected,) = spool.rejected()
    assert rejected.key == bad
    assert f"wrong (HTTP {status}): It is wrong." in rejected.reason
    assert '"No."' in rejected.reason
    assert list(server.stored) == [good]


def test_a_refused_token_rejects_no_run(spool, server, said):
    keys = save(spool, 2)

    delivery = deliver(spool, Client(server.url, "vl_wrong"), said.append)

    assert delivery.token_refused
    assert delivery.trouble == "Unknown token."
    assert set(spool.waiting()) == set(keys)
    assert len(server.requests) == 1


def test_a_page_that_is_not_our_server_takes_no_run(spool, client, server, said):
    (key,) = save(spool)
    server.faults = ["page"]

    delivery = deliver(spool, client, said.append)

    assert "not a Virtlab server" in delivery.trouble
    assert spool.waiting() == [key]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_takes_no_run(spool, client, server, said, status):
    (key,) = save(spool)
    server.faults = [(status, {"Location": server.url + "/api/v1/health/"}, {})]

    delivery = deliver(spool, client, said.append)

    assert (delivery.sent, delivery.rejected) == (0, 0)
    assert "not followed" in delivery.trouble
    assert spool.waiting() == [key]
    assert len(server.requests) == 1


def test_a_server_that_is_away_stops_the_round(spool, said):
    keys = save(spool, 2)

    delivery = deliver(spool, Client("http://127.0.0.1:9", TOKEN), said.append)

    assert (delivery.left, "refused" in delivery.trouble) == (2, True)
    assert set(spool.waiting()) == set(keys)


def test_a_run_that_another_process_sent_meanwhile_is_fine(
    spool, client, server, said, monkeypatch
):
    (key,) = save(spool)
    monkeypatch.setattr(spool, "waiting", lambda: [key, str(uuid.uuid4())])

    delivery = deliver(spool, client, said.append)

    assert (delivery.rejected, delivery.trouble) == (0, "")


def test_a_rejection_that_cannot_be_written_leaves_the_run(
    spool, client, server, said, monkeypatch
):
    (key,) = save(spool)
    server.refused_keys[key] = (422, {"code": "x", "detail": "No."})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "reject", full)

    assert "No space left" in deliver(spool, client, said.append).trouble
    assert spool.waiting() == [key]


def test_pauses_double_to_a_minute_and_half_of_them_is_chance():
    pauses = [pause_s(3, 0) for _ in range(200)]

    assert 4 <= min(pauses) < 5.5 < 6.5 < max(pauses) <= 8
    assert pause_s(1000, 0) <= sending.LONGEST_PAUSE_S
    assert pause_s(0, 30) == 30


def test_many_agents_do_not_come_back_together():
    pauses = sorted(pause_s(5, 0) for _ in range(100))

    assert pauses[75] - pauses[25] > 4


def test_a_body_is_json_of_the_document(spool):
    (key,) = save(spool)

    assert json.loads(spool.read(key))["key"] == key
