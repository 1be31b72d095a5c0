"""Delivery: the consequence of each response for a run."""

import json
import threading
import time
import uuid

import pytest

from agents import spool_delivery
from agents.client import Client, retry_pause_s
from agents.local_state import MeasuringLock
from agents.spool_delivery import send_spool
from tests.agents.packed_agent import TOKEN, await_true, problem


@pytest.fixture
def messages():
    return []


def save(spool, number=1):
    return [
        spool.save({"key": str(uuid.uuid4()), "output": f"Triad: {index}\n" * 50})
        for index in range(number)
    ]


def test_sent_run_is_removed(spool, client, server, messages):
    keys = save(spool, 3)

    delivery = send_spool(spool, client, messages.append)

    assert (delivery.sent, delivery.waiting_count, delivery.problem) == (3, 0, "")
    assert set(server.stored) == set(keys)
    assert spool.waiting() == []
    paths = [path for path, _, _ in server.requests]
    assert paths == ["/api/v1/runs/", "/api/v1/runs/bulk/"]
    assert messages[-1] == "sent 2 (3 of 3)"
    assert server.connections == 1


def test_file_is_the_request_body(spool, client, server, messages):
    (key,) = save(spool)
    body = spool.read(key)

    send_spool(spool, client, messages.append)

    assert server.requests[0][2] == body
    assert server.requests[0][1]["Content-Encoding"] == "gzip"


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_temporary_failure_keeps_the_run(spool, client, server, messages, status):
    keys = save(spool, 2)
    server.faults = [(status, {"Retry-After": "7"}, {})]

    delivery = send_spool(spool, client, messages.append)

    assert (delivery.sent, delivery.waiting_count, delivery.wait_s) == (0, 2, 7.0)
    assert str(status) in delivery.problem
    assert set(spool.waiting()) == set(keys)
    assert send_spool(spool, client, messages.append).sent == 2


def test_lost_response_is_retried_and_stored_once(spool, client, server, messages):
    (key,) = save(spool)
    server.faults = ["lose"]

    first = send_spool(spool, client, messages.append)
    assert (first.sent, spool.waiting()) == (0, [key])

    assert send_spool(spool, client, messages.append).sent == 1
    assert list(server.stored) == [key]
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 404, 409, 413, 415, 422])
def test_permanent_refusal_rejects_the_run_with_its_reason(
    spool, client, server, messages, status
):
    bad, good = save(spool, 2)
    answer = {"code": "wrong", "detail": "It is wrong.", "fields": {"output": ["No."]}}
    server.refused_keys[bad] = (status, answer)

    delivery = send_spool(spool, client, messages.append)

    assert (delivery.sent, delivery.rejected) == (1, 1)
    ((key, reason),) = spool.rejected().items()
    assert key == bad
    assert f"wrong (HTTP {status}): It is wrong." in reason
    assert '"No."' in reason
    assert list(server.stored) == [good]


def test_refused_token_rejects_no_run(spool, server, messages):
    keys = save(spool, 2)

    delivery = send_spool(spool, Client(server.url, "vl_wrong"), messages.append)

    assert delivery.token_refused
    assert delivery.problem == "Unknown token."
    assert set(spool.waiting()) == set(keys)
    assert len(server.requests) == 1


def test_foreign_page_removes_no_run(spool, client, server, messages):
    (key,) = save(spool)
    server.faults = ["page"]

    delivery = send_spool(spool, client, messages.append)

    assert "not from a Virtlab server" in delivery.problem
    assert spool.waiting() == [key]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_removes_no_run(spool, client, server, messages, status):
    (key,) = save(spool)
    server.faults = [(status, {"Location": server.url + "/api/v1/health/"}, {})]

    delivery = send_spool(spool, client, messages.append)

    assert (delivery.sent, delivery.rejected) == (0, 0)
    assert "not followed" in delivery.problem
    assert spool.waiting() == [key]
    assert len(server.requests) == 1


def test_unavailable_server_stops_the_pass(spool, messages):
    keys = save(spool, 2)

    delivery = send_spool(spool, Client("http://127.0.0.1:9", TOKEN), messages.append)

    assert (delivery.waiting_count, "refused" in delivery.problem) == (2, True)
    assert set(spool.waiting()) == set(keys)


def test_run_sent_by_another_process_is_skipped(
    spool, client, server, messages, monkeypatch
):
    save(spool)
    look = spool.peek
    gone = [(str(uuid.uuid4()), 10)]

    def look_once():
        (oldest, number), more = look(), gone[:]
        gone.clear()
        return [*oldest, *more], number

    monkeypatch.setattr(spool, "peek", look_once)

    delivery = send_spool(spool, client, messages.append)

    assert (delivery.rejected, delivery.problem) == (0, "")


def test_unwritable_rejection_keeps_the_run(
    spool, client, server, messages, monkeypatch
):
    (key,) = save(spool)
    server.refused_keys[key] = (422, problem("x", "No."))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "reject", full)

    assert "No space left" in send_spool(spool, client, messages.append).problem
    assert spool.waiting() == [key]


