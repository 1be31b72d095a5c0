"""The downloadable agent and its packages: they run, and match their signatures."""

import hashlib
import subprocess
import sys

import pytest

from agents import build, signatures
from agents.packages.wheel import agent_wheel_name
from benchmarks import agent_signatures

ADDRESS = "/agent/virtlab-agent.pyz"
NAMES = ["virtlab-agent.pyz", "virtlab-agent.deb", "virtlab-agent.rpm"]
NAMES += [agent_wheel_name(), build.READERS_NAME]


@pytest.fixture
def downloaded(client, tmp_path):
    answer = client.get(ADDRESS)
    assert answer.status_code == 200
    path = tmp_path / "virtlab-agent.pyz"
    path.write_bytes(answer.content)
    return path


def test_downloaded_agent_runs(downloaded, tmp_path):
    program = [sys.executable, "-I", str(downloaded), "--help"]

    output = subprocess.check_output(program, cwd=tmp_path, text=True)

    assert "push" in output


@pytest.mark.parametrize("name", NAMES)
def test_downloads_match_checksum_and_signature(client, name):
    content = client.get(f"/agent/{name}").content
    line = client.get(f"/agent/{name}.sha256").content.decode()
    signature = client.get(f"/agent/{name}.minisig").content.decode()
    key_text = client.get("/agent/virtlab-agent.pub").content.decode()

    digest = hashlib.sha256(content).hexdigest()
    assert line == f"{digest}  {name}\n"
    key = signatures.read_key(key_text, "the server's key")
    comment = signatures.verify_file(content, signature, name, key)
    assert f"file:{name} " in comment
    assert digest in comment


def test_signing_key_follows_its_secret(settings):
    first = agent_signatures.public_key()
    settings.AGENT_SIGNING_KEY = "another secret"
    second = agent_signatures.public_key()
    settings.SECRET_KEY = "not used"

    assert first != second == agent_signatures.public_key()


def test_pip_finds_the_wheel(client):
    index = client.get("/agent/simple/virtlab-agent/").content.decode()

    digest = client.get(f"/agent/{agent_wheel_name()}.sha256").content.split()[0]
    assert f'href="../../{agent_wheel_name()}#sha256={digest.decode()}"' in index


def test_browser_saves_the_agent_without_running_it(client):
    headers = client.get(ADDRESS).headers

    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"].startswith("attachment;")
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "address",
    [ADDRESS, f"{ADDRESS}.sha256", f"{ADDRESS}.minisig", "/agent/virtlab-agent.pub"],
)
def test_agent_is_public_and_needs_no_database(client, address):
    assert client.get(address).status_code == 200
    assert client.head(address).content == b""
    assert client.post(address).status_code == 405


@pytest.mark.parametrize("name", ["other.deb", "virtlab-agent.deb.asc", ".sha256"])
def test_other_names_are_not_found(client, db, name):
    assert client.get(f"/agent/{name}").status_code == 404
