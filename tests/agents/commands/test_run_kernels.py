"""run of our own kernels: compiled, timed from outside, sent as everyone's output."""

import threading

import pytest

from agents.home import Enrolment, save_enrolment
from agents.measuring.runners import Wishes, steps_of
from agents.timing.server import TimeServer
from benchmarks.parsing import reading
from tests.agents.stage import TOKEN


@pytest.fixture
def clock(home, server):
    """A time server that the agent is enrolled with."""
    clock = TimeServer("127.0.0.1", 0)
    thread = threading.Thread(target=clock.serve, daemon=True)
    thread.start()
    address = f"tcp://127.0.0.1:{clock.port}"
    save_enrolment(Enrolment(server.url, TOKEN, "study", "alpha", address))
    yield address
    clock.stop()
    thread.join()
    clock.close()


def test_linpack_is_compiled_run_and_sent(call, clock, machine, server):
    words = ("--sizes", "300", "--repetitions", "1", "--warm-up", "0")

    code, _, said = call("run", "virtlab-linpack", *words)

    (sent,) = server.stored.values()
    (run,) = reading.read(sent["output"], tool=sent["tool"])
    assert code == 0, said
    assert sent["facts"]["execution"]["argv"][1:5] == (
        ["--budget-s", "1200", "--sizes", "300"]
    )
    assert run.facts["time server"].startswith(clock.partition("//")[2])
    assert len(run.readings) == 2 * 10 * 2


def test_budget_and_seconds_become_words_and_limits(home, compiled):
    (linpack,) = steps_of("virtlab-linpack", Wishes(budget_s=60))
    (memory,) = steps_of("virtlab-memory", Wishes(seconds=20))

    assert linpack.argv[1:3] == ["--budget-s", "60"]
    assert linpack.limit_s > 2 * 60
    assert memory.argv[1:3] == ["--seconds", "0.2"]
    assert memory.limit_s > 720 * 0.2 * 3


def test_a_missing_compiler_is_said_before_anything_runs(
    call, clock, machine, server, monkeypatch
):
    monkeypatch.setenv("PATH", "/nowhere")

    code, _, said = call("run", "virtlab-memory", "--bits", "32")

    assert (code, server.stored) == (2, {})
    assert "virtlab-memory is not installed: apt install gcc" in said
