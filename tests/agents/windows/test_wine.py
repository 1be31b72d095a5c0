"""The agent for Windows at work: all that a lab does with it, in wine.

wine is no Windows: it has no hypervisor's counters, no scheduler worth the name and the
disks of this machine. docs/agents.md says what nobody has tried.
"""

import contextlib
import gzip
import json
import os
import time
from pathlib import Path

import pytest

from agents.detection.evidence import of_cpu
from agents.detection.layers import judge
from agents.timing.asking import NoTimeError, open_asking, take_stamp
from benchmarks.analysis.clocks import run_trust
from benchmarks.parsing import reading
from running.product import free_port
from tests.agents.conftest import serving, telling_time
from tests.agents.power.conftest import FakeWattsUp, packet
from tests.agents.stage import TOKEN, PlanningServer
from tests.agents.windows.conftest import windows_path

pytestmark = [pytest.mark.wine, pytest.mark.timeout(600)]

HDPARM = Path(__file__).parents[2] / "data" / "hdparm" / "tT-in-tcg-guest.txt"
SERVING = contextlib.contextmanager(serving)


@pytest.fixture(scope="module")
def server():
    # It takes hosts as well.
    with SERVING(PlanningServer()) as server:
        yield server


@pytest.fixture(scope="module")
def clock():
    with telling_time() as server:
        yield f"udp://127.0.0.1:{server.port}"


@pytest.fixture(scope="module")
def enrolled(agent, server, clock):
    words = ("--study", "study", "--host", "alpha", "--time-server", clock)
    done = agent("enroll", "--server", server.url, "--token", "-", *words, given=TOKEN)
    assert done.returncode == 0, done.stderr
    return agent


def kept(server, count):
    """What came since, once so many have."""
    assert len(server.stored) == count, server.stored.keys()
    documents = list(server.stored.values())
    server.stored.clear()
    return documents


def test_it_finds_the_layers_and_facts_that_this_machine_has(either):
    done = either("detect", "--json", "--evidence")
    facts = json.loads(done.stdout)

    signed = {base: text for base, (_, text) in facts["evidence"]["leaves"].items()}
    own = {base: text.rstrip("\0") for base, (_, text) in of_cpu()["leaves"].items()}
    assert signed == own
    assert facts["platform"]["layers"] == list(judge(of_cpu()).layers)
    assert facts["threads"] == os.cpu_count()
    assert 1 <= facts["sockets"] <= facts["cores"] <= facts["threads"]
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert facts["memory bytes"] == pytest.approx(whole, rel=0.05)
    assert facts["clocksource"].startswith("QueryPerformanceCounter, 10000000 Hz")
    assert {"state", "mtu"} <= facts["networks"].popitem()[1].keys()
    assert all(disk["bytes"] > 0 for disk in facts["disks"].values())
    assert facts["virtualization-based security"] == "off"


def test_its_clock_is_the_fine_one_and_keeps_its_name(either):
    source = (
        "from agents.timing.clocks import COUNTER, own_clocks\n"
        "clocks = own_clocks()\n"
        "print(COUNTER, clocks.name, clocks.resolution_us)\n"
    )
    counter, name, step_us = either.says(source).split()

    # Before Python 3.13 the other one moves 64 times a second.
    is_coarse = (either.python.parent / "python38.dll").exists()
    assert counter == ("perf_counter" if is_coarse else "monotonic")
    assert int(step_us) < 1000
    assert either.says(source).split()[1] == name


def test_the_command_file_hands_words_and_exit_codes_on(enrolled):
    done = enrolled.by_command_file("doctor")

    states = {line.split()[1]: line.split()[0] for line in done.stdout.splitlines()}
    assert states["server"] == "ok"
    assert states["token"] == "ok", done.stdout
    assert states["clock"] in ("ok", "note")
    assert done.returncode == 0

    assert enrolled.by_command_file("nonsense").returncode == 2


def test_the_list_speaks_of_windows_and_has_our_kernels(agent):
    done = agent("list")

    assert "apt install" not in done.stdout
    assert done.stdout.count("inside the agent") == 3
    assert "winget install" in done.stdout


def test_what_it_pushes_arrives_and_waits_while_the_server_is_away(enrolled, server):
    server.faults += [503] * 40
    place = windows_path(HDPARM)
    late = enrolled("push", "--hypervisor", "KVM", "--later", place)
    assert "1 wait" in enrolled("spool", "list").stderr
    server.faults.clear()

    sent = enrolled("spool", "send")

    assert (late.returncode, sent.returncode) == (0, 0), sent.stderr
    [document] = kept(server, 1)
    assert document["output"] == HDPARM.read_text()
    assert document["facts"]["file"]["name"] == HDPARM.name


