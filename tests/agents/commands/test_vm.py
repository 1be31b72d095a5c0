"""Machines measured from their host, with a shell script as the machine."""

import os

import pytest

from agents.vm_consoles import (
    CpuTime,
    Memory,
    VirtualMachine,
    accelerator,
    monitor_memory,
    wait_share,
    watch_consoles,
)
from agents.vm_migration import Gap, gap_around, longest_gap

BOOT = (
    "echo BIOS; sleep 0.05; echo Linux version 6.1; sleep 0.05;"
    "echo Run /sbin/init as init process; sleep 0.05; echo machine {n} login:;"
    "exec sleep 60"
)
SMAPS = """\
00400000-00500000 r-xp 00000000 fe:00 1 /usr/bin/monitor
Rss:                 200 kB
Pss:                 100 kB
7f0000000000-7f0010000000 rw-p 00000000 00:00 0
Rss:                9000 kB
Pss:                9000 kB
"""


def boot(call, *options, script=BOOT):
    words = ("vm", "boot", "--until", "login:", "--watch-s", "0", *options)
    return call(*words, "--", "sh", "-c", script)


def test_boot_prints_stages_of_each_machine(call):
    code, out, _ = boot(call, "--count", "2")

    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.startswith("boot ")]
    assert [row[1:3] for row in rows] == [["1", "1"], ["1", "2"]]
    for row in rows:
        output, kernel, init, ready = map(float, row[3:])
        assert output <= kernel <= init <= ready
    assert out.rstrip().endswith("end")


def test_machine_that_is_not_ready_fails_with_its_console(call):
    code, out, err = boot(call, "--limit-s", "1", script="echo no disk; sleep 9")

    assert code == 1
    assert "failed: machine 1 was not ready within 1 s." in out
    assert "no disk" in err
    assert "end" not in out.split()


def test_machines_are_stopped(call, tmp_path):
    pid = tmp_path / "pid"
    boot(call, script=f"echo $$ > {pid}; echo login:; exec sleep 60")

    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_memory_of_the_monitor_is_without_the_guest(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "smaps").write_text(SMAPS)

    assert monitor_memory([7], str(tmp_path)) == Memory(9100, 100)
    assert monitor_memory([8], str(tmp_path)) is None


def test_wait_share_is_the_part_that_was_not_given():
    assert wait_share(CpuTime(0, 0), CpuTime(750, 250)) == 0.25
    assert wait_share(CpuTime(5, 5), CpuTime(5, 5)) is None


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["qemu-system-x86_64", "-accel", "tcg"], "software emulation"),
        (["qemu-system-x86_64", "-enable-kvm"], ""),
        (["firecracker", "--no-api"], ""),
    ],
)
def test_software_emulation_is_named(words, name):
    assert accelerator(words) == name


def test_gap_is_the_longest_pause_between_lines():
    assert longest_gap([1.0, 1.1, 3.1, 3.0]) == pytest.approx(1.9)
    assert longest_gap([1.0]) == 0


def test_gaps_are_those_around_the_migration_and_before():
    times = [0.5, 1.0, 1.2, 1.3, 3.0, 3.1]

    assert gap_around(times, ready_s=1.0, begun_s=1.4) == Gap(
        pytest.approx(1.7), pytest.approx(0.2)
    )
    assert gap_around([], ready_s=1.0, begun_s=1.4) is None


def test_pings_and_writes_are_counted_by_lines():
    script = r"printf 'pi'; sleep 0.1; printf 'ng\nwrite 1\nwriter\nmy ping\n'"
    lines = "64 bytes from 10.0.2.15: icmp_seq=1 ttl=64 time=0.1 ms"
    machine = VirtualMachine(["sh", "-c", f"{script}; echo '{lines}'"], "never")

    watch_consoles([machine], 20, until_ready=False)
    machine.stop()

    assert {name: len(at) for name, at in machine.events_s.items()} == {
        "ping": 2,
        "write": 1,
    }
    assert len(machine.line_times_s) == 5
