"""What each command of the packed agent holds in memory, and costs while it rests."""

import time

import pytest

from agents.__main__ import COMMANDS
from agents.client import Client
from agents.sending import Watch
from tests.agents.stage import AWAY, LIMIT_BYTES, TOKEN, bare_bytes, staged

LIMIT_IDLE = 0.001
SENDING = {"run", "plan", "push", "power", "watch"}


@pytest.fixture
def stage(tmp_path):
    with staged(tmp_path) as stage:
        yield stage


@pytest.fixture(scope="module")
def bare():
    return bare_bytes()


# `telemetry` reads what only the host of Hyper-V counts.
HERE = [name for name, _ in COMMANDS if name != "telemetry"]


@pytest.mark.parametrize("command", HERE)
def test_a_command_at_work_holds_18_mb_more_than_a_bare_python(stage, bare, command):
    cost = stage.own_cost(command)

    assert cost.exit_code == 0, cost.printed
    assert 0 < cost.resident_bytes - bare < LIMIT_BYTES
    assert bool(stage.server.stored) is (command in SENDING)


def looked(watch, number):
    """The processor time of so many looks, and the time they wait in between."""
    began_s = time.process_time()
    pauses_s = sum(watch.look() for _ in range(number))
    return time.process_time() - began_s, pauses_s


def test_watch_rests_while_nothing_waits(spool, client):
    used_s, pauses_s = looked(Watch(spool, client, print), 200)

    assert used_s / pauses_s < LIMIT_IDLE


def test_watch_rests_while_the_server_is_away(spool):
    spool.save({"key": "00000000-0000-4000-8000-000000000000"})
    watch = Watch(spool, Client(AWAY, TOKEN), print)

    used_s, pauses_s = looked(watch, 30)

    assert pauses_s > 30 * 5
    assert used_s / pauses_s < LIMIT_IDLE
