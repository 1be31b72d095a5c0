"""run: simulated tools in real rounds."""

import json
import os
from pathlib import Path

import pytest

from agents.host_lock import FORCED, HostLock
from agents.local_state import open_spool
from agents.measuring import timed_run

REAL = Path(__file__).parents[2] / "data" / "hackbench" / "process.txt"


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Install a tool that runs a script."""

    def install(name, script):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    return install


@pytest.fixture
def run(call, enrolled, machine, tool):
    tool("hackbench", f"cat {REAL}")
    tool("sysbench", "echo sysbench 1.0.20; echo $@")
    return lambda *words: call("run", *words)


def stored_runs(server):
    runs = list(server.stored.values())
    return sorted(runs, key=lambda run: run["facts"]["order"]["sequence"])


def test_each_start_is_a_run_with_its_order(run, server):
    code, _, _ = run("hackbench", "--repetitions", "3")

    runs = stored_runs(server)
    assert code == 0
    assert [run["facts"]["order"]["repetition"] for run in runs] == [1, 2, 3]
    assert [run["facts"]["order"]["sequence"] for run in runs] == [2, 3, 4]
    assert {run["output"] for run in runs} == {REAL.read_text()}
    assert len({run["session"] for run in runs}) == 1
    assert {run["tool"] for run in runs} == {"hackbench"}


def test_rounds_repeat_all_steps(run, server):
    run("sysbench", "--repetitions", "2", "--warm-up", "0", "--seconds", "3")

    runs = stored_runs(server)
    steps = [run["facts"]["order"]["step"] for run in runs]
    assert steps == ["cpu", "memory", "threads"] * 2
    assert runs[0]["output"].endswith("cpu --threads=1 --time=3 run\n")
    assert runs[0]["tool_version"] == "sysbench 1.0.20"


def test_colon_selects_programs(run, server):
    code, _, _ = run("sysbench:memory,cpu", "--repetitions", "2", "--warm-up", "0")

    steps = [run["facts"]["order"]["step"] for run in stored_runs(server)]
    assert code == 0
    assert steps == ["memory", "cpu"] * 2


def test_unknown_program_stops_before_any_run(run, server):
    code, _, err = run("sysbench:disk")

    assert (code, server.stored) == (2, {})
    assert "sysbench has no program 'disk'. Choose from: cpu, memory, threads." in err


def test_rounds_can_be_shuffled(run, server):
    """With eight rounds of three steps, equal orders have a probability of 1 in
    280,000.
    """
    words = ("--repetitions", "8", "--warm-up", "0", "--order", "random")
    run("sysbench", *words)

    steps = [run["facts"]["order"]["step"] for run in stored_runs(server)]
    rounds = {tuple(steps[k : k + 3]) for k in range(0, 24, 3)}
    assert all(sorted(names) == ["cpu", "memory", "threads"] for names in rounds)
    assert len(rounds) > 1
    for stored in stored_runs(server):
        step = stored["facts"]["order"]["step"]
        assert stored["output"].split()[2] == step


def test_clock_depends_on_the_machine(run, server, machine):
    run("hackbench", "--repetitions", "1")
    machine()
    run("hackbench", "--repetitions", "1")

    assert [run["clock"] for run in server.stored.values()] == ["guest", "local"]


def test_run_facts_are_next_to_machine_facts(run, server):
    run("hackbench", "--repetitions", "1")

    facts = stored_runs(server)[0]["facts"]
    assert facts["platform"]["layers"] == ["kvm"]
    assert facts["execution"]["argv"] == ["hackbench", "-g", "1", "-l", "1000"]
    assert {"clock", "warnings"} <= facts.keys()


def test_failed_step_is_sent_as_failed_and_others_continue(run, server, tool):
    tool("sysbench", 'echo "no such thing" >&2; [ $1 = memory ] && exit 4; exit 0')

    code, _, err = run("sysbench", "--repetitions", "1", "--warm-up", "0")

    assert code == 1
    assert "sysbench memory ended with 4; the run does not count." in err
    assert "no such thing" in err
    sent = stored_runs(server)
    assert {run["facts"]["order"]["step"]: run.get("failed", "") for run in sent} == {
        "cpu": "",
        "memory": "ended with 4",
        "threads": "",
    }


def test_log_shows_progress(run):
    _, _, err = run("hackbench", "--repetitions", "1")

    assert "warm-up, step 1 of 1: hackbench process" in err
    assert "1 of 1, step 1 of 1: hackbench process" in err


def test_missing_options_stop_before_any_run(run, server, tmp_path, tool):
    tool("hackbench", f"touch {tmp_path}/ran")

    assert run("hackbench", "linpack")[0] == 2
    assert run("hackbench", "--option", "wrong")[0] == 2
    assert not (tmp_path / "ran").exists()


def test_later_saves_without_sending(run, server):
    assert run("hackbench", "--repetitions", "2", "--later")[0] == 0
    assert (server.stored, len(open_spool().waiting())) == ({}, 2)


def test_unwritable_folder_is_reported(call, home, monkeypatch):
    home.write_text("a file where the agent's folder should be")
    monkeypatch.setenv("VIRTLAB_SERVER", "http://127.0.0.1:9")
    monkeypatch.setenv("VIRTLAB_TOKEN", "vl_x_y")

    code, _, err = call("run", "virtlab-memory", "--study", "c", "--host", "h")

    assert (code, err) == (1, f"{home / 'kernels'}: Not a directory\n")


def test_all_missing_tools_are_named(call, enrolled, machine, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)

    code, _, err = call("run", "fio", "nothing", "hackbench")

    assert code == 2
    assert "fio is not installed: apt install fio" in err
    assert "no runner for nothing" in err
    assert "hackbench is not installed: apt install rt-tests" in err


def test_nonsense_of_a_tool_is_no_success(run, server, tool):
    server.shows_runs = True
    tool("hackbench", "echo Dear customer,")

    code, _, err = run("hackbench", "--repetitions", "2")

    assert code == 4
    assert "Nothing usable was stored: 1 of 2, step 1 of 1: hackbench process: " in err
    assert "No tool that is known printed this." in err


def test_run_without_any_output_is_no_success(run, server, tool):
    tool("hackbench", "exit 0")

    code, _, err = run("hackbench", "--repetitions", "1", "--later")

    assert (code, server.stored) == (1, {})
    assert "Nothing usable was stored: there was no output." in err


def test_failed_runs_alone_are_no_success(run, server, tool):
    tool("hackbench", "echo unable to connect; exit 1")

    code, _, err = run("hackbench", "--repetitions", "1")

    assert (code, len(server.stored)) == (1, 1)
    assert "Nothing usable was stored: " in err


def test_json_has_counts_messages_and_exit_code(run):
    code, out, _ = run("hackbench", "--repetitions", "2", "--json")

    report = json.loads(out)
    assert (code, report["exit_code"], report["command"]) == (0, 0, "run")
    assert report["uploads"]["read"] == 2
    assert report["messages"][-1] == "The server read 2 of 2 uploads."


def test_forced_run_beside_another_measurement_is_marked(run, server):
    with HostLock([].append):
        code, _, err = run("hackbench", "--repetitions", "1", "--force")

    assert code == 0
    assert "Another measurement runs on this host" in err
    assert FORCED in stored_runs(server)[0]["facts"]["warnings"]


def test_missing_folder_is_reported_before_measuring(run, server):
    code, _, err = run("hackbench", "--folder", "/does/not/exist")

    assert (code, server.stored) == (2, {})
    assert "/does/not/exist is not a folder" in err


def test_interrupted_run_names_what_waits(run, server, monkeypatch):
    real, calls = timed_run.measure, []

    def interrupt(*words):
        calls.append(words)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*words)

    monkeypatch.setattr(timed_run, "measure", interrupt)

    code, _, err = run("hackbench", "--repetitions", "2", "--warm-up", "0")

    assert (code, server.stored) == (130, {})
    assert "Interrupted. 1 run waits in the spool; see: spool send" in err
