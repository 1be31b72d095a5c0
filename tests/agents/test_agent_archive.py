"""The packed agent: reproducible, small, quick to start, and independent of our
sources.
"""

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from agents import build
from agents.detection import facts

FOLDER = Path(build.__file__).parent
LIMIT_BYTES = 200_000
MOST_OF_LOADING_HTTP = 3.5


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    path = tmp_path_factory.mktemp("dist") / build.NAME
    build.main([str(path)])
    return path


def names(agent):
    with zipfile.ZipFile(agent) as opened:
        return opened.namelist()


def test_same_sources_give_same_bytes(tmp_path, agent):
    copy = tmp_path / "elsewhere" / "agents"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.rglob("*.py"):
        os.utime(path, (time.time() - 1e7,) * 2)
        path.chmod(0o600)

    rebuilt = build.SHEBANG + build.zip_bytes(build.agent_files(str(copy)))

    assert rebuilt == build.build_archive() == agent.read_bytes()


def test_other_sources_give_other_bytes():
    files = build.agent_files(str(FOLDER))

    assert (
        build.SHEBANG + build.zip_bytes({**files, "agents/exits.py": b"DONE = 1\n"})
        != build.build_archive()
    )


def test_archive_contains_exactly_our_modules_in_order(agent):
    paths = [path for end in ("py", "c", "h") for path in FOLDER.rglob(f"*.{end}")]
    ours = {f"agents/{path.relative_to(FOLDER)}" for path in paths}

    ours = {name for name in ours if not name.startswith(build._NOT_PACKED)}

    assert names(agent) == sorted(ours | {"__main__.py"})


def test_archive_is_small(agent):
    assert agent.stat().st_size < LIMIT_BYTES


def test_documented_size_and_limit_are_correct(agent):
    page = (FOLDER.parent / "docs" / "agents.md").read_text()
    ((measured, limit),) = re.findall(r"\| the file \| (\d+) kB \| (\d+) kB", page)
    ((size_kb, limit_kb),) = re.findall(r"agent's (\d+) kB, .* below (\d+) kB", page)

    assert int(limit) * 1000 == int(limit_kb) * 1000 == LIMIT_BYTES
    # Approximately: the page need not change with every line of the agent.
    size = pytest.approx(agent.stat().st_size, rel=0.03)
    assert [int(measured) * 1000, int(size_kb) * 1000] == [size, size]


def test_checksum_file_matches(agent):
    line = Path(f"{agent}.sha256").read_text()

    assert line == f"{hashlib.sha256(agent.read_bytes()).hexdigest()}  {build.NAME}\n"
    assert build.checksum_line(agent.read_bytes()) == line


def test_archive_starts_as_a_script_and_is_a_zip(agent):
    content = agent.read_bytes()

    assert content.startswith(b"#!/usr/bin/env python3\n")
    assert os.access(agent, os.X_OK)
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None


def test_archive_runs_without_our_sources(agent, tmp_path):
    program = [sys.executable, "-I", str(agent), "spool", "list"]
    environment = {"PATH": os.environ["PATH"], "VIRTLAB_AGENT": str(tmp_path / "home")}

    done = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert "0 wait" in done.stderr


@pytest.mark.parametrize("version", [(2, 6, 6), (2, 7, 18), (3, 5, 3)])
def test_old_python_is_reported(agent, monkeypatch, version):
    with zipfile.ZipFile(agent) as opened:
        start = opened.read("__main__.py").decode()
    monkeypatch.setattr("sys.version_info", version)

    with pytest.raises(SystemExit, match=r"needs Python 3.6.* Python \d\.\d$"):
        exec(compile(start, "__main__.py", "exec"), {})


def test_uploads_name_the_agent(agent):
    result = facts.agent_facts(str(agent))

    assert result["sha256"] == hashlib.sha256(agent.read_bytes()).hexdigest()
    assert result["python"].startswith("3.")
    assert "sha256" not in facts.agent_facts("__main__.py")


def test_agent_starts_quickly(agent):
    """`list` loads everything that commands share, including Python's HTTP."""
    ours, pythons = [], []
    for _ in range(5):
        ours.append(cost_s([str(agent), "list"]))
        pythons.append(cost_s(["-c", "import urllib.request"]))

    assert min(ours) < MOST_OF_LOADING_HTTP * min(pythons)


def cost_s(words):
    """Return the processor time of a Python process."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen([sys.executable, *words], **silent)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime
