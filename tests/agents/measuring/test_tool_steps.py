"""Runners: exact arguments, and messages for tools that cannot be run."""

import os

import pytest

from agents.errors import UsageError
from agents.measuring.command_lines import (
    PROGRAMS,
    RUNNERS,
    ToolOptions,
    select_steps,
    tool_steps,
    tool_version,
)


@pytest.fixture(autouse=True)
def installed(monkeypatch, home, compiled):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")


def test_fio_has_the_pattern_of_the_studies():
    steps = tool_steps("fio", ToolOptions(seconds=30, folder="/mnt", file_mib=1024))

    assert len(steps) == 5 * 4
    assert len({step.name for step in steps}) == 20
    assert steps[0].name == "read 4k"
    assert steps[-1].name == "randwrite 4m"
    assert {"--direct=1", "--runtime=30", "--size=1024m"} <= set(steps[0].argv)
    assert "--output-format=json" in steps[0].argv


def test_sysbench_has_three_tests():
    steps = tool_steps("sysbench", ToolOptions(seconds=5, threads=4))

    assert steps[0].argv == ["sysbench", "cpu", "--threads=4", "--time=5", "run"]
    assert [step.name for step in steps] == ["cpu", "memory", "threads"]


def test_stress_ng_and_hackbench_commands():
    (cpu, _) = tool_steps("stress-ng", ToolOptions(seconds=7, threads=2))
    (hackbench,) = tool_steps("hackbench", ToolOptions())

    assert cpu.argv == ["stress-ng", "--cpu", "2", "--timeout", "7s", "--metrics-brief"]
    assert hackbench.argv == ["hackbench", "-g", "1", "-l", "1000"]


def test_memory_kernel_accepts_smaller_blocks_and_arrays(monkeypatch):
    kernel = ["virtlab-memory"]
    monkeypatch.setattr(
        "agents.measuring.command_lines.kernel_argv", lambda *_: [*kernel]
    )
    wishes = ToolOptions(blocks_kib="16,1024", array_mib=4)

    (step,) = RUNNERS["virtlab-memory"](wishes)

    assert step.argv[1:] == ["--blocks-kib", "16,1024", "--array-mib", "4"]


def test_programs_of_a_tool_can_be_selected():
    wishes = ToolOptions(seconds=5)

    chosen = select_steps("sysbench:memory,cpu,memory", wishes)
    blocks = select_steps("fio:randread 4k, randwrite 4k", wishes)

    assert [step.name for step in chosen] == ["memory", "cpu"]
    assert [step.name for step in blocks] == ["randread 4k", "randwrite 4k"]
    assert select_steps("sysbench", wishes) == tool_steps("sysbench", wishes)


@pytest.mark.parametrize("words", ["sysbench:", "sysbench:disk", "sysbench:cpu,"])
def test_unknown_program_is_a_usage_error(words):
    with pytest.raises(UsageError, match="Choose from: cpu, memory, threads"):
        select_steps(words, ToolOptions())


@pytest.mark.parametrize("kernel", ["linpack", "memory", "system"])
def test_kernels_repeat_their_rows_as_requested(kernel):
    (often,) = tool_steps(f"virtlab-{kernel}", ToolOptions(iterations=3))
    (as_usual,) = tool_steps(f"virtlab-{kernel}", ToolOptions())

    index = often.argv.index("--repetitions")
    assert often.argv[index + 1] == "3"
    assert "--repetitions" not in as_usual.argv


def test_network_tools_use_the_peer():
    wishes = ToolOptions(seconds=5, peer="beta")

    netperf = tool_steps("netperf", wishes)
    (httperf,) = tool_steps("httperf", wishes)

    assert netperf[0].argv == ["netperf", "-H", "beta", "-t", "TCP_STREAM", "-l", "5"]
    assert [step.name for step in netperf[1:]] == ["TCP_MAERTS", "TCP_RR", "UDP_STREAM"]
    assert {"--server", "beta", "--num-conns", "500"} <= set(httperf.argv)


def test_disk_tools_use_folder_or_device():
    wishes = ToolOptions(folder="/mnt", file_mib=64, threads=2, device="/dev/vdb")

    (iozone,) = tool_steps("iozone", wishes)
    (tiotest,) = tool_steps("tiotest", wishes)
    (hdparm,) = tool_steps("hdparm", wishes)

    assert {"-I", "64m", "/mnt/virtlab-agent.iozone"} <= set(iozone.argv)
    assert tiotest.argv == ["tiotest", "-t", "2", "-f", "64", "-d", "/mnt"]
    assert hdparm.argv == ["hdparm", "-tT", "/dev/vdb"]


@pytest.mark.parametrize(
    ("tool", "option"),
    [("netperf", "--peer"), ("httperf", "--peer"), ("hdparm", "--device")],
)
def test_missing_requirement_is_explained(tool, option):
    with pytest.raises(UsageError, match=option):
        tool_steps(tool, ToolOptions())


def test_version_is_cached_until_the_tool_changes(tmp_path, monkeypatch):
    calls, fio = tmp_path / "asked", tmp_path / "fio"

    def install(version, changed_at):
        fio.write_text(f"#!/bin/sh\necho x >> {calls}\necho {version}\necho more\n")
        fio.chmod(0o755)
        os.utime(fio, (changed_at, changed_at))

    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("shutil.which", lambda name: str(fio))
    install("fio-3.33", 1)
    assert [tool_version("fio") for _ in range(3)] == ["fio-3.33"] * 3
    install("fio-3.34", 2)
    assert tool_version("fio") == "fio-3.34"
    assert len(calls.read_text().split()) == 2


def test_unqueryable_tool_has_no_version(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)

    assert (tool_version("hackbench"), tool_version("fio")) == ("", "")


def test_iperf3_runs_both_directions_and_needs_a_peer():
    forward, back = tool_steps("iperf3", ToolOptions(peer="beta"))

    assert forward.argv == ["iperf3", "-c", "beta", "-t", "10", "-J", "-P", "1"]
    assert back.argv == [*forward.argv, "-R"]
    with pytest.raises(UsageError, match="--peer"):
        tool_steps("iperf3", ToolOptions())


@pytest.mark.parametrize("tool", RUNNERS)
def test_every_limit_exceeds_the_requested_duration(tool):
    steps = tool_steps(tool, ToolOptions(seconds=100, peer="beta", device="/dev/vda"))

    assert {step.tool for step in steps} == {tool}
    assert min(step.limit_s for step in steps) > 100


def test_missing_tool_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)

    with pytest.raises(UsageError, match="apt install rt-tests"):
        tool_steps("hackbench", ToolOptions())


def test_tool_without_runner_can_be_pushed():
    with pytest.raises(UsageError, match=r"no runner for linpack.*push"):
        tool_steps("linpack", ToolOptions())


def test_every_runner_is_in_the_list_of_programs():
    assert RUNNERS.keys() <= {program.tool for program in PROGRAMS}
