"""The memory of each command of the packed agent, and its cost while idle."""

import time

import pytest

from agents.__main__ import COMMANDS
from agents.client import Client
from agents.spool_delivery import SpoolWatcher
from tests.agents.packed_agent import AWAY, LIMIT_BYTES, TOKEN, bare_bytes, staged

LIMIT_IDLE = 0.001
SENDING = {"run", "plan", "push", "power", "watch"}


@pytest.fixture
def stage(tmp_path):
    with staged(tmp_path) as stage:
        yield stage


@pytest.fixture(scope="module")
def bare():
    return bare_bytes()


# `telemetry` reads counters that only a Hyper-V host has; `check` loads all readers, on
# a workstation rather than in a guest.
HERE = [name for name, _ in COMMANDS if name not in {"telemetry", "check"}]


@pytest.mark.parametrize("command", HERE)
def test_working_command_needs_18_mb_more_than_python(stage, bare, command):
    cost = stage.own_cost(command)

    assert cost.exit_code == 0, cost.printed
    assert 0 < cost.resident_bytes - bare < LIMIT_BYTES
    assert bool(stage.server.stored) is (command in SENDING)


def looked(watch, number):
    """Return the processor time of this many checks, and the time between them."""
    began_s = time.process_time()
    pauses_s = sum(watch.send_waiting() for _ in range(number))
    return time.process_time() - began_s, pauses_s


def test_watch_is_idle_with_an_empty_spool(spool, client):
    used_s, pauses_s = looked(SpoolWatcher(spool, client, print), 200)

    assert used_s / pauses_s < LIMIT_IDLE


def test_watch_is_idle_while_the_server_is_away(spool):
    spool.save({"key": "00000000-0000-4000-8000-000000000000"})
    watch = SpoolWatcher(spool, Client(AWAY, TOKEN), print)

    used_s, pauses_s = looked(watch, 30)

    assert pauses_s > 30 * 5
    assert used_s / pauses_s < LIMIT_IDLE
