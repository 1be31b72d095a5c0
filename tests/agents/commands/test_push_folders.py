"""push of folders to a real server: each folder is a system, previewed first and stored
once.
"""

import os
from pathlib import Path

import pytest

from agents.local_state import Enrolment, open_spool, save_enrolment
from benchmarks.models import Run, System

CPU = Path(__file__).parents[2] / "data" / "sysbench" / "cpu-1thread.txt"


@pytest.fixture
def results(tmp_path):
    """Outputs of a machine and of a guest, with other files."""
    folder = tmp_path / "results"
    for name in ("native", "kvm-8.2"):
        (folder / name).mkdir(parents=True)
        (folder / name / "cpu.txt").write_bytes(CPU.read_bytes())
    (folder / "kvm-8.2" / "notes.md").write_text("How I measured.\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("[core]\n")
    (folder / "native" / "link.txt").symlink_to("/etc/hostname")
    return folder


@pytest.fixture
def push(
    transactional_db, live_server, home, call, study, host, token, results, machine
):
    machine()
    save_enrolment(Enrolment(live_server.url, token, study="study", host="alpha"))

    def run(*words):
        return call("push", *words, results)

    return run


def test_preview_prints_systems_and_stores_nothing(push):
    code, printed, err = push()

    assert code == 0
    assert "results/native: 1 read; native, on alpha" in printed
    assert "results/kvm-8.2: 1 read; KVM 8.2, on alpha" in printed
    assert "notes.md" in printed
    assert "config" not in printed
    assert "link.txt" not in printed
    assert "--yes" in err
    assert not Run.objects.exists()


def test_yes_stores_the_runs_once(push):
    first, second = push("--yes"), push("--yes")

    assert (first[0], second[0]) == (0, 0)
    assert "2 stored, 0 already stored" in first[2]
    assert "0 stored, 2 already stored" in second[2]
    assert {run.system.hypervisor for run in Run.objects.all()} == {"native", "KVM"}
    assert not open_spool().count()


def test_folder_native_needs_a_confirmation_on_a_guest(push, machine):
    machine("unknown")

    code, _, error = push("--yes")

    assert (code, Run.objects.count()) == (4, 0)
    assert "--confirm-native" in error
    assert push("--yes", "--confirm-native")[0] == 0
    assert Run.objects.count() == 2


def test_names_in_another_encoding_are_stored(push, results):
    old = os.fsencode(results / "native" / "cpu.txt")
    os.rename(old, old.replace(b"cpu", b"caf\xe9"))

    assert push("--yes")[0] == 0
    assert Run.objects.filter(note__endswith="native/caf\\xe9.txt").exists()


def test_missing_properties_are_options(push):
    folder = "results/kvm-8.2: vcpus=4, guest_os=Debian 12, cache=none"

    assert push("--yes", "--file-dates", "--folder", folder)[0] == 0
    kvm = System.objects.get(hypervisor="KVM")
    assert (kvm.vcpus, kvm.guest_os, kvm.options) == (4, "Debian 12", {"cache": "none"})


def test_unknown_platform_needs_a_system(push, results):
    (results / "kvm-8.2").rename(results / "mine")

    looked, stored = push(), push("--yes")

    assert "results/mine: 1 read; on alpha; missing: hypervisor" in looked[1]
    assert "--folder" in looked[2]
    assert stored[0] == 4
    assert "results/mine" in stored[2]
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--later",),
        ("--system", "17"),
        ("--folder", "kvm"),
        ("--folder", "kvm: vcpus=two"),
        ("--folder", "kvm: fast"),
        ("-",),
        ("missing.txt",),
    ],
)
def test_invalid_options_send_nothing(push, words):
    code, _, err = push(*words)

    assert code == 2
    assert err
    assert not Run.objects.exists()


def test_empty_folder_is_reported(call, enrolled, tmp_path):
    (tmp_path / "empty").mkdir()

    code, _, err = call("push", tmp_path / "empty")

    assert (code, "no file" in err) == (2, True)


def test_unavailable_server_saves_nothing_and_is_reported(
    call, home, results, monkeypatch
):
    monkeypatch.setattr("agents.client.Client._send", _away)
    save_enrolment(Enrolment("http://127.0.0.1:9", "vl_a_b", "study", "alpha"))

    code, _, err = call("push", results)

    assert code == 5
    assert "again" in err


def _away(*_words):
    from agents.client import UnreachableError

    raise UnreachableError("It did not answer.")
