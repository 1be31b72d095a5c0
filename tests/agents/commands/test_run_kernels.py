"""run of our kernels: compiled, timed by a time server, sent like other output."""

import threading

import pytest

from agents.local_state import Enrolment, save_enrolment
from agents.measuring.command_lines import ToolOptions, tool_steps
from agents.timing.time_server import TimeServer
from benchmarks.parsing import run_extraction
from tests.agents.packed_agent import TOKEN


@pytest.fixture
def clock(home, server):
    """Start a time server and enroll the agent with it."""
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

    code, _, err = call("run", "virtlab-linpack", *words)

    (sent,) = server.stored.values()
    (run,) = run_extraction.extract_runs(sent["output"], tool=sent["tool"])
    assert code == 0, err
    assert sent["facts"]["execution"]["argv"][1:5] == (
        ["--budget-s", "1200", "--sizes", "300"]
    )
    assert run.facts["time server"].startswith(clock.partition("//")[2])
    assert len(run.readings) == 2 * 10 * 2


def test_budget_and_seconds_become_arguments_and_limits(home, compiled):
    (linpack,) = tool_steps("virtlab-linpack", ToolOptions(budget_s=60))
    (memory,) = tool_steps("virtlab-memory", ToolOptions(seconds=20))

    assert linpack.argv[1:3] == ["--budget-s", "60"]
    assert linpack.limit_s > 2 * 60
    assert memory.argv[1:3] == ["--seconds", "0.2"]
    assert memory.limit_s > 720 * 0.2 * 3


def test_missing_compiler_stops_before_any_run(
    call, clock, machine, server, monkeypatch
):
    monkeypatch.setenv("PATH", "/nowhere")

    code, _, err = call("run", "virtlab-memory", "--bits", "32")

    assert (code, server.stored) == (2, {})
    assert "virtlab-memory is not installed: apt install gcc" in err
