"""The command `verify`: signature, digest, and the saved key of the server."""

import pytest

from agents import errors, signatures
from agents.commands import verify
from agents.local_state import Enrolment, save_enrolment
from tests.agents.packed_agent import TOKEN
from tests.agents.test_signatures import KEY, SIGNATURE


@pytest.fixture
def signed(tmp_path):
    """A file with its signature and the key of its signer."""
    (tmp_path / "f").write_text("hello\n")
    (tmp_path / "f.minisig").write_text(SIGNATURE)
    (tmp_path / "key.pub").write_text(KEY)
    return tmp_path / "f"


def test_signed_file_is_verified_with_a_given_key(signed, call):
    for key in (signed.parent / "key.pub", KEY.splitlines()[1]):
        code, out, _ = call("verify", signed, "--key", key)

        assert code == errors.DONE
        assert "file:f version:1" in out


def test_changed_file_and_wrong_digest_are_reported(signed, call):
    key = signed.parent / "key.pub"

    code, out, _ = call("verify", signed, "--key", key, "--sha256", "0" * 64)
    assert code == errors.CHECK_FAILED
    assert not out

    signed.write_text("hallo\n")
    code, out, err = call("verify", signed, "--key", key)
    assert code == errors.CHECK_FAILED
    assert not out
    assert "NOT VERIFIED" in err


@pytest.mark.parametrize("missing", ["f", "f.minisig"])
def test_missing_files_are_named(signed, call, missing):
    (signed.parent / missing).unlink()

    code, _, err = call("verify", signed, "--key", signed.parent / "key.pub")

    assert code == errors.USAGE
    assert str(signed.parent / missing) in err


def test_key_of_the_server_is_saved_at_the_first_call(
    signed, call, enrolled, monkeypatch
):
    monkeypatch.setattr(verify, "_downloaded", lambda server: KEY)
    assert call("verify", signed)[0] == errors.DONE

    other = signatures.PublicKey(b"12345678", bytes(32))
    monkeypatch.setattr(verify, "_downloaded", lambda server: other.text)
    code, _, err = call("verify", signed)

    assert code == errors.DONE
    assert "Saved" not in err


def test_without_key_and_enrolment_the_remedy_is_named(signed, call, home):
    code, _, err = call("verify", signed)

    assert code == errors.NOT_ENROLLED
    assert "enroll" in err


def test_unreachable_server_is_named(signed, call, home):
    save_enrolment(Enrolment("http://127.0.0.1:9", TOKEN))

    code, _, err = call("verify", signed)

    assert code == errors.SERVER_UNAVAILABLE
    assert verify.KEY_PATH in err
