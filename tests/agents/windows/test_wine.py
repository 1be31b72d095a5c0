"""All commands of the Windows agent in Wine.

Wine is not Windows: it has no hypervisor counters, hardly a scheduler, and the disks of
this machine. docs/agents.md lists what was not tested.
"""

import contextlib
import gzip
import json
import os
import time
from pathlib import Path

import pytest

from agents.detection.indicators import cpuid_indicators
from agents.detection.layers import detect_layers
from agents.timing.time_client import TimeServerError, connect_time_server, take_stamp
from benchmarks.analysis.clock_reliability import run_trust
from benchmarks.parsing import run_extraction
from running.product_launcher import free_port
from tests.agents.conftest import serving, telling_time
from tests.agents.packed_agent import TOKEN, PlanningServer
from tests.agents.power.conftest import FakeWattsUp, packet
from tests.agents.windows.conftest import windows_path

pytestmark = [pytest.mark.wine, pytest.mark.timeout(600)]

HDPARM = Path(__file__).parents[2] / "data" / "hdparm" / "tT-in-tcg-guest.txt"
SERVING = contextlib.contextmanager(serving)


@pytest.fixture(scope="module")
def server():
    # It accepts hosts too.
    with SERVING(PlanningServer()) as server:
        yield server


@pytest.fixture(scope="module")
def clock():
    with telling_time() as server:
        yield f"udp://127.0.0.1:{server.port}"


@pytest.fixture(scope="module")
def enrolled(agent, server, clock):
    words = ("--study", "study", "--host", "alpha", "--time-server", clock)
    done = agent("enroll", "--server", server.url, "--token", "-", *words, stdin=TOKEN)
    assert done.returncode == 0, done.stderr
    return agent


def stored_documents(server, count):
    """Return new uploads, once there are this many."""
    assert len(server.stored) == count, server.stored.keys()
    documents = list(server.stored.values())
    server.stored.clear()
    return documents


def test_layers_and_facts_of_this_machine_are_found(either):
    done = either("detect", "--json", "--evidence")
    facts = json.loads(done.stdout)

    signed = {base: text for base, (_, text) in facts["evidence"]["leaves"].items()}
    own = {
        base: text.rstrip("\0")
        for base, (_, text) in cpuid_indicators()["leaves"].items()
    }
    assert signed == own
    assert facts["platform"]["layers"] == list(detect_layers(cpuid_indicators()).layers)
    assert facts["threads"] == os.cpu_count()
    assert 1 <= facts["sockets"] <= facts["cores"] <= facts["threads"]
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert facts["memory bytes"] == pytest.approx(memory_bytes, rel=0.05)
    assert facts["clocksource"].startswith("QueryPerformanceCounter, 10000000 Hz")
    assert {"state", "mtu"} <= facts["networks"].popitem()[1].keys()
    assert all(disk["bytes"] > 0 for disk in facts["disks"].values())
    assert facts["virtualization-based security"] == "off"


def test_fine_clock_keeps_its_name(either):
    source = (
        "from agents.timing.clocks import FINEST_CLOCK, own_clocks\n"
        "clocks = own_clocks()\n"
        "print(FINEST_CLOCK, clocks.name, clocks.resolution_us)\n"
    )
    counter, name, step_us = either.says(source).split()

    # Before Python 3.13 the other clock has 64 steps a second.
    is_coarse = (either.python.parent / "python38.dll").exists()
    assert counter == ("perf_counter" if is_coarse else "monotonic")
    assert int(step_us) < 1000
    assert either.says(source).split()[1] == name


def test_command_file_passes_arguments_and_exit_codes(enrolled):
    done = enrolled.by_command_file("doctor")

    states = {line.split()[1]: line.split()[0] for line in done.stdout.splitlines()}
    assert states["server"] == "ok"
    assert states["token"] == "ok", done.stdout
    assert states["clock"] in ("ok", "note")
    assert done.returncode == 0

    assert enrolled.by_command_file("nonsense").returncode == 2


def test_list_is_for_windows_and_has_our_kernels(agent):
    done = agent("list")

    assert "apt install" not in done.stdout
    assert done.stdout.count("inside the agent") == 3
    assert "winget install" in done.stdout


def test_pushed_runs_arrive_or_wait(enrolled, server):
    server.faults += [503] * 40
    path = windows_path(HDPARM)
    late = enrolled("push", "--hypervisor", "KVM", "--later", path)
    assert "1 wait" in enrolled("spool", "list").stderr
    server.faults.clear()

    sent = enrolled("spool", "send")

    assert (late.returncode, sent.returncode) == (0, 0), sent.stderr
    [document] = stored_documents(server, 1)
    assert document["output"] == HDPARM.read_text()
    assert document["facts"]["file"]["name"] == HDPARM.name


