"""doctor: successful checks, notes and problems."""

import json
import os

import pytest

from agents.commands import doctor as checkup
from agents.local_state import Enrolment, open_spool, save_enrolment
from agents.spool_delivery import update_advice
from tests.agents.packed_agent import TOKEN, problem


@pytest.fixture
def doctor(call):
    def run():
        code, out, _ = call("doctor", "--json")
        return code, {result["what"]: result for result in json.loads(out)}

    return run


def test_all_checks_pass(doctor, enrolled, server):
    server.faults = [(400, {}, problem("invalid", "Send a key."))]

    code, results = doctor()

    assert code == 0
    assert results["server"]["state"] == results["token"]["state"] == "ok"
    assert "Virtlab 1.0" in results["server"]["sentence"]
    assert {"python", "folder", "spool", "clock", "platform", "tools"} <= set(results)


@pytest.mark.parametrize(
    ("server_version", "is_newer"),
    [("0.1.0", False), ("0.0.9", False), ("0.2.0", True), ("1.0", True), ("x", False)],
)
def test_newer_server_gives_advice(monkeypatch, server_version, is_newer):
    monkeypatch.setattr("agents.spool_delivery.VERSION", "0.1.0")

    assert bool(update_advice(server_version)) == is_newer


def test_output_is_readable_text(call, enrolled):
    code, out, _ = call("doctor")

    assert code == 0
    assert out.splitlines()[0].startswith("ok    python")


def test_missing_enrolment_shows_the_command(doctor, home):
    code, results = doctor()

    assert code == 7
    assert "enroll --server" in results["server"]["sentence"]


def test_unavailable_server_is_a_problem(doctor, home):
    save_enrolment(Enrolment("http://127.0.0.1:9", TOKEN))

    code, results = doctor()

    assert (code, results["server"]["state"]) == (7, "WRONG")


def test_token_without_upload_right_is_a_problem(doctor, enrolled, server):
    server.faults = [(403, {}, problem("x", "May read only."))]

    code, results = doctor()

    assert (code, results["server"]["sentence"]) == (7, "May read only.")


def test_token_file_readable_by_others_is_a_problem(doctor, enrolled, server):
    os.chmod(enrolled / "agent.json", 0o644)

    assert doctor()[0] == 7


def test_nearly_full_disk_is_a_problem(doctor, enrolled, monkeypatch):
    monkeypatch.setattr(checkup, "MIN_FREE_BYTES", 10**18)

    code, results = doctor()

    assert (code, results["folder"]["state"]) == (7, "WRONG")


def test_rejected_runs_are_a_note(doctor, enrolled):
    key = open_spool().save({"key": "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"})
    open_spool().reject(key, "no")

    code, results = doctor()

    assert code == 0
    assert "1 rejected" in results["spool"]["sentence"]


def test_wrong_clock_is_a_note(enrolled, monkeypatch):
    from agents.timing.time_client import ClockStamp

    off = ClockStamp("c", 1_000_000, 0, 1_060_000, 0, 400, 8)
    monkeypatch.setattr(checkup, "take_stamp", lambda _: off)

    finding = checkup._clock("udp://127.0.0.1:9")

    assert finding.state == "note"
    assert "+60.00 ms" in finding.message
    assert "flagged" in finding.message
