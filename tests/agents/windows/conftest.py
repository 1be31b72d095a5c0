"""A Windows as wine makes it, and in it the agent as its bundle has it.

wine is asked for by `make test-windows` alone (Debian: wine, wine64 and two packages of
mingw); what here is no test of wine runs everywhere.
"""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from agents import build

LIMIT_S = 120


def windows_path(path):
    """Return how wine calls a place of this machine."""
    return "Z:" + str(path).replace("/", "\\")


class Windows:
    """One wine for all tests, whose services go on until the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME")},
            "WINEPREFIX": str(folder / "wine"),
            "WINEDEBUG": "-all",
            # Neither .NET nor a browser is asked for.
            "WINEDLLOVERRIDES": "mscoree,mshtml=",
        }

    def popen(self, *words, home=None, **more):
        place = {"VIRTLAB_AGENT": windows_path(home)} if home else {}
        return subprocess.Popen(
            ["wine", *map(str, words)],
            env={**self.environment, **place},
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )

    def run(self, *words, home=None, given=""):
        program = self.popen(*words, home=home)
        try:
            said = program.communicate(given.encode(), timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            program.kill()
            raise
        texts = [text.decode("utf-8", "replace").replace("\r", "") for text in said]
        return subprocess.CompletedProcess(words, program.returncode, *texts)

    def close(self):
        server = shutil.which("wineserver") or "/usr/lib/wine/wineserver64"
        subprocess.run([server, "-k"], env=self.environment, timeout=LIMIT_S)


@pytest.fixture(scope="session")
def windows(tmp_path_factory):
    assert shutil.which("wine"), "apt-get install wine wine64"
    made = Windows(tmp_path_factory.mktemp("windows"))
    made.run("wineboot", "-i")
    yield made
    made.close()


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    """Both archives, as `make agent-windows` makes them."""
    folder = tmp_path_factory.mktemp("dist")
    assert build.main(["--windows", str(folder)]) == 0
    return folder


class Agent:
    """The agent of one archive, called by its command file or by its Python."""

    def __init__(self, windows: Windows, folder: Path) -> None:
        self.windows, self.folder = windows, folder
        self.home = folder / "home"
        self.python = folder / "virtlab-agent" / "python" / "python.exe"
        self.file = folder / "virtlab-agent" / "virtlab-agent.pyz"

    def __call__(self, *words, given=""):
        return self.windows.run(*self.words(*words), home=self.home, given=given)

    def by_command_file(self, *words):
        command = windows_path(self.folder / "virtlab-agent" / "virtlab-agent.cmd")
        return self.windows.run("cmd", "/c", command, *words, home=self.home)

    def started(self, *words):
        return self.windows.popen(*self.words(*words), home=self.home)

    def words(self, *words):
        return [
            windows_path(self.python),
            "-X",
            "utf8",
            windows_path(self.file),
            *words,
        ]

    def says(self, source):
        """Return what lines of Python print that may import the agent."""
        place = windows_path(self.file)
        script = self.folder / "script.py"
        script.write_text(f"import sys\nsys.path.insert(0, {place!r})\n{source}")
        words = [windows_path(self.python), "-X", "utf8", windows_path(script)]
        done = self.windows.run(*words, home=self.home)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="session")
def editions(windows, archives, tmp_path_factory):
    """Each archive, unpacked: the newest Python first."""

    def unpacked(edition):
        folder = tmp_path_factory.mktemp("unpacked")
        with zipfile.ZipFile(archives / edition[0]) as opened:
            opened.extractall(folder)
        return Agent(windows, folder)

    return [unpacked(edition) for edition in build.EDITIONS]


@pytest.fixture(scope="session")
def agent(editions):
    return editions[0]


@pytest.fixture(scope="session", params=range(len(build.EDITIONS)))
def either(request, editions):
    """The agent with each of its Pythons."""
    return editions[request.param]
