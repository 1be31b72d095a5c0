"""spool: list, send and retry."""

import uuid

import pytest

from agents.local_state import open_spool
from tests.agents.packed_agent import problem


@pytest.fixture
def waiting(enrolled):
    return [
        open_spool().save({"key": str(uuid.uuid4()), "output": "x"}) for _ in range(2)
    ]


def test_list_shows_waiting_runs(call, waiting):
    code, out, err = call("spool", "list")

    assert (code, sorted(out.split())) == (0, sorted(waiting))
    assert "2 wait" in err


def test_send_sends_them(call, waiting, server):
    code, _, err = call("spool", "send")

    assert (code, "2 runs are on the server." in err) == (0, True)
    assert set(server.stored) == set(waiting)


def test_refused_token_has_its_own_exit_code(call, waiting, server):
    server.faults = [(403, {}, problem("permission_denied", "May not."))]

    code, _, err = call("spool", "send")

    assert (code, "May not." in err) == (4, True)
    assert len(open_spool().waiting()) == 2


def test_rejected_shows_reasons(call, waiting):
    open_spool().reject(waiting[0], "unknown_study (HTTP 422): no study\n")

    code, out, _ = call("spool", "rejected")

    assert code == 0
    assert out.startswith(f"{waiting[0]}\nunknown_study")


def test_retry_moves_runs_back(call, waiting):
    for key in waiting:
        open_spool().reject(key, "no")

    assert call("spool", "retry", waiting[0])[0] == 0
    assert open_spool().waiting() == waiting[:1]
    assert call("spool", "retry")[0] == 0
    assert sorted(open_spool().waiting()) == sorted(waiting)


def test_unknown_key_is_a_usage_error(call, waiting):
    code, _, err = call("spool", "retry", "nonsense")

    assert (code, "nonsense" in err) == (2, True)


def test_unusable_folder_is_reported(call, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VIRTLAB_AGENT", str(tmp_path / "file"))

    code, _, err = call("spool", "list")

    assert (code, "Not a directory" in err) == (1, True)
