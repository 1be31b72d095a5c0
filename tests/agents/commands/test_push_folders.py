"""push of folders: each is a system, looked at first, stored once; by a real server."""

from pathlib import Path

import pytest

from agents.home import Enrolment, open_spool, save_enrolment
from benchmarks.models import Run, System

CPU = Path(__file__).parents[2] / "data" / "sysbench" / "cpu-1thread.txt"


@pytest.fixture
def results(tmp_path):
    """Outputs of the machine and of a guest on it, and what lies beside them."""
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
def push(transactional_db, live_server, home, call, study, host, token, results):
    save_enrolment(Enrolment(live_server.url, token, study="study", host="alpha"))

    def run(*words):
        return call("push", *words, results)

    return run


def test_it_says_what_the_folders_are_and_stores_nothing(push):
    code, printed, said = push()

    assert code == 0
    assert "results/native: 1 read; native, on alpha" in printed
    assert "results/kvm-8.2: 1 read; KVM 8.2, on alpha" in printed
    assert "notes.md" in printed
    assert "config" not in printed
    assert "link.txt" not in printed
    assert "--yes" in said
    assert not Run.objects.exists()


def test_yes_stores_it_and_again_stores_nothing_twice(push):
    first, again = push("--yes"), push("--yes")

    assert (first[0], again[0]) == (0, 0)
    assert "2 stored, 0 stored before" in first[2]
    assert "0 stored, 2 stored before" in again[2]
    assert {run.system.hypervisor for run in Run.objects.all()} == {"native", "KVM"}
    assert not open_spool().number()


def test_what_a_folder_does_not_say_is_said_beside_it(push):
    folder = "results/kvm-8.2: vcpus=4, guest_os=Debian 12, cache=none"

    assert push("--yes", "--file-dates", "--folder", folder)[0] == 0
    kvm = System.objects.get(hypervisor="KVM")
    assert (kvm.vcpus, kvm.guest_os, kvm.options) == (4, "Debian 12", {"cache": "none"})


def test_a_folder_of_no_known_platform_asks_for_its_system(push, results):
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
def test_what_makes_no_sense_is_said_before_anything_is_sent(push, words):
    code, _, said = push(*words)

    assert code == 2
    assert said
    assert not Run.objects.exists()


def test_an_empty_folder_is_said(call, enrolled, tmp_path):
    (tmp_path / "empty").mkdir()

    code, _, said = call("push", tmp_path / "empty")

    assert (code, "no file" in said) == (2, True)


def test_a_server_that_is_away_keeps_nothing_and_says_so(
    call, home, results, monkeypatch
):
    monkeypatch.setattr("agents.client.Client._send", _away)
    save_enrolment(Enrolment("http://127.0.0.1:9", "vl_a_b", "study", "alpha"))

    code, _, said = call("push", results)

    assert code == 5
    assert "again" in said


def _away(*_words):
    from agents.client import UnreachableError

    raise UnreachableError("It did not answer.")
