"""The command `power` as a process: recorded, killed, stopped, sent."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.home import Enrolment, open_spool, save_enrolment
from agents.spool import Spool
from tests.agents.conftest import telling_time
from tests.agents.power.conftest import FakeWattsUp, packet
from tests.agents.stage import TOKEN, Powercap

ROOT = Path(__file__).parents[3]


@pytest.fixture
def powercap(tmp_path):
    return Powercap(tmp_path / "powercap")


@pytest.fixture
def process(enrolled):
    """Start the command in a process of its own; end those that are left."""
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


def test_it_records_until_it_is_told_to_stop(process, enrolled, server, powercap):
    program = process("rapl", powercap.folder, "--every", "0.05")
    await_readings(enrolled, 5)

    program.send_signal(signal.SIGTERM)
    said = program.communicate(timeout=60)[1]

    assert program.returncode == 0, said
    (document,) = server.stored.values()
    assert {path for path, *_ in server.requests} == {"/api/v1/power/"}
    assert document["host"] == "alpha"
    assert document["meter"] == {"name": "rapl at alpha", "kind": "rapl"}
    assert (document["measures"], document["total"]) == ("energy", ["package-0"])
    assert len(document["samples"]) >= 5
    assert "1 piece is on the server." in said


def test_kill_9_loses_nothing_and_doubles_nothing(process, enrolled, server, powercap):
    program = process("rapl", powercap.folder, "--every", "0.05", "--later")
    await_readings(enrolled, 5)
    program.send_signal(signal.SIGKILL)
    program.wait()
    kept = lines_of(enrolled)

    again = process("rapl", powercap.folder, "--every", "0.05", "--seconds", "0.3")
    said = again.communicate(timeout=60)[1]

    assert again.returncode == 0, said
    assert "1 pieces of a log that was cut off are kept." in said
    counts = [len(document["samples"]) for document in server.stored.values()]
    assert len(counts) == 2
    assert kept in counts
    assert spooled(enrolled) == []


def test_a_server_that_is_away_loses_nothing(process, enrolled, server, powercap):
    server.faults = [503] * 1000

    program = process("rapl", powercap.folder, "--every", "0.05", "--seconds", "0.3")
    said = program.communicate(timeout=60)[1]

    assert program.returncode == 5, said
    assert len(spooled(enrolled)) == 1


def test_a_watts_up_is_recorded_through_a_pulled_cable(process, enrolled, tmp_path):
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
    said = program.communicate(timeout=60)[1]

    (document,) = spooled(enrolled)
    assert [each[1] for each in document["samples"]][-3:] == [80.2, 80.3, 90.1]
    assert document["meter"]["gain_error"] == 0.015
    assert "broke off" in said
    assert "The meter reads again." in said
    os.close(meter.master)


def test_one_look_keeps_nothing(call, home, powercap):
    code, out, _ = call("power", "rapl", powercap.folder, "--every", "0.05", "--look")

    assert code == 0
    assert out.splitlines()[-1].split() == ["power", "0.000", "W"]
    assert not (home / "power").exists()


def test_a_log_of_something_else_is_sent(call, enrolled, server, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("1700000000,80\n1700000001,\n1700000002,81\n")

    code, _, said = call("power", "csv", path, "--later")

    # The made-up server tells no time.
    assert code == 1
    assert "Without a time server nobody knows when" in said


def test_a_log_that_is_sent_again_is_the_same_and_one_with_another_start_is_not(
    call, home, server, tmp_path
):
    path = tmp_path / "log.csv"
    path.write_text("0,80\n1,81\n2,82\n")
    with telling_time() as told:
        address = f"tcp://127.0.0.1:{told.port}"
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
        (["watts-up", "--every", "2"], "is at 1 s"),
        (["rapl", "--accuracy-percent", "80"], "0 to 50"),
    ],
)
def test_what_makes_no_sense_is_said(call, enrolled, words, sentence):
    code, _, said = call("power", *words)

    assert code in (1, 2)
    assert sentence in said


def test_the_machine_must_be_named(call, home, server, powercap, monkeypatch):
    monkeypatch.setenv("VIRTLAB_SERVER", server.url)
    monkeypatch.setenv("VIRTLAB_TOKEN", "vl_x")

    code, _, said = call("power", "rapl", powercap.folder)

    assert (code, "--host SLUG" in said) == (2, True)
