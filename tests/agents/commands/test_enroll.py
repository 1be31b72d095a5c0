"""enroll: server and token are checked before they are saved."""

import io
import json
import stat
import sys

import pytest

from tests.agents.packed_agent import TOKEN, problem


@pytest.fixture
def enroll(call, server, home, machine):
    def run(*words, token=TOKEN):
        return call("enroll", "--server", server.url + "/", "--token", token, *words)

    return run


def test_token_file_is_private(enroll, home, server):
    code, _, err = enroll("--study", "study")

    path = home / "agent.json"
    assert (code, "Virtlab 1.0 responds." in err) == (0, True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    stored = json.loads(path.read_text())
    assert (stored["server"], stored["token"]) == (server.url, TOKEN)
    assert TOKEN not in err
    assert server.stored == {}


def test_token_is_read_from_standard_input(enroll, home, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(f"{TOKEN}\n".encode()))
    monkeypatch.setattr(sys, "stdin", stdin)

    code, _, _ = enroll(token="-")

    assert code == 0
    assert json.loads((home / "agent.json").read_text())["token"] == TOKEN


@pytest.mark.parametrize(
    "server", ["http://[::1", "http://alice:hunter2@virtlab", "http://virtlab/?x=1"]
)
def test_invalid_url_is_reported_without_its_password(call, home, server):
    code, _, err = call("enroll", "--server", server, "--token", TOKEN)

    assert (code, "--server must be a URL such as https://" in err) == (2, True)
    assert "hunter2" not in err


def test_wrong_token_is_not_saved(enroll, home):
    code, _, err = enroll(token="vl_wrong")

    assert (code, err.strip().splitlines()[-1]) == (4, "Unknown token.")
    assert not (home / "agent.json").exists()


def test_missing_study_is_reported_and_nothing_saved(enroll, home, server):
    code, _, err = enroll("--study", "kvm")

    assert code == 4
    assert "has no study kvm" in err
    assert "--make-study" in err
    assert not (home / "agent.json").exists()
    assert not [path for path, _, _ in server.requests if path.endswith("studies/")]


def test_make_study_creates_the_study(enroll, home, server):
    # The first request is the empty upload that checks the token.
    server.faults = [400, (201, {}, {"slug": "kvm", "visibility": "private"})]

    code, _, err = enroll("--study", "kvm", "--make-study")

    assert code == 0
    assert "Created study kvm (private)." in err
    (body,) = [body for path, _, body in server.requests if path.endswith("studies/")]
    assert json.loads(body) == {"slug": "kvm", "title": "kvm"}
    assert json.loads((home / "agent.json").read_text())["study"] == "kvm"


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 4), ("no\n", 4)])
def test_user_is_asked_to_create_the_study(enroll, server, monkeypatch, answer, code):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    server.faults = [400, (201, {}, {"slug": "kvm", "visibility": "private"})]
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    assert enroll("--study", "kvm")[0] == code


def test_archived_study_is_reported(enroll, server):
    server.studies["old"] = {"slug": "old", "archived_at": "2026-01-02T03:04:05Z"}

    code, _, err = enroll("--study", "old")

    assert (code, "study reopen old" in err) == (0, True)


def test_unavailable_server_is_reported(call, home):
    code, _, err = call("enroll", "--server", "http://127.0.0.1:9", "--token", "x")

    assert code == 5
    assert "refused" in err
    assert not home.exists()


def test_unavailable_time_server_is_reported(enroll, home):
    code, _, err = enroll("--time-server", "tcp://127.0.0.1:9")

    assert (code, "does not answer" in err) == (5, True)
    assert not (home / "agent.json").exists()


@pytest.mark.parametrize(
    "server",
    ["virtlab.example", "ftp://a", "http://", "https://a:22x", "http://a:99999"],
)
def test_invalid_url_is_a_usage_error(call, home, server):
    code, _, err = call("enroll", "--server", server, "--token", "x")

    assert (code, f"such as https://virtlab.example.org, not {server}" in err) == (
        2,
        True,
    )


def test_native_machine_is_registered_with_facts(enroll, server, machine):
    machine(microcode="0x1")
    server.faults = [
        (400, {}, problem("invalid", "Send a key.")),
        (201, {}, {"slug": "alpha"}),
    ]

    code, _, _ = enroll("--host", "alpha")

    path, _, body = server.requests[-1]
    host = json.loads(body)
    assert (code, path) == (0, "/api/v1/hosts/")
    assert (host["slug"], host["facts"]["microcode"]) == ("alpha", "0x1")
    assert "steal" not in host["facts"]


def test_guest_registers_no_facts(enroll, server):
    server.faults = [
        (400, {}, problem("invalid", "Send a key.")),
        (201, {}, {"slug": "alpha"}),
    ]

    enroll("--host", "alpha")

    assert json.loads(server.requests[-1][2]) == {"slug": "alpha", "facts": {}}


def test_registered_machine_is_unchanged(enroll, server, home):
    conflict = problem("host_exists", "There is one.")
    server.faults = [(400, {}, problem("invalid", "Send a key.")), (409, {}, conflict)]

    code, _, err = enroll("--host", "alpha")

    assert (code, "already registered" in err) == (0, True)
    assert (home / "agent.json").exists()