def test_kernels_run_between_two_stamps(enrolled, server):
    words = ("--warm-up", "0", "--repetitions", "1", "--seconds", "1")
    small = ("--blocks-kib", "1", "--array-mib", "1")
    done = enrolled("run", "virtlab-memory", "--hypervisor", "KVM", *words, *small)

    assert done.returncode == 0, done.stderr
    [document] = stored_documents(server, 1)
    [run] = run_extraction.extract_runs(document["output"])
    assert run.tool == "virtlab-memory"
    assert not run.problem
    assert "mingw" in run.facts["flags"]
    facts = document["facts"]
    assert facts["clock"]["external_us"] > 0
    assert facts["clock"]["resolution_us"] < 1000
    # Windows has no load average and no steal time, so neither is stated.
    assert 0 <= facts["execution"]["busy share"] <= 1
    assert not facts["execution"].keys() & {"load before", "steal share"}
    assert run_trust(document["clock"], facts, is_virtual=True) is not None


def test_program_ends_with_a_killed_agent(agent):
    marker = f"virtlab-test-{os.getpid()}"
    agent.says(
        "import os, signal, subprocess, sys\n"
        "from agents.windows import add_to_job\n"
        f"words = [sys.executable, '-c', 'import time; time.sleep(99)', '{marker}']\n"
        "program = subprocess.Popen(words, stdin=subprocess.DEVNULL,\n"
        "    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "add_to_job(program)\n"
        "print('started', flush=True)\n"
        "sys.stdout.flush()\n"
        "os._exit(0)\n"
    )

    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and is_running(marker):
        time.sleep(0.2)
    assert not is_running(marker)


def is_running(marker):
    def words_of(process):
        with contextlib.suppress(OSError):
            return (process / "cmdline").read_bytes()
        return b""

    # Exclude this test, whose own command line lacks the marker.
    return any(
        marker.encode() in words_of(folder) for folder in Path("/proc").glob("[0-9]*")
    )


def test_measurement_blocks_other_processes(agent):
    output = agent.says(
        "import subprocess\n"
        "from agents.local_state import MeasuringLock, SendingLock, is_measuring\n"
        "print(is_measuring())\n"
        "asks = 'import sys; sys.path.insert(0, %r);' % sys.path[0]\n"
        "asks += 'from agents.local_state import is_measuring; print(is_measuring())'\n"
        "words = [sys.executable, '-c', asks]\n"
        "with MeasuringLock():\n"
        "    other = subprocess.Popen(words, stdin=subprocess.DEVNULL,\n"
        "        stdout=subprocess.PIPE)\n"
        "    print(other.communicate()[0].decode().strip())\n"
        "print(is_measuring())\n"
    )

    assert output.split() == ["False", "True", "False"]


def test_watt_log_is_sent(enrolled, server, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("time,watts\n1785000000,100\n1785000001,102\n")

    done = enrolled("power", "csv", windows_path(log))

    assert done.returncode == 0, done.stderr
    [piece] = stored_documents(server, 1)
    assert [sample[1:] for sample in piece["samples"]] == [[100.0], [102.0]]
    assert piece["stamps"]


def test_meter_on_a_com_port_is_read(agent, windows, tmp_path):
    meter = FakeWattsUp(tmp_path / "tty")
    port = windows.folder / "wine" / "dosdevices" / "com9"
    port.symlink_to(os.path.realpath(meter.device))
    process = agent.started("power", "watts-up", "COM9", "--look")
    meter.listen(b"#L,W,3,E,,1;")
    for tenths in (801, 972, 972):
        meter.say(packet(tenths))
        time.sleep(0.3)
    printed, complaint = process.communicate(timeout=100)
    port.unlink()

    assert process.returncode == 0, complaint
    assert b"97.200 W" in printed or b"80.100 W" in printed


def test_missing_port_is_reported_with_existing_ports(agent):
    done = agent("power", "watts-up", "COM8", "--look")

    assert done.returncode == 1
    assert "COM8: " in done.stderr
    assert "Ports: " in done.stderr


def test_time_server_answers(agent):
    port = free_port()
    server = agent.started("timeserver", "--bind", "127.0.0.1", "--port", port)
    try:
        deadline = time.monotonic() + 60
        stamp = None
        while stamp is None and time.monotonic() < deadline:
            try:
                with connect_time_server(f"tcp://127.0.0.1:{port}") as asking:
                    stamp = take_stamp(asking)
            except TimeServerError:
                time.sleep(0.2)
        assert stamp is not None
        assert abs(stamp.server_wall_us - stamp.local_wall_us) < 10**6
    finally:
        server.kill()
        server.communicate()


def test_waiting_runs_are_written_to_a_bundle(enrolled, tmp_path):
    path = windows_path(HDPARM)
    enrolled("push", "--hypervisor", "KVM", "--later", path)

    done = enrolled("bundle", "write", windows_path(tmp_path))

    assert done.returncode == 0, done.stderr
    [written] = tmp_path.glob("*.virtlab")
    assert b"Timing" in gzip.decompress(written.read_bytes())


def test_watch_sends_and_host_without_hyper_v_is_reported(enrolled, server):
    watching = enrolled.started("watch", "--every", "0.1")
    try:
        deadline = time.monotonic() + 60
        while not server.stored and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        watching.kill()
        watching.communicate()
    assert stored_documents(server, 1)

    done = enrolled("telemetry", "hyper-v", "--look")

    assert done.returncode == 1
    assert "no Hyper-V counters" in done.stderr
