"""The downloadable agent runs, and matches the checksum beside it."""

import hashlib
import subprocess
import sys

import pytest

ADDRESS = "/agent/virtlab-agent.pyz"


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


def test_checksum_matches_the_file(client, downloaded):
    line = client.get(f"{ADDRESS}.sha256").content.decode()

    digest = hashlib.sha256(downloaded.read_bytes()).hexdigest()
    assert line == f"{digest}  virtlab-agent.pyz\n"


def test_browser_saves_the_agent_without_running_it(client):
    headers = client.get(ADDRESS).headers

    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"].startswith("attachment;")
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}.sha256"])
def test_agent_is_public_and_needs_no_database(client, address):
    assert client.get(address).status_code == 200
    assert client.head(address).content == b""
    assert client.post(address).status_code == 405