def test_refused_run_in_a_batch_is_isolated(spool, client, server, messages):
    keys = save(spool, 30)
    answer = {"code": "wrong", "detail": "It is wrong.", "fields": {}}
    for bad in keys[3], keys[17]:
        server.refused_keys[bad] = (422, answer)

    delivery = send_spool(spool, client, messages.append)

    assert (delivery.sent, delivery.rejected, delivery.problem) == (28, 2, "")
    assert set(spool.rejected()) == {keys[3], keys[17]}
    assert set(server.stored) == set(keys) - {keys[3], keys[17]}
    assert server.connections == 1


def test_power_and_runs_have_their_own_urls(spool, client, server, messages):
    for kind in ("", ".power", "", "", ".power", "", ""):
        spool.save({"key": str(uuid.uuid4())}, kind)
        time.sleep(0.01)

    assert send_spool(spool, client, messages.append).sent == 7

    paths = [path.removeprefix("/api/v1/") for path, _, _ in server.requests]
    assert paths == ["runs/", "power/", "runs/bulk/", "power/", "runs/bulk/"]


def test_response_about_other_runs_removes_none(spool, client, server, messages):
    save(spool, 1)
    assert send_spool(spool, client, messages.append).sent == 1
    keys = save(spool, 3)
    other = {"runs": [{"key": str(uuid.uuid4())}] * 2}
    server.faults = [None, (202, {}, other)]

    delivery = send_spool(spool, client, messages.append)

    assert (delivery.sent, delivery.waiting_count) == (1, 2)
    assert "not from a Virtlab server" in delivery.problem
    assert set(spool.waiting()) < set(keys)


def test_unremovable_run_is_not_sent_repeatedly(
    spool, client, server, messages, monkeypatch
):
    save(spool, 1)

    def denied(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(spool, "remove", denied)

    delivery = send_spool(spool, client, messages.append)

    assert "cannot be removed" in delivery.problem
    assert len(server.requests) == 1


def test_closed_connection_is_reopened(spool, client, server, messages):
    keys = save(spool, 30)
    server.faults = [None, "hang up", None, "hang up"]

    delivery = send_spool(spool, client, messages.append)

    assert (delivery.sent, delivery.problem) == (30, "")
    assert set(server.stored) == set(keys)
    assert server.connections == 3


def test_nothing_is_sent_while_measuring(spool, client, server, messages, home):
    save(spool, 400)
    sender = threading.Thread(target=send_spool, args=(spool, client, messages.append))
    server.slow_s = 0.05

    sender.start()
    await_true(lambda: server.requests)
    with MeasuringLock():
        before = len(server.requests)
        stored = sum(map(len, server.stored))
        sender.join(10)
        later = send_spool(spool, client, messages.append)
        assert stored == sum(map(len, server.stored))
        assert len(server.requests) == before

    assert later.problem == spool_delivery.MEASUREMENT_RUNNING
    assert later.waiting_count == len(spool.waiting()) > 0
    assert send_spool(spool, client, messages.append).waiting_count == 0
    assert len(server.stored) == 400


def test_measurement_waits_for_the_current_request(
    spool, client, server, messages, home
):
    save(spool, 1)
    server.slow_s = 0.5
    sender = threading.Thread(target=send_spool, args=(spool, client, messages.append))

    sender.start()
    await_true(lambda: server.requests)
    with MeasuringLock():
        assert len(server.stored) == 1

    sender.join(10)


def test_hanging_server_does_not_block_measuring(
    spool, client, server, messages, home, monkeypatch
):
    monkeypatch.setattr("agents.local_state.MAX_WAIT_S", 0.2)
    save(spool, 1)
    server.slow_s = 2.0
    sender = threading.Thread(target=send_spool, args=(spool, client, messages.append))

    sender.start()
    await_true(lambda: server.requests)
    with MeasuringLock():
        assert server.stored == {}

    sender.join(10)


def test_two_senders_do_not_block_each_other(spool, client, server, messages, home):
    save(spool, 60)
    url, senders = server.url, []
    for _ in range(4):
        index = Client(url, TOKEN)
        senders.append(
            threading.Thread(
                target=lambda index=index: done.append(
                    send_spool(spool, index, messages.append)
                )
            )
        )
    done = []

    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(20)

    assert [delivery.problem for delivery in done] == [""] * 4
    assert len(server.stored) == 60


LIMITS = (spool_delivery.MIN_PAUSE_S, spool_delivery.MAX_PAUSE_S)


def test_pauses_double_to_a_minute_with_random_half():
    pauses = [retry_pause_s(3, 0, *LIMITS) for _ in range(200)]

    assert 4 <= min(pauses) < 5.5 < 6.5 < max(pauses) <= 8
    assert retry_pause_s(1000, 0, *LIMITS) <= spool_delivery.MAX_PAUSE_S
    assert retry_pause_s(0, 30, *LIMITS) == 30


def test_agents_retry_at_different_times():
    pauses = sorted(retry_pause_s(5, 0, *LIMITS) for _ in range(100))

    assert pauses[75] - pauses[25] > 4


def test_body_is_the_documents_json(spool):
    (key,) = save(spool)

    assert json.loads(spool.read(key))["key"] == key
