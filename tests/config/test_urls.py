"""The agent for download: what is handed out runs, and has the checksum beside it."""

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


def test_what_is_downloaded_runs(downloaded, tmp_path):
    program = [sys.executable, "-I", str(downloaded), "--help"]

    said = subprocess.check_output(program, cwd=tmp_path, text=True)

    assert "push" in said


def test_the_checksum_is_that_of_the_file(client, downloaded):
    line = client.get(f"{ADDRESS}.sha256").content.decode()

    digest = hashlib.sha256(downloaded.read_bytes()).hexdigest()
    assert line == f"{digest}  virtlab-agent.pyz\n"


def test_a_browser_saves_it_and_runs_nothing(client):
    headers = client.get(ADDRESS).headers

    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"].startswith("attachment;")
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}.sha256"])
def test_it_is_there_to_be_read_by_anybody_and_asks_no_database(client, address):
    assert client.get(address).status_code == 200
    assert client.head(address).content == b""
    assert client.post(address).status_code == 405
