"""doctor: says what is well, what is worth knowing and what is wrong."""

import json
import os

import pytest

from agents.commands import doctor as checkup
from agents.home import Enrolment, open_spool, save_enrolment
from tests.agents.stage import TOKEN, problem


@pytest.fixture
def doctor(call):
    def run():
        code, out, _ = call("doctor", "--json")
        return code, {each["what"]: each for each in json.loads(out)}

    return run


def test_all_is_well(doctor, enrolled, server):
    server.faults = [(400, {}, problem("invalid", "Send a key."))]

    code, found = doctor()

    assert code == 0
    assert found["server"]["state"] == found["token"]["state"] == "ok"
    assert "Virtlab 1.0" in found["server"]["sentence"]
    assert {"python", "folder", "spool", "clock", "platform", "tools"} <= set(found)


def test_it_is_readable_too(call, enrolled):
    code, out, _ = call("doctor")

    assert code == 0
    assert out.splitlines()[0].startswith("ok    python")


def test_without_enrolment_it_says_how(doctor, home):
    code, found = doctor()

    assert code == 7
    assert "enroll --server" in found["server"]["sentence"]


def test_a_server_that_is_away_is_wrong(doctor, home):
    save_enrolment(Enrolment("http://127.0.0.1:9", TOKEN))

    code, found = doctor()

    assert (code, found["server"]["state"]) == (7, "WRONG")


def test_a_token_that_may_not_upload_is_wrong(doctor, enrolled, server):
    server.faults = [(403, {}, problem("x", "May read only."))]

    code, found = doctor()

    assert (code, found["server"]["sentence"]) == (7, "May read only.")


def test_a_token_that_others_can_read_is_wrong(doctor, enrolled, server):
    os.chmod(enrolled / "agent.json", 0o644)

    assert doctor()[0] == 7


def test_a_nearly_full_disk_is_wrong(doctor, enrolled, monkeypatch):
    monkeypatch.setattr(checkup, "LEAST_FREE_BYTES", 10**18)

    code, found = doctor()

    assert (code, found["folder"]["state"]) == (7, "WRONG")


def test_refused_runs_are_worth_knowing(doctor, enrolled):
    key = open_spool().save({"key": "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"})
    open_spool().reject(key, "no")

    code, found = doctor()

    assert code == 0
    assert "1 were refused" in found["spool"]["sentence"]


def test_a_clock_that_is_off_is_worth_knowing(enrolled, monkeypatch):
    from agents.timing.asking import Stamp

    off = Stamp("c", 1_000_000, 0, 1_060_000, 0, 400, 8)
    monkeypatch.setattr(checkup, "take_stamp", lambda _: off)

    finding = checkup._clock("udp://127.0.0.1:9")

    assert finding.state == "note"
    assert "+60.00 ms" in finding.sentence
    assert "suspect" in finding.sentence
