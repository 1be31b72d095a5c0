"""Sending: what each answer means for a run."""

import json
import threading
import time
import uuid

import pytest

from agents import sending
from agents.client import Client, pause_s
from agents.home import Quiet
from agents.sending import deliver
from tests.agents.stage import TOKEN, await_true, problem


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
    paths = [path for path, _, _ in server.requests]
    assert paths == ["/api/v1/runs/", "/api/v1/runs/bulk/"]
    assert said[-1] == "sent 2 (3 of 3)"
    assert server.connections == 1


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
    ((key, reason),) = spool.rejected().items()
    assert key == bad
    assert f"wrong (HTTP {status}): It is wrong." in reason
    assert '"No."' in reason
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
    save(spool)
    look = spool.look
    gone = [(str(uuid.uuid4()), 10)]

    def look_once():
        (oldest, number), more = look(), gone[:]
        gone.clear()
        return [*oldest, *more], number

    monkeypatch.setattr(spool, "look", look_once)

    delivery = deliver(spool, client, said.append)

    assert (delivery.rejected, delivery.trouble) == (0, "")


def test_a_rejection_that_cannot_be_written_leaves_the_run(
    spool, client, server, said, monkeypatch
):
    (key,) = save(spool)
    server.refused_keys[key] = (422, problem("x", "No."))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "reject", full)

    assert "No space left" in deliver(spool, client, said.append).trouble
    assert spool.waiting() == [key]


def test_a_refused_run_among_many_is_found_and_the_others_arrive(
    spool, client, server, said
):
    keys = save(spool, 30)
    answer = {"code": "wrong", "detail": "It is wrong.", "fields": {}}
    for bad in keys[3], keys[17]:
        server.refused_keys[bad] = (422, answer)

    delivery = deliver(spool, client, said.append)

    assert (delivery.sent, delivery.rejected, delivery.trouble) == (28, 2, "")
    assert set(spool.rejected()) == {keys[3], keys[17]}
    assert set(server.stored) == set(keys) - {keys[3], keys[17]}
    assert server.connections == 1


def test_power_and_runs_go_each_to_its_address(spool, client, server, said):
    for kind in ("", ".power", "", "", ".power", "", ""):
        spool.save({"key": str(uuid.uuid4())}, kind)
        time.sleep(0.01)

    assert deliver(spool, client, said.append).sent == 7

    paths = [path.removeprefix("/api/v1/") for path, _, _ in server.requests]
    assert paths == ["runs/", "power/", "runs/bulk/", "power/", "runs/bulk/"]


def test_an_answer_about_other_runs_takes_none(spool, client, server, said):
    save(spool, 1)
    assert deliver(spool, client, said.append).sent == 1
    keys = save(spool, 3)
    other = {"runs": [{"key": str(uuid.uuid4())}] * 2}
    server.faults = [None, (202, {}, other)]

    delivery = deliver(spool, client, said.append)

    assert (delivery.sent, delivery.left) == (1, 2)
    assert "not a Virtlab server" in delivery.trouble
    assert set(spool.waiting()) < set(keys)


def test_what_cannot_be_removed_is_not_sent_for_ever(
    spool, client, server, said, monkeypatch
):
    save(spool, 1)

    def denied(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(spool, "remove", denied)

    delivery = deliver(spool, client, said.append)

    assert "cannot be removed" in delivery.trouble
    assert len(server.requests) == 1


def test_a_connection_that_the_server_ended_meanwhile_is_made_anew(
    spool, client, server, said
):
    keys = save(spool, 30)
    server.faults = [None, "hang up", None, "hang up"]

    delivery = deliver(spool, client, said.append)

    assert (delivery.sent, delivery.trouble) == (30, "")
    assert set(server.stored) == set(keys)
    assert server.connections == 3


def test_nothing_is_sent_while_somebody_measures(spool, client, server, said, home):
    save(spool, 400)
    sender = threading.Thread(target=deliver, args=(spool, client, said.append))
    server.slow_s = 0.05

    sender.start()
    await_true(lambda: server.requests)
    with Quiet():
        before = len(server.requests)
        answered = sum(map(len, server.stored))
        sender.join(10)
        later = deliver(spool, client, said.append)
        assert answered == sum(map(len, server.stored))
        assert len(server.requests) == before

    assert later.trouble == sending.MEASURED
    assert later.left == len(spool.waiting()) > 0
    assert deliver(spool, client, said.append).left == 0
    assert len(server.stored) == 400


def test_who_measures_waits_until_what_is_being_sent_is_sent(
    spool, client, server, said, home
):
    save(spool, 1)
    server.slow_s = 0.5
    sender = threading.Thread(target=deliver, args=(spool, client, said.append))

    sender.start()
    await_true(lambda: server.requests)
    with Quiet():
        assert len(server.stored) == 1

    sender.join(10)


def test_a_server_that_hangs_holds_up_nobody_who_measures(
    spool, client, server, said, home, monkeypatch
):
    monkeypatch.setattr("agents.home.MOST_WAIT_S", 0.2)
    save(spool, 1)
    server.slow_s = 2.0
    sender = threading.Thread(target=deliver, args=(spool, client, said.append))

    sender.start()
    await_true(lambda: server.requests)
    with Quiet():
        assert server.stored == {}

    sender.join(10)


def test_two_who_send_do_not_take_each_other_for_measuring(
    spool, client, server, said, home
):
    save(spool, 60)
    url, senders = server.url, []
    for _ in range(4):
        each = Client(url, TOKEN)
        senders.append(
            threading.Thread(
                target=lambda each=each: done.append(deliver(spool, each, said.append))
            )
        )
    done = []

    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(20)

    assert [delivery.trouble for delivery in done] == [""] * 4
    assert len(server.stored) == 60


LIMITS = (sending.SHORTEST_PAUSE_S, sending.LONGEST_PAUSE_S)


def test_pauses_double_to_a_minute_and_half_of_them_is_chance():
    pauses = [pause_s(3, 0, *LIMITS) for _ in range(200)]

    assert 4 <= min(pauses) < 5.5 < 6.5 < max(pauses) <= 8
    assert pause_s(1000, 0, *LIMITS) <= sending.LONGEST_PAUSE_S
    assert pause_s(0, 30, *LIMITS) == 30


def test_many_agents_do_not_come_back_together():
    pauses = sorted(pause_s(5, 0, *LIMITS) for _ in range(100))

    assert pauses[75] - pauses[25] > 4


def test_a_body_is_json_of_the_document(spool):
    (key,) = save(spool)

    assert json.loads(spool.read(key))["key"] == key
