"""The command `power` as a process: recorded, killed, stopped, sent."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.local_state import Enrolment, open_spool, save_enrolment
from agents.spool import Spool
from tests.agents.conftest import telling_time
from tests.agents.packed_agent import TOKEN, Powercap
from tests.agents.power.conftest import FakeWattsUp, packet

ROOT = Path(__file__).parents[3]


@pytest.fixture
def powercap(tmp_path):
    return Powercap(tmp_path / "powercap")


@pytest.fixture
def process(enrolled):
    """Start the command as a separate process; end remaining ones."""
    started = []

    def start(*words):
        argv = [sys.executable, "-m", "agents", "power", *map(str, words)]
        program = subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        started.append(program)
        return program

    yield start
    for program in started:
        if program.poll() is None:
            program.kill()
        program.communicate()


def spooled(home):
    spool = Spool(str(home / "spool"))
    return [json.loads(spool.read(key)) for key in spool.waiting()]


def lines_of(home):
    return sum(
        len([line for line in path.read_text().splitlines() if line.startswith("[")])
        for path in (home / "power").glob("*.piece")
    )


def await_readings(home, count):
    deadline = time.monotonic() + 60
    while not (home / "power").exists() or lines_of(home) < count:
        assert time.monotonic() < deadline, "no readings came"
        time.sleep(0.02)


def test_records_until_sigterm(process, enrolled, server, powercap):
    program = process("rapl", powercap.folder, "--every", "0.05")
    await_readings(enrolled, 5)

    program.send_signal(signal.SIGTERM)
    err = program.communicate(timeout=60)[1]

    assert program.returncode == 0, err
    (document,) = server.stored.values()
    assert {path for path, *_ in server.requests} == {"/api/v1/power/"}
    assert document["host"] == "alpha"
    assert document["meter"] == {"name": "rapl at alpha", "kind": "rapl"}
    assert (document["measures"], document["total"]) == ("energy", ["package-0"])
    assert len(document["samples"]) >= 5
    assert "1 chunk is on the server." in err


def test_kill_9_loses_and_duplicates_nothing(process, enrolled, server, powercap):
    program = process("rapl", powercap.folder, "--every", "0.05", "--later")
    await_readings(enrolled, 5)
    program.send_signal(signal.SIGKILL)
    program.wait()
    saved = lines_of(enrolled)

    second = process("rapl", powercap.folder, "--every", "0.05", "--seconds", "0.3")
    err = second.communicate(timeout=60)[1]

    assert second.returncode == 0, err
    assert "1 chunks of an interrupted log are saved." in err
    counts = [len(document["samples"]) for document in server.stored.values()]
    assert len(counts) == 2
    assert saved in counts
    assert spooled(enrolled) == []


def test_unavailable_server_loses_nothing(process, enrolled, server, powercap):
    server.faults = [503] * 1000

    program = process("rapl", powercap.folder, "--every", "0.05", "--seconds", "0.3")
    err = program.communicate(timeout=60)[1]

    assert program.returncode == 5, err
    assert len(spooled(enrolled)) == 1


def test_watts_up_survives_a_pulled_cable(process, enrolled, tmp_path):
    meter = FakeWattsUp(tmp_path / "ttyUSB0")
    program = process("watts-up", meter.device, "--later", "--meter", "lab meter 2")
    meter.listen(b"#L,W,3,E,,1;")
    meter.say(packet(801), packet(802), "#d,-,18,97;", packet(803))
    await_readings(enrolled, 2)
    meter.unplug()
    time.sleep(0.3)
    meter.plug_in()
    meter.listen(b"#L,W,3,E,,1;")
    meter.say(packet(901))
    await_readings(enrolled, 3)

    program.send_signal(signal.SIGINT)
    err = program.communicate(timeout=60)[1]

    (document,) = spooled(enrolled)
    assert [sample[1] for sample in document["samples"]][-3:] == [80.2, 80.3, 90.1]
    assert document["meter"]["gain_error"] == 0.015
    assert "was lost" in err
    assert "Readings have resumed." in err
    os.close(meter.master)


def test_look_shows_a_log_without_sending_it(call, home, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("time,watts\n1700000000,90\n1700000001,\n1700000002,110\n")

    code, out, _ = call("power", "csv", log, "--look")

    assert code == 0
    assert "3 rows, 2 with watts" in out
    assert "first: 2023-11-14T22:13:20Z" in out
    assert "minimum 90.000, mean 100.000, maximum 110.000 W" in out


def test_look_stores_nothing(call, home, powercap):
    code, out, _ = call("power", "rapl", powercap.folder, "--every", "0.05", "--look")

    assert code == 0
    assert out.splitlines()[-1].split() == ["power", "0.000", "W"]
    assert not (home / "power").exists()


def test_csv_log_is_sent(call, enrolled, server, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("1700000000,80\n1700000001,\n1700000002,81\n")

    code, _, err = call("power", "csv", path, "--later")

    # The simulated server does not serve the time.
    assert code == 1
    assert "cannot be dated without a time server" in err


def test_repeated_log_has_the_same_keys_unless_its_start_changes(
    call, home, server, tmp_path
):
    path = tmp_path / "log.csv"
    path.write_text("0,80\n1,81\n2,82\n")
    with telling_time() as clock:
        address = f"tcp://127.0.0.1:{clock.port}"
        save_enrolment(Enrolment(server.url, TOKEN, host="alpha", time_server=address))

        def keys(moment):
            words = ("--started-at", moment, "--later")
            assert call("power", "csv", path, *words)[0] == 0
            return set(open_spool().waiting())

        first = keys("2026-11-20T21:44:36Z")
        assert keys("2026-11-20T21:44:36Z") == first
        assert len(keys("2026-11-20T22:44:36Z")) == 2

    spool = open_spool()
    pieces = [json.loads(spool.read(key)) for key in spool.waiting()]
    assert len({(piece["log"], piece["number"]) for piece in pieces}) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["csv"], "Name the file"),
        (["csv", "/nowhere.csv"], "No such file"),
        (["rapl", "/nowhere"], "a virtual machine has none"),
        (["rapl", "--every", "0.001"], "0.05 to 60"),
        (["watts-up", "--every", "2"], "always uses 1 s"),
        (["rapl", "--accuracy-percent", "80"], "0 to 50"),
    ],
)
def test_invalid_options_are_explained(call, enrolled, words, sentence):
    code, _, err = call("power", *words)

    assert code in (1, 2)
    assert sentence in err


def test_machine_is_required(call, home, server, powercap, monkeypatch):
    monkeypatch.setenv("VIRTLAB_SERVER", server.url)
    monkeypatch.setenv("VIRTLAB_TOKEN", "vl_x")

    code, _, err = call("power", "rapl", powercap.folder)

    assert (code, "--host SLUG" in err) == (2, True)