def test_it_runs_our_kernels_between_two_stamps(enrolled, server):
    words = ("--warm-up", "0", "--repetitions", "1", "--seconds", "1")
    small = ("--blocks-kib", "1", "--array-mib", "1")
    done = enrolled("run", "virtlab-memory", "--hypervisor", "KVM", *words, *small)

    assert done.returncode == 0, done.stderr
    [document] = kept(server, 1)
    [run] = reading.read(document["output"])
    assert run.tool == "virtlab-memory"
    assert not run.problem
    assert "mingw" in run.facts["flags"]
    facts = document["facts"]
    assert facts["clock"]["external_us"] > 0
    assert facts["clock"]["resolution_us"] < 1000
    # Windows tells of no load and of no stolen time: nothing is said of them.
    assert 0 <= facts["execution"]["busy share"] <= 1
    assert not facts["execution"].keys() & {"load before", "steal share"}
    assert run_trust(document["clock"], facts, is_virtual=True) is not None


def test_a_program_ends_with_the_agent_that_is_killed(agent):
    marker = f"virtlab-test-{os.getpid()}"
    agent.says(
        "import os, signal, subprocess, sys\n"
        "from agents.windows import keep_in_our_job\n"
        f"words = [sys.executable, '-c', 'import time; time.sleep(99)', '{marker}']\n"
        "program = subprocess.Popen(words, stdin=subprocess.DEVNULL,\n"
        "    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "keep_in_our_job(program)\n"
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

    # Not this test itself, whose own words have no such marker.
    return any(
        marker.encode() in words_of(each) for each in Path("/proc").glob("[0-9]*")
    )


def test_who_measures_is_seen_by_others(agent):
    said = agent.says(
        "import subprocess\n"
        "from agents.home import Quiet, Sending, is_quiet\n"
        "print(is_quiet())\n"
        "asks = 'import sys; sys.path.insert(0, %r);' % sys.path[0]\n"
        "asks += 'from agents.home import is_quiet; print(is_quiet())'\n"
        "words = [sys.executable, '-c', asks]\n"
        "with Quiet():\n"
        "    other = subprocess.Popen(words, stdin=subprocess.DEVNULL,\n"
        "        stdout=subprocess.PIPE)\n"
        "    print(other.communicate()[0].decode().strip())\n"
        "print(is_quiet())\n"
    )

    assert said.split() == ["False", "True", "False"]


def test_it_sends_a_log_of_watts(enrolled, server, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("time,watts\n1785000000,100\n1785000001,102\n")

    done = enrolled("power", "csv", windows_path(log))

    assert done.returncode == 0, done.stderr
    [piece] = kept(server, 1)
    assert [sample[1:] for sample in piece["samples"]] == [[100.0], [102.0]]
    assert piece["stamps"]


def test_it_reads_a_meter_on_a_com_port(agent, windows, tmp_path):
    meter = FakeWattsUp(tmp_path / "tty")
    port = windows.folder / "wine" / "dosdevices" / "com9"
    port.symlink_to(os.path.realpath(meter.device))
    asked = agent.started("power", "watts-up", "COM9", "--look")
    meter.listen(b"#L,W,3,E,,1;")
    for tenths in (801, 972, 972):
        meter.say(packet(tenths))
        time.sleep(0.3)
    printed, complaint = asked.communicate(timeout=100)
    port.unlink()

    assert asked.returncode == 0, complaint
    assert b"97.200 W" in printed or b"80.100 W" in printed


def test_a_port_that_is_not_there_is_named_with_those_that_are(agent):
    done = agent("power", "watts-up", "COM8", "--look")

    assert done.returncode == 1
    assert "COM8: " in done.stderr
    assert "There are: " in done.stderr


def test_it_tells_the_time_to_others(agent):
    port = free_port()
    server = agent.started("timeserver", "--bind", "127.0.0.1", "--port", port)
    try:
        deadline = time.monotonic() + 60
        stamp = None
        while stamp is None and time.monotonic() < deadline:
            try:
                with open_asking(f"tcp://127.0.0.1:{port}") as asking:
                    stamp = take_stamp(asking)
            except NoTimeError:
                time.sleep(0.2)
        assert stamp is not None
        assert abs(stamp.server_wall_us - stamp.local_wall_us) < 10**6
    finally:
        server.kill()
        server.communicate()


def test_it_writes_what_waits_into_a_bundle(enrolled, tmp_path):
    place = windows_path(HDPARM)
    enrolled("push", "--hypervisor", "KVM", "--later", place)

    done = enrolled("bundle", "write", windows_path(tmp_path))

    assert done.returncode == 0, done.stderr
    [written] = tmp_path.glob("*.virtlab")
    assert b"Timing" in gzip.decompress(written.read_bytes())


def test_watch_sends_and_a_host_without_hyper_v_says_so(enrolled, server):
    watching = enrolled.started("watch", "--every", "0.1")
    try:
        deadline = time.monotonic() + 60
        while not server.stored and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        watching.kill()
        watching.communicate()
    assert kept(server, 1)

    done = enrolled("telemetry", "hyper-v", "--look")

    assert done.returncode == 1
    assert "no counters of Hyper-V" in done.stderr
