"""The agent against the running product: from the download to a parsed run."""

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
OUTPUT = DATA / "hdparm" / "tT-in-tcg-guest.txt"
HACKBENCH = DATA / "hackbench" / "process.txt"

pytestmark = pytest.mark.product


@pytest.fixture(scope="module")
def agent(product, tmp_path_factory):
    """Run the downloaded file as a user of another machine would."""
    folder = tmp_path_factory.mktemp("agent")
    path = folder / "virtlab-agent.pyz"
    with urllib.request.urlopen(f"{product.url}/agent/virtlab-agent.pyz") as answer:
        path.write_bytes(answer.read())

    tool = folder / "bin" / "hackbench"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncat {HACKBENCH}\n")
    tool.chmod(0o755)
    environment = {
        "PATH": f"{tool.parent}:{os.environ['PATH']}",
        "VIRTLAB_AGENT": str(folder / "home"),
    }

    def run(*words, given=None):
        return subprocess.run(
            [sys.executable, "-I", str(path), *map(str, words)],
            env=environment,
            input=given,
            cwd=folder,
            capture_output=True,
            text=True,
        )

    return run


@pytest.fixture(scope="module")
def enrolled(product, agent):
    product.client().create_campaign({"slug": "by-agent", "title": "By the agent"})
    token = (product.var / "upload-token").read_text()
    words = ["--campaign", "by-agent", "--host", "agents-machine"]

    done = agent("enroll", "--server", product.url, "--token", "-", *words, given=token)

    assert done.returncode == 0, done.stderr
    return agent


def runs_of(product):
    reader = product.client("read-token")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        runs = list(reader.get_all("runs/", campaign="by-agent"))
        if runs and all(run["status"] != "received" for run in runs):
            return runs
        time.sleep(0.1)
    raise AssertionError(runs)


def test_a_wrong_token_is_refused(product, agent):
    done = agent("enroll", "--server", product.url, "--token", "vl_abcdef_wrong")

    assert done.returncode == 4
    assert "token" in done.stderr


def test_the_doctor_finds_it_well(enrolled):
    done = enrolled("doctor")

    assert done.returncode == 0, done.stdout
    assert "token     may upload" in done.stdout
    assert " ms against " in done.stdout


def test_what_a_tool_printed_becomes_a_run_with_its_platform(product, enrolled):
    done = enrolled("push", "--hypervisor", "KVM", OUTPUT)

    assert done.returncode == 0, done.stderr
    (run,) = runs_of(product)
    assert (run["status"], run["tool"]) == ("parsed", "hdparm")
    assert run["facts"]["file"]["name"] == OUTPUT.name
    assert run["facts"]["threads"] >= 1
    assert {"platform", "evidence"} <= run["facts"].keys()


def test_an_unknown_campaign_is_laid_aside_with_the_servers_sentence(enrolled):
    done = enrolled("push", "--hypervisor", "KVM", "--campaign", "nowhere", OUTPUT)

    assert done.returncode == 4
    assert "unknown_campaign" in enrolled("spool", "rejected").stdout


def test_a_run_sent_twice_is_one(product, enrolled):
    enrolled("push", "--later", "--hypervisor", "KVM", OUTPUT)
    before = len(runs_of(product))
    spool = enrolled("spool", "list").stdout.split()

    assert len(spool) == 1
    assert enrolled("spool", "send").returncode == 0
    assert len(runs_of(product)) == before + 1


def test_a_tool_is_run_between_stamps_of_the_server(product, enrolled):
    words = ["--repetitions", "2", "--session", "bracketed", "--hypervisor", "KVM"]

    done = enrolled("run", "hackbench", *words)

    assert done.returncode == 0, done.stderr
    runs = [run for run in runs_of(product) if run["session"] == "bracketed"]
    assert [run["facts"]["order"]["sequence"] for run in runs] == [2, 3]
    assert {run["status"] for run in runs} == {"parsed"}
    clock = runs[0]["facts"]["clock"]
    assert (
        abs(clock["external_us"] - clock["local_us"]) <= clock["interval_hard_bound_us"]
    )
    assert clock["suspicions"] == []
