"""Runners: exact arguments, and plain words where a tool cannot be run."""

import os

import pytest

from agents.errors import UsageError
from agents.measuring.runners import (
    PROGRAMS,
    RUNNERS,
    Wishes,
    chosen_steps,
    steps_of,
    version_of,
)


@pytest.fixture(autouse=True)
def installed(monkeypatch, home, compiled):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")


def test_fio_has_the_studies_pattern():
    steps = steps_of("fio", Wishes(seconds=30, folder="/mnt", file_mib=1024))

    assert len(steps) == 5 * 4
    assert len({step.name for step in steps}) == 20
    assert steps[0].name == "read 4k"
    assert steps[-1].name == "randwrite 4m"
    assert {"--direct=1", "--runtime=30", "--size=1024m"} <= set(steps[0].argv)
    assert "--output-format=json" in steps[0].argv


def test_sysbench_is_asked_for_three_things():
    steps = steps_of("sysbench", Wishes(seconds=5, threads=4))

    assert steps[0].argv == ["sysbench", "cpu", "--threads=4", "--time=5", "run"]
    assert [step.name for step in steps] == ["cpu", "memory", "threads"]


def test_stress_ng_and_hackbench():
    (cpu, _) = steps_of("stress-ng", Wishes(seconds=7, threads=2))
    (hackbench,) = steps_of("hackbench", Wishes())

    assert cpu.argv == ["stress-ng", "--cpu", "2", "--timeout", "7s", "--metrics-brief"]
    assert hackbench.argv == ["hackbench", "-g", "1", "-l", "1000"]


def test_our_memory_benchmark_takes_smaller_blocks_and_arrays(monkeypatch):
    kernel = ["virtlab-memory"]
    monkeypatch.setattr("agents.measuring.runners.kernel_argv", lambda *_: [*kernel])
    wishes = Wishes(blocks_kib="16,1024", array_mib=4)

    (step,) = RUNNERS["virtlab-memory"](wishes)

    assert step.argv[1:] == ["--blocks-kib", "16,1024", "--array-mib", "4"]


def test_some_programs_of_a_tool_can_be_chosen():
    wishes = Wishes(seconds=5)

    chosen = chosen_steps("sysbench:memory,cpu,memory", wishes)
    blocks = chosen_steps("fio:randread 4k, randwrite 4k", wishes)

    assert [step.name for step in chosen] == ["memory", "cpu"]
    assert [step.name for step in blocks] == ["randread 4k", "randwrite 4k"]
    assert chosen_steps("sysbench", wishes) == steps_of("sysbench", wishes)


@pytest.mark.parametrize("words", ["sysbench:", "sysbench:disk", "sysbench:cpu,"])
def test_a_program_that_a_tool_has_not_is_a_sentence(words):
    with pytest.raises(UsageError, match="it has: cpu, memory, threads"):
        chosen_steps(words, Wishes())


@pytest.mark.parametrize("kernel", ["linpack", "memory", "system"])
def test_our_kernels_repeat_their_rows_as_often_as_is_wished(kernel):
    (often,) = steps_of(f"virtlab-{kernel}", Wishes(iterations=3))
    (as_usual,) = steps_of(f"virtlab-{kernel}", Wishes())

    place = often.argv.index("--repetitions")
    assert often.argv[place + 1] == "3"
    assert "--repetitions" not in as_usual.argv


def test_the_network_tools_talk_to_the_peer():
    wishes = Wishes(seconds=5, peer="beta")

    netperf = steps_of("netperf", wishes)
    (httperf,) = steps_of("httperf", wishes)

    assert netperf[0].argv == ["netperf", "-H", "beta", "-t", "TCP_STREAM", "-l", "5"]
    assert [step.name for step in netperf[1:]] == ["TCP_MAERTS", "TCP_RR", "UDP_STREAM"]
    assert {"--server", "beta", "--num-conns", "500"} <= set(httperf.argv)


def test_the_disk_tools_use_the_folder_or_the_device():
    wishes = Wishes(folder="/mnt", file_mib=64, threads=2, device="/dev/vdb")

    (iozone,) = steps_of("iozone", wishes)
    (tiotest,) = steps_of("tiotest", wishes)
    (hdparm,) = steps_of("hdparm", wishes)

    assert {"-I", "64m", "/mnt/virtlab-agent.iozone"} <= set(iozone.argv)
    assert tiotest.argv == ["tiotest", "-t", "2", "-f", "64", "-d", "/mnt"]
    assert hdparm.argv == ["hdparm", "-tT", "/dev/vdb"]


@pytest.mark.parametrize(
    ("tool", "option"),
    [("netperf", "--peer"), ("httperf", "--peer"), ("hdparm", "--device")],
)
def test_what_a_tool_needs_is_said(tool, option):
    with pytest.raises(UsageError, match=option):
        steps_of(tool, Wishes())


def test_a_tool_is_asked_for_its_version_once_until_it_is_another(
    tmp_path, monkeypatch
):
    asked, fio = tmp_path / "asked", tmp_path / "fio"

    def install(version, changed_at):
        fio.write_text(f"#!/bin/sh\necho x >> {asked}\necho {version}\necho more\n")
        fio.chmod(0o755)
        os.utime(fio, (changed_at, changed_at))

    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("shutil.which", lambda name: str(fio))
    install("fio-3.33", 1)
    assert [version_of("fio") for _ in range(3)] == ["fio-3.33"] * 3
    install("fio-3.34", 2)
    assert version_of("fio") == "fio-3.34"
    assert len(asked.read_text().split()) == 2


def test_a_tool_that_cannot_be_asked_has_no_version(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)

    assert (version_of("hackbench"), version_of("fio")) == ("", "")


def test_iperf3_goes_both_ways_and_needs_a_peer():
    there, back = steps_of("iperf3", Wishes(peer="beta"))

    assert there.argv == ["iperf3", "-c", "beta", "-t", "10", "-J", "-P", "1"]
    assert back.argv == [*there.argv, "-R"]
    with pytest.raises(UsageError, match="--peer"):
        steps_of("iperf3", Wishes())


@pytest.mark.parametrize("tool", RUNNERS)
def test_every_step_has_a_limit_beyond_what_it_was_asked(tool):
    steps = steps_of(tool, Wishes(seconds=100, peer="beta", device="/dev/vda"))

    assert {step.tool for step in steps} == {tool}
    assert min(step.limit_s for step in steps) > 100


def test_a_missing_tool_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)

    with pytest.raises(UsageError, match="apt install rt-tests"):
        steps_of("hackbench", Wishes())


def test_a_tool_without_runner_can_be_pushed():
    with pytest.raises(UsageError, match=r"no runner for linpack.*push"):
        steps_of("linpack", Wishes())


def test_every_runner_is_of_a_tool_in_the_list():
    assert RUNNERS.keys() <= {program.tool for program in PROGRAMS}
