"""Every saved run arrives exactly once, despite kills and failures.

A process saves and sends runs. It is killed with SIGKILL at random times while the
server fails, loses responses and goes away. VIRTLAB_TEST_KILLS=50
VIRTLAB_TEST_RUNS=2000 runs the long test.
"""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from pathlib import Path

import pytest

from agents.client import Client
from agents.spool import Spool
from agents.spool_delivery import send_spool
from tests.agents.conftest import serving
from tests.agents.packed_agent import TOKEN, KeepingServer

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("VIRTLAB_TEST_KILLS", "10"))
RUNS = int(os.environ.get("VIRTLAB_TEST_RUNS", "100"))

WORKER = f"""
    import random, sys, uuid
    from agents.client import Client
    from agents.spool_delivery import send_spool
    from agents.spool import Spool

    folder, url, first = sys.argv[1:]
    spool = Spool(folder)
    client = Client(url, "{TOKEN}")
    chance = random.Random(first)
    for serial in range(int(first), int(first) + 10000):
        note = "run %d" % serial
        size = chance.choice((10, 1000, 200000))
        spool.save({{"key": str(uuid.uuid4()), "note": note, "output": "x" * size}})
        print(note, flush=True)  # from here on it must not get lost
        if chance.random() < 0.4:
            send_spool(spool, client, lambda sentence: None)
"""


@pytest.fixture
def faulty():
    """A server with random faults for the next thousand requests."""
    server = KeepingServer()
    chance = random.Random(8)
    troubles = [None, None, None, None, "lose", "page", 503, 500, 429]
    server.faults = [chance.choice(troubles) for _ in range(1000)]
    yield from serving(server)


def saved_until_killed(folder, url, first, after_s):
    """Start the worker and kill it some time after two saves; return what it claims to
    have saved.
    """
    program = [sys.executable, "-c", textwrap.dedent(WORKER), folder, url, str(first)]
    with subprocess.Popen(
        program, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as worker:
        claims = [worker.stdout.readline().strip() for _ in range(2)]
        time.sleep(after_s)
        worker.send_signal(signal.SIGKILL)
        claims += worker.stdout.read().splitlines()
    assert worker.returncode == -signal.SIGKILL
    return {claim for claim in claims if claim}


def test_kill_9_loses_and_duplicates_nothing(tmp_path, faulty):
    chance = random.Random(9)
    claimed = set()

    for kill in range(KILLS):
        after_s = chance.uniform(0, 0.08)
        first = kill * 10_000
        claimed |= saved_until_killed(str(tmp_path), faulty.url, first, after_s)

    stored = drained(tmp_path, faulty)
    print(f"{KILLS} kills, {len(claimed)} saved, {len(stored)} stored,", end=" ")
    print(f"{len(faulty.requests)} requests")
    assert claimed <= set(stored)
    assert len(stored) == len(set(stored))
    assert len(claimed) > KILLS


def drained(folder, server):
    """Send the remaining runs; return the notes of all runs on the server."""
    spool, client = Spool(str(folder)), Client(server.url, TOKEN)
    for _ in range(5000):
        if not spool.waiting():
            break
        send_spool(spool, client, lambda _: None)
    assert (spool.waiting(), spool.rejected()) == ([], {})
    return [document["note"] for document in server.stored.values()]


def test_runs_saved_while_offline_all_arrive(tmp_path, server):
    spool = Spool(str(tmp_path))
    keys = [
        spool.save({"key": str(uuid.uuid4()), "note": str(number)})
        for number in range(RUNS)
    ]
    yesterday = time.time() - 86400
    for key in keys[::2]:
        os.utime(spool.path(key), (yesterday, yesterday))

    notes = drained(tmp_path, server)

    assert sorted(notes, key=int) == [str(number) for number in range(RUNS)]
    # 1, 4, 16, 64 and then 200 runs per request.
    assert len(server.requests) <= 5 + RUNS // 200
