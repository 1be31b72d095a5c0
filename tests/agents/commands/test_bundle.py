"""bundle: waiting documents are written to signed files, and forgotten on request."""

import gzip
import hashlib
import hmac
import json
import uuid

import pytest

from agents.commands import bundle as bundles
from agents.local_state import Enrolment, open_spool, save_enrolment

TOKEN = "vl_0a1b2c3d4e_a_secret-with_underscores"


@pytest.fixture
def offline(home, machine):
    save_enrolment(Enrolment("https://far.example.org", TOKEN, host="alpha"))
    return home


@pytest.fixture
def waiting(offline):
    spool = open_spool()
    keys = [spool.save({"key": str(uuid.uuid4()), "output": "x\n"}) for _ in range(3)]
    return [*keys, spool.save({"key": str(uuid.uuid4())}, bundles.POWER_SUFFIX)]


def lines_of(path):
    return gzip.decompress(path.read_bytes()).split(b"\n")


def test_bundle_contains_waiting_documents_and_machine(call, waiting, tmp_path):
    code, out, err = call("bundle", "write", tmp_path / "stick")

    [path] = (tmp_path / "stick").iterdir()
    assert (code, out.strip()) == (0, str(path))
    assert "4 runs written" in err
    _, head, *documents, last = lines_of(path)
    assert last == b""
    assert json.loads(head)["documents"] == len(documents) == 5
    assert documents[0].startswith(b'host {"slug": "alpha"')
    spool = open_spool()
    sent = {line.partition(b" ")[2] for line in documents[1:]}
    assert sent == {spool.read(key) for key in waiting}
    # Bundles are transported by hand and may get lost.
    assert spool.count() == 4


def test_bundle_is_signed_without_revealing_the_secret(call, waiting, tmp_path):
    call("bundle", "write", tmp_path)

    [path] = tmp_path.glob("*.virtlab")
    content = gzip.decompress(path.read_bytes())
    first, _, signed = content.partition(b"\n")
    secret = b"a_secret-with_underscores"
    key = hmac.digest(secret, b"virtlab bundle 2", "sha256")
    expected = hmac.new(key, signed, hashlib.sha256).hexdigest()
    assert first.decode() == f"virtlab-bundle 2 0a1b2c3d4e {expected}"
    assert b"a_secret" not in content


def test_large_spool_becomes_several_files_within_server_limits(
    waiting, tmp_path, monkeypatch
):
    monkeypatch.setattr(bundles, "MAX_DOCUMENTS", 3)

    written = bundles.write_bundles(open_spool(), str(tmp_path), TOKEN)

    assert list(written.values()) == [3, 1]
    keys = [key for path in written for key in bundles.bundle_keys(path)]
    assert sorted(keys) == sorted(waiting)


def test_forget_removes_only_imported_documents(call, waiting, tmp_path):
    call("bundle", "write", tmp_path)
    later = open_spool().save({"key": str(uuid.uuid4())})
    [path] = tmp_path.glob("*.virtlab")

    code, _, err = call("bundle", "forget", path)

    assert (code, "4 runs removed from the spool." in err) == (0, True)
    assert open_spool().waiting() == [later]
    assert call("bundle", "forget", path)[0] == 0


def test_empty_spool_writes_no_bundle(call, offline, tmp_path):
    code, out, err = call("bundle", "write", tmp_path / "stick")

    assert (code, out, "No runs are waiting." in err) == (0, "", True)
    assert not (tmp_path / "stick").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"no bundle", mtime=0)],
    ids=["empty", "text", "gzip"],
)
def test_invalid_bundle_forgets_nothing(call, waiting, tmp_path, content):
    path = tmp_path / "wrong"
    path.write_bytes(content)

    code, _, err = call("bundle", "forget", path)

    assert (code, str(path) in err) == (2, True)
    assert open_spool().count() == 4


def test_unwritable_folder_is_reported(call, waiting, tmp_path):
    (tmp_path / "file").write_text("")

    code, _, err = call("bundle", "write", tmp_path / "file")

    assert (code, str(tmp_path / "file") in err) == (1, True)


def test_offline_enrolment_sends_no_request(call, home, machine):
    words = ("enroll", "--server", "https://far.example.org", "--offline", "--token")

    code, _, err = call(*words, TOKEN, "--host", "alpha")

    assert (code, "Saved without contacting the server" in err) == (0, True)
    assert json.loads((home / "agent.json").read_text())["host"] == "alpha"
    assert call(*words, "not-ours")[0] == 2
