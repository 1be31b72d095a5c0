"""bundle: what waits is written into signed files, and forgotten when told."""

import gzip
import hashlib
import hmac
import json
import uuid

import pytest

from agents.commands import bundle as bundles
from agents.home import Enrolment, open_spool, save_enrolment

TOKEN = "vl_0a1b2c3d4e_a_secret-with_underscores"


@pytest.fixture
def offline(home, machine):
    save_enrolment(Enrolment("https://far.example.org", TOKEN, host="alpha"))
    return home


@pytest.fixture
def waiting(offline):
    spool = open_spool()
    keys = [spool.save({"key": str(uuid.uuid4()), "output": "x\n"}) for _ in range(3)]
    return [*keys, spool.save({"key": str(uuid.uuid4())}, bundles.POWER)]


def lines_of(path):
    return gzip.decompress(path.read_bytes()).split(b"\n")


def test_it_holds_all_that_waits_and_the_machine(call, waiting, tmp_path):
    code, out, said = call("bundle", "write", tmp_path / "stick")

    [path] = (tmp_path / "stick").iterdir()
    assert (code, out.strip()) == (0, str(path))
    assert "4 written" in said
    _, head, *documents, last = lines_of(path)
    assert last == b""
    assert json.loads(head)["documents"] == len(documents) == 5
    assert documents[0].startswith(b'host {"slug": "alpha"')
    spool = open_spool()
    sent = {line.partition(b" ")[2] for line in documents[1:]}
    assert sent == {spool.read(key) for key in waiting}
    # It is carried, and may get lost on the way.
    assert spool.number() == 4


def test_it_is_signed_by_the_secret_and_does_not_show_it(call, waiting, tmp_path):
    call("bundle", "write", tmp_path)

    [path] = tmp_path.glob("*.virtlab")
    content = gzip.decompress(path.read_bytes())
    first, _, signed = content.partition(b"\n")
    key = hashlib.sha256(b"a_secret-with_underscores").digest()
    wanted = hmac.new(key, signed, hashlib.sha256).hexdigest()
    assert first.decode() == f"virtlab-bundle 1 0a1b2c3d4e {wanted}"
    assert b"a_secret" not in content


def test_much_becomes_several_files_that_a_server_takes(waiting, tmp_path, monkeypatch):
    monkeypatch.setattr(bundles, "MOST_DOCUMENTS", 3)

    written = bundles.write(open_spool(), str(tmp_path), TOKEN)

    assert list(written.values()) == [3, 1]
    keys = [key for path in written for key in bundles.keys_in(path)]
    assert sorted(keys) == sorted(waiting)


def test_what_was_imported_is_forgotten_and_nothing_else(call, waiting, tmp_path):
    call("bundle", "write", tmp_path)
    later = open_spool().save({"key": str(uuid.uuid4())})
    [path] = tmp_path.glob("*.virtlab")

    code, _, said = call("bundle", "forget", path)

    assert (code, "4 wait no longer." in said) == (0, True)
    assert open_spool().waiting() == [later]
    assert call("bundle", "forget", path)[0] == 0


def test_where_nothing_waits_nothing_is_written(call, offline, tmp_path):
    code, out, said = call("bundle", "write", tmp_path / "stick")

    assert (code, out, "Nothing waits." in said) == (0, "", True)
    assert not (tmp_path / "stick").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"no bundle")],
    ids=["empty", "text", "gzip"],
)
def test_what_is_no_bundle_forgets_nothing(call, waiting, tmp_path, content):
    path = tmp_path / "wrong"
    path.write_bytes(content)

    code, _, said = call("bundle", "forget", path)

    assert (code, str(path) in said) == (2, True)
    assert open_spool().number() == 4


def test_a_folder_that_cannot_be_written_is_said(call, waiting, tmp_path):
    (tmp_path / "file").write_text("")

    code, _, said = call("bundle", "write", tmp_path / "file")

    assert (code, str(tmp_path / "file") in said) == (1, True)


def test_enrolling_offline_asks_nobody(call, home, machine):
    words = ("enroll", "--server", "https://far.example.org", "--offline", "--token")

    code, _, said = call(*words, TOKEN, "--host", "alpha")

    assert (code, "Nobody was asked." in said) == (0, True)
    assert json.loads((home / "agent.json").read_text())["host"] == "alpha"
    assert call(*words, "not-ours")[0] == 2
