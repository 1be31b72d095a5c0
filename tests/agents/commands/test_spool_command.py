"""spool: look, send, and let refused runs try again."""

import uuid

import pytest

from agents.home import open_spool
from tests.agents.stage import problem


@pytest.fixture
def waiting(enrolled):
    return [open_spool().save({"key": str(uuid.uuid4())}) for _ in range(2)]


def test_it_lists_what_waits(call, waiting):
    code, out, said = call("spool", "list")

    assert (code, sorted(out.split())) == (0, sorted(waiting))
    assert "2 wait" in said


def test_it_sends(call, waiting, server):
    code, _, said = call("spool", "send")

    assert (code, "2 runs are on the server." in said) == (0, True)
    assert set(server.stored) == set(waiting)


def test_a_refused_token_is_its_own_exit_code(call, waiting, server):
    server.faults = [(403, {}, problem("permission_denied", "May not."))]

    code, _, said = call("spool", "send")

    assert (code, "May not." in said) == (4, True)
    assert len(open_spool().waiting()) == 2


def test_it_shows_why_runs_were_refused(call, waiting):
    open_spool().reject(waiting[0], "unknown_study (HTTP 422): no study\n")

    code, out, _ = call("spool", "rejected")

    assert code == 0
    assert out.startswith(f"{waiting[0]}\nunknown_study")


def test_it_lets_them_wait_again(call, waiting):
    for key in waiting:
        open_spool().reject(key, "no")

    assert call("spool", "retry", waiting[0])[0] == 0
    assert open_spool().waiting() == waiting[:1]
    assert call("spool", "retry")[0] == 0
    assert sorted(open_spool().waiting()) == sorted(waiting)


def test_an_unknown_key_is_a_wrong_use(call, waiting):
    code, _, said = call("spool", "retry", "nonsense")

    assert (code, "nonsense" in said) == (2, True)


def test_a_folder_that_cannot_be_made_is_said(call, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VIRTLAB_AGENT", str(tmp_path / "file"))

    code, _, said = call("spool", "list")

    assert (code, "Not a directory" in said) == (1, True)
