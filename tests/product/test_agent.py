"""The agent against the running product: from download to parsed run."""

import os
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
OUTPUT = DATA / "hdparm" / "tT-in-tcg-guest.txt"
HACKBENCH = DATA / "hackbench" / "process.txt"

pytestmark = [pytest.mark.product, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def agent(product, tmp_path_factory):
    """Run the downloaded agent as a user on another machine would."""
    folder = tmp_path_factory.mktemp("agent")
    path = folder / "virtlab-agent.pyz"
    with urllib.request.urlopen(f"{product.url}/agent/virtlab-agent.pyz") as answer:
        path.write_bytes(answer.read())

    tool = folder / "bin" / "hackbench"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\nsleep ${{LASTS_S:-0}}\ncat {HACKBENCH}\n")
    tool.chmod(0o755)
    environment = {
        "PATH": f"{tool.parent}:{os.environ['PATH']}",
        "VIRTLAB_AGENT": str(folder / "home"),
    }

    def run(*words, stdin=None, lasts_s=0):
        program = started(*words, lasts_s=lasts_s)
        outputs = program.communicate(stdin)
        return subprocess.CompletedProcess(words, program.returncode, *outputs)

    def started(*words, lasts_s=0):
        return subprocess.Popen(
            [sys.executable, "-I", str(path), *map(str, words)],
            env={**environment, "LASTS_S": str(lasts_s)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            text=True,
        )

    run.started, run.home = started, folder / "home"
    return run


@pytest.fixture(scope="module")
def enrolled(product, agent):
    product.client().create_study({"slug": "by-agent", "title": "By the agent"})
    token = (product.var / "upload-token").read_text()
    words = ["--study", "by-agent", "--host", "agents-machine"]

    done = agent("enroll", "--server", product.url, "--token", "-", *words, stdin=token)

    assert done.returncode == 0, done.stderr
    return agent


def runs_of(product):
    reader = product.client("read-token")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        runs = list(reader.get_all("runs/", study="by-agent"))
        if runs and all(run["status"] != "received" for run in runs):
            return runs
        time.sleep(0.1)
    raise AssertionError(runs)


def test_wrong_token_is_refused(product, agent):
    done = agent("enroll", "--server", product.url, "--token", "vl_abcdef_wrong")

    assert done.returncode == 4
    assert "token" in done.stderr


def test_doctor_finds_no_problem(enrolled):
    done = enrolled("doctor")

    assert done.returncode == 0, done.stdout
    assert "token     may upload" in done.stdout
    assert " ms relative to " in done.stdout


def test_output_becomes_a_run_with_its_platform(product, enrolled):
    done = enrolled("push", "--hypervisor", "KVM", OUTPUT)

    assert done.returncode == 0, done.stderr
    (run,) = runs_of(product)
    assert (run["status"], run["tool"]) == ("parsed", "hdparm")
    assert run["facts"]["file"]["name"] == OUTPUT.name
    assert run["facts"]["threads"] >= 1
    assert {"platform", "evidence"} <= run["facts"].keys()


def test_unknown_study_rejects_the_run_with_the_servers_message(enrolled):
    done = enrolled("push", "--hypervisor", "KVM", "--study", "nowhere", OUTPUT)

    assert done.returncode == 4
    assert "unknown_study" in enrolled("spool", "rejected").stdout


def test_repeated_run_is_stored_once(product, enrolled):
    enrolled("push", "--later", "--hypervisor", "KVM", OUTPUT)
    before = len(runs_of(product))
    spool = enrolled("spool", "list").stdout.split()

    assert len(spool) == 1
    assert enrolled("spool", "send").returncode == 0
    assert len(runs_of(product)) == before + 1


def test_tool_runs_between_stamps_of_the_server(product, enrolled):
    words = ["--repetitions", "2", "--session", "bracketed", "--hypervisor", "KVM"]

    done = enrolled("run", "hackbench", *words)

    assert done.returncode == 0, done.stderr
    runs = [run for run in runs_of(product) if run["declared_session"] == "bracketed"]
    assert [run["facts"]["order"]["sequence"] for run in runs] == [2, 3]
    assert {run["status"] for run in runs} == {"parsed"}
    clock = runs[0]["facts"]["clock"]
    assert (
        abs(clock["external_us"] - clock["local_us"]) <= clock["interval_hard_bound_us"]
    )
    assert clock["suspicions"] == []


def energies_of(product, session, meters):
    """Wait until the energy of a session's runs is computed."""
    reader = product.client("read-token")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        runs = reader.get_all("runs/", study="by-agent")
        by_id = {run["id"]: run for run in runs if run["declared_session"] == session}
        energies = reader.get("energy/", study="by-agent")["runs"]
        own = [energy for energy in energies if energy["run_ids"][0] in by_id]
        if len(own) == meters * len(by_id) > 0:
            return [(by_id[energy["run_ids"][0]], energy) for energy in own]
        time.sleep(0.1)
    raise AssertionError(energies)


def test_csv_log_with_a_wrong_clock_gives_the_energy_of_runs(
    product, enrolled, tmp_path
):
    began_s = time.time()
    words = ["--repetitions", "2", "--session", "metered", "--hypervisor", "KVM"]
    assert enrolled("run", "hackbench", *words).returncode == 0
    log = tmp_path / "meter.csv"
    # 100 W at the start, and 10 W more every second.
    rows = (
        f"{began_s + 3600 + tenth / 10:.3f},{100 + tenth:.1f}\n"
        for tenth in range(int(10 * (time.time() - began_s)) + 10)
    )
    log.write_text("time,watts\n" + "".join(rows))

    done = enrolled("power", "csv", log, "--clock-ahead", "3600")

    assert done.returncode == 0, done.stderr
    for run, energy in energies_of(product, "metered", 1):
        start, length_us = run["facts"]["clock"]["start"], energy["duration_s"] * 1e6
        middle_s = (start["server_wall_us"] + length_us / 2) / 1e6 - began_s
        truth_j = energy["duration_s"] * (100 + 10 * middle_s)
        assert abs(energy["energy_j"] / truth_j - 1) < 0.001
        assert energy["measured_s"] == energy["duration_s"]
        assert energy["is_external_clock"]


@contextmanager
def counting(folder, watts):
    """Increase a processor's energy counter at a known power."""
    zone = folder / "intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0\n")
    (zone / "max_energy_range_uj").write_text("262143328850\n")
    counter, began_s, done = zone / "energy_uj", time.monotonic(), threading.Event()

    def count():
        second_zone = zone / "next"
        while not done.is_set():
            second_zone.write_text(
                f"{int((time.monotonic() - began_s) * watts * 1e6)}\n"
            )
            second_zone.replace(counter)
            time.sleep(0.002)

    thread = threading.Thread(target=count)
    thread.start()
    while not counter.exists():
        time.sleep(0.01)
    yield folder
    done.set()
    thread.join()


def await_more_readings(home):
    """Wait for three more readings, however slowly they arrive."""

    def count():
        pieces = (path.read_text() for path in home.glob("power/*.piece"))
        return sum(piece.count("\n[") for piece in pieces)

    before, deadline = count(), time.monotonic() + 60
    while count() < before + 3:
        assert time.monotonic() < deadline, "no readings come"
        time.sleep(0.02)


def test_recorded_meter_gives_the_energy_of_runs(product, enrolled, tmp_path):
    with counting(tmp_path / "powercap", watts=50) as folder:
        reading = enrolled.started("power", "rapl", folder, "--every", "0.05")
        assert " recording rapl " in reading.stderr.readline()
        await_more_readings(enrolled.home)
        words = ["--repetitions", "1", "--session", "counted", "--hypervisor", "KVM"]
        assert enrolled("run", "hackbench", *words, lasts_s=3).returncode == 0
        await_more_readings(enrolled.home)
        reading.terminate()
        outputs = reading.communicate(timeout=60)[1]

    assert reading.returncode == 0, outputs
    ((_, energy),) = energies_of(product, "counted", 1)
    assert energy["is_cpu_only"]
    # A busy machine may delay the counter or its reader by some tenths of 3 seconds.
    assert energy["duration_s"] >= 3
    assert abs(energy["mean_w"] / 50 - 1) < 0.15
    assert 0.8 * energy["duration_s"] < energy["measured_s"] <= energy["duration_s"]
