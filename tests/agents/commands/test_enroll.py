"""enroll: server and token are checked before they are kept."""

import io
import json
import stat
import sys

import pytest

from tests.agents.stage import TOKEN, problem


@pytest.fixture
def enroll(call, server, home, machine):
    def run(*words, token=TOKEN):
        return call("enroll", "--server", server.url + "/", "--token", token, *words)

    return run


def test_it_keeps_the_token_for_its_owner_alone(enroll, home, server):
    code, _, said = enroll("--study", "study")

    path = home / "agent.json"
    assert (code, "Virtlab 1.0 answers." in said) == (0, True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    stored = json.loads(path.read_text())
    assert (stored["server"], stored["token"]) == (server.url, TOKEN)
    assert TOKEN not in said
    assert server.stored == {}


def test_a_token_on_standard_input_stands_in_no_list_of_processes(
    enroll, home, monkeypatch
):
    given = io.TextIOWrapper(io.BytesIO(f"{TOKEN}\n".encode()))
    monkeypatch.setattr(sys, "stdin", given)

    code, _, _ = enroll(token="-")

    assert code == 0
    assert json.loads((home / "agent.json").read_text())["token"] == TOKEN


@pytest.mark.parametrize(
    "server", ["http://[::1", "http://alice:hunter2@virtlab", "http://virtlab/?x=1"]
)
def test_an_address_that_cannot_be_one_is_said_without_its_password(call, home, server):
    code, _, said = call("enroll", "--server", server, "--token", TOKEN)

    assert (code, "--server is an address such as https://" in said) == (2, True)
    assert "hunter2" not in said


def test_a_wrong_token_is_not_kept(enroll, home):
    code, _, said = enroll(token="vl_wrong")

    assert (code, said.strip().splitlines()[-1]) == (4, "Unknown token.")
    assert not (home / "agent.json").exists()


def test_a_study_that_is_not_there_is_said_and_nothing_is_kept(enroll, home, server):
    code, _, said = enroll("--study", "kvm")

    assert code == 4
    assert "There is no study kvm" in said
    assert "--make-study" in said
    assert not (home / "agent.json").exists()
    assert not [path for path, _, _ in server.requests if path.endswith("studies/")]


def test_a_study_is_made_where_that_is_wished(enroll, home, server):
    # Asked for an upload of nothing first, as ever: what looks at the token.
    server.faults = [400, (201, {}, {"slug": "kvm", "visibility": "private"})]

    code, _, said = enroll("--study", "kvm", "--make-study")

    assert code == 0
    assert "Made: the study kvm (private)." in said
    (body,) = [body for path, _, body in server.requests if path.endswith("studies/")]
    assert json.loads(body) == {"slug": "kvm", "title": "kvm"}
    assert json.loads((home / "agent.json").read_text())["study"] == "kvm"


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 4), ("no\n", 4)])
def test_a_person_is_asked_whether_to_make_it(
    enroll, server, monkeypatch, answer, code
):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    server.faults = [400, (201, {}, {"slug": "kvm", "visibility": "private"})]
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    assert enroll("--study", "kvm")[0] == code


def test_a_study_in_the_archive_is_named(enroll, server):
    server.studies["old"] = {"slug": "old", "archived_at": "2026-01-02T03:04:05Z"}

    code, _, said = enroll("--study", "old")

    assert (code, "study reopen old" in said) == (0, True)


def test_a_server_that_is_away_is_said(call, home):
    code, _, said = call("enroll", "--server", "http://127.0.0.1:9", "--token", "x")

    assert code == 5
    assert "refused" in said
    assert not home.exists()


def test_a_time_server_that_does_not_answer_is_said(enroll, home):
    code, _, said = enroll("--time-server", "tcp://127.0.0.1:9")

    assert (code, "does not answer" in said) == (5, True)
    assert not (home / "agent.json").exists()


@pytest.mark.parametrize(
    "server",
    ["virtlab.example", "ftp://a", "http://", "https://a:22x", "http://a:99999"],
)
def test_what_is_no_address_is_a_wrong_use(call, home, server):
    code, _, said = call("enroll", "--server", server, "--token", "x")

    assert (code, f"such as https://virtlab.example.org, not {server}" in said) == (
        2,
        True,
    )


def test_a_native_machine_is_registered_with_its_facts(enroll, server, machine):
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


def test_a_guest_says_nothing_of_its_machine(enroll, server):
    server.faults = [
        (400, {}, problem("invalid", "Send a key.")),
        (201, {}, {"slug": "alpha"}),
    ]

    enroll("--host", "alpha")

    assert json.loads(server.requests[-1][2]) == {"slug": "alpha", "facts": {}}


def test_a_machine_that_is_registered_already_stays_as_it_is(enroll, server, home):
    taken = problem("host_exists", "There is one.")
    server.faults = [(400, {}, problem("invalid", "Send a key.")), (409, {}, taken)]

    code, _, said = enroll("--host", "alpha")

    assert (code, "registered already" in said) == (0, True)
    assert (home / "agent.json").exists()
