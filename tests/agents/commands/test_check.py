"""`check` says what would be read of files, without a server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agents import build

DATA = Path(__file__).parents[2] / "data"
HACKBENCH = DATA / "hackbench/process.txt"
TWO_SYSTEMS = DATA / "phoronix/composite-5.2.txt"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Return the folder with the agent and the readers, without our sources."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / build.NAME).write_bytes(build.build_archive())
    (folder / build.READERS_NAME).write_bytes(build.build_readers())
    return folder


def check(program, *arguments, text=""):
    command = [sys.executable, "-I", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, input=text)


def test_a_read_file_is_summarized(programs):
    done = check(programs / build.NAME, "check", HACKBENCH)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{HACKBENCH}: read",
        "  hackbench: 1 runs, 1 values",
    ]


def test_the_readers_run_alone(programs, tmp_path):
    alone = tmp_path / build.READERS_NAME
    alone.write_bytes((programs / build.READERS_NAME).read_bytes())

    done = check(alone, "--json", "-", text=HACKBENCH.read_text())

    assert done.returncode == 0, done.stderr
    (file,) = json.loads(done.stdout)["files"]
    assert (file["name"], file["state"]) == ("-", "read")
    assert file["runs"][0]["samples"][0]["value"] == 0.721


def test_systems_of_one_file_are_named_and_can_be_chosen(programs):
    whole = check(programs / build.NAME, "check", TWO_SYSTEMS)
    guest = check(
        *(programs / build.NAME, "check", "--json", "--part", "KVM guest", TWO_SYSTEMS)
    )

    assert whole.returncode == 7
    assert f"{TWO_SYSTEMS}: unassigned" in whole.stdout
    assert 'part "bare metal": phoronix 5.2.1: 9 runs, 9 values' in whole.stdout
    (file,) = json.loads(guest.stdout)["files"]
    assert {run["part"] for run in file["runs"]} == {"KVM guest"}
    assert file["state"] == "partly"  # one test failed


def test_a_file_of_no_tool_fails_the_check(programs, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("shopping list\n")

    done = check(programs / build.NAME, "check", notes)

    assert done.returncode == 7
    assert 'Line 1 "shopping list": this is not the output of a known' in done.stdout


def test_a_missing_file_is_a_usage_error(programs):
    done = check(programs / build.NAME, "check", "/nonexistent/file")

    assert done.returncode == 2
    assert "/nonexistent/file: No such file" in done.stderr


def test_without_the_readers_the_remedy_is_named(tmp_path):
    agent = tmp_path / build.NAME
    agent.write_bytes(build.build_archive())

    done = check(agent, "check", HACKBENCH)

    assert done.returncode == 1
    assert "/agent/virtlab-readers.pyz" in done.stderr
