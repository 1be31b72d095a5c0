"""The lock that allows one measurement per host, between real processes."""

import os
import subprocess
import sys
import time

import pytest

from agents.host_lock import HostLock, lock_path

HOLD = """
import sys, time
from agents.host_lock import HostLock
with HostLock(print, is_shared=sys.argv[1] == "shared"):
    print("locked", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("VIRTLAB_HOST_LOCK", str(tmp_path / "host.lock"))


@pytest.fixture
def hold():
    """Measure in another process for some seconds."""
    processes = []

    def start(kind, seconds):
        words = [sys.executable, "-c", HOLD, kind, str(seconds)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout.readline() == "locked\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_measurement_waits_for_another_one_and_names_it(hold):
    other, messages = hold("exclusive", 1.5), []

    before_s = time.monotonic()
    with HostLock(messages.append) as lock:
        waited_s = time.monotonic() - before_s

    assert waited_s > 0.5
    assert not lock.is_ignored
    assert f"process {other.pid}" in messages[0]
    assert "--force" in messages[0]


def test_forced_measurement_does_not_wait_and_is_marked(hold):
    hold("exclusive", 60)

    with HostLock([].append, is_forced=True) as lock:
        assert lock.is_ignored


def test_forced_measurement_on_a_free_host_is_not_marked():
    with HostLock([].append, is_forced=True) as lock:
        assert not lock.is_ignored


def test_killed_measurement_releases_the_lock(hold):
    other = hold("exclusive", 60)
    other.kill()
    other.wait()
    messages = []

    with HostLock(messages.append):
        assert messages == []


def test_slots_of_a_corun_share_the_lock(hold):
    hold("shared", 60)
    messages = []

    with HostLock(messages.append, is_shared=True):
        assert messages == []


def test_machines_measured_from_here_have_their_own_locks(hold):
    hold("exclusive", 60)
    messages = []

    with HostLock(messages.append, target="ssh vm-a"):
        assert messages == []


def test_file_of_another_kind_or_no_folder_does_not_stop_a_measurement(
    tmp_path, monkeypatch
):
    messages, done = [], []
    os.symlink("/etc/hostname", lock_path())
    with HostLock(messages.append):
        done.append("link")
    monkeypatch.setenv("VIRTLAB_HOST_LOCK", str(tmp_path / "missing" / "lock"))
    with HostLock(messages.append):
        done.append("no folder")

    assert done == ["link", "no folder"]
