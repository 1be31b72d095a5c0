"""run: tools that are made up, rounds that are real."""

import os
from pathlib import Path

import pytest

from agents.home import open_spool

REAL = Path(__file__).parents[2] / "data" / "hackbench" / "process.txt"


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Put a program on the path that does what a script says."""

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


def kept(server):
    runs = list(server.stored.values())
    return sorted(runs, key=lambda run: run["facts"]["order"]["sequence"])


def test_each_start_is_a_run_with_its_place_in_the_order(run, server):
    code, _, _ = run("hackbench", "--repetitions", "3")

    runs = kept(server)
    assert code == 0
    assert [each["facts"]["order"]["repetition"] for each in runs] == [1, 2, 3]
    assert [each["facts"]["order"]["sequence"] for each in runs] == [2, 3, 4]
    assert {each["output"] for each in runs} == {REAL.read_text()}
    assert len({each["session"] for each in runs}) == 1
    assert {each["tool"] for each in runs} == {"hackbench"}


def test_rounds_go_through_all_steps_before_they_repeat(run, server):
    run("sysbench", "--repetitions", "2", "--warm-up", "0", "--seconds", "3")

    runs = kept(server)
    steps = [each["facts"]["order"]["step"] for each in runs]
    assert steps == ["cpu", "memory", "threads"] * 2
    assert runs[0]["output"].endswith("cpu --threads=1 --time=3 run\n")
    assert runs[0]["tool_version"] == "sysbench 1.0.20"


def test_only_the_programs_behind_a_colon_are_run(run, server):
    code, _, _ = run("sysbench:memory,cpu", "--repetitions", "2", "--warm-up", "0")

    steps = [each["facts"]["order"]["step"] for each in kept(server)]
    assert code == 0
    assert steps == ["memory", "cpu"] * 2


def test_a_program_that_is_not_there_ends_before_anything_runs(run, server):
    code, _, said = run("sysbench:disk")

    assert (code, server.stored) == (2, {})
    assert "sysbench has no program 'disk'; it has: cpu, memory, threads." in said


def test_rounds_may_have_orders_of_their_own(run, server):
    """With eight rounds of three steps all alike is chance of one in 280,000."""
    words = ("--repetitions", "8", "--warm-up", "0", "--order", "random")
    run("sysbench", *words)

    steps = [each["facts"]["order"]["step"] for each in kept(server)]
    rounds = {tuple(steps[k : k + 3]) for k in range(0, 24, 3)}
    assert all(sorted(each) == ["cpu", "memory", "threads"] for each in rounds)
    assert len(rounds) > 1
    for each in kept(server):
        assert each["output"].split()[2] == each["facts"]["order"]["step"]


def test_who_timed_it_depends_on_where_it_ran(run, server, machine):
    run("hackbench", "--repetitions", "1")
    machine()
    run("hackbench", "--repetitions", "1")

    assert [each["clock"] for each in server.stored.values()] == ["guest", "local"]


def test_the_facts_of_the_run_stand_beside_those_of_the_machine(run, server):
    run("hackbench", "--repetitions", "1")

    facts = kept(server)[0]["facts"]
    assert facts["platform"]["layers"] == ["kvm"]
    assert facts["execution"]["argv"] == ["hackbench", "-g", "1", "-l", "1000"]
    assert {"clock", "warnings"} <= facts.keys()


def test_a_step_that_fails_sends_nothing_and_the_others_go_on(run, server, tool):
    tool("sysbench", 'echo "no such thing" >&2; [ $1 = memory ] && exit 4; exit 0')

    code, _, said = run("sysbench", "--repetitions", "1", "--warm-up", "0")

    assert code == 1
    assert "sysbench memory ended with 4; nothing of it is sent." in said
    assert "no such thing" in said
    assert [each["facts"]["order"]["step"] for each in kept(server)] == [
        "cpu",
        "threads",
    ]


def test_a_log_says_how_far_it_is(run):
    _, _, said = run("hackbench", "--repetitions", "1")

    assert "warm-up, step 1 of 1: hackbench process" in said
    assert "1 of 1, step 1 of 1: hackbench process" in said


def test_nothing_is_run_before_all_is_known(run, server, tmp_path, tool):
    tool("hackbench", f"touch {tmp_path}/ran")

    assert run("hackbench", "linpack")[0] == 2
    assert run("hackbench", "--option", "wrong")[0] == 2
    assert not (tmp_path / "ran").exists()


def test_later_keeps_all_and_sends_nothing(run, server):
    assert run("hackbench", "--repetitions", "2", "--later")[0] == 0
    assert (server.stored, len(open_spool().waiting())) == ({}, 2)


def test_a_folder_that_cannot_be_written_is_a_sentence(call, home, monkeypatch):
    home.write_text("a file where the agent's folder should be")
    monkeypatch.setenv("VIRTLAB_SERVER", "http://127.0.0.1:9")
    monkeypatch.setenv("VIRTLAB_TOKEN", "vl_x_y")

    code, _, said = call("run", "virtlab-memory", "--study", "c", "--host", "h")

    assert (code, said) == (1, f"{home / 'kernels'}: Not a directory\n")


def test_all_that_is_missing_is_named_at_once(call, enrolled, machine, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)

    code, _, said = call("run", "fio", "nothing", "hackbench")

    assert code == 2
    assert "fio is not installed: apt install fio" in said
    assert "no runner for nothing" in said
    assert "hackbench is not installed: apt install rt-tests" in said
