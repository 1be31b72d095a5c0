"""A Windows simulated by Wine, with the agent from its archive.

Wine is needed only for `make test-windows` (Debian: wine, wine64 and two packages of
mingw); the other tests in this folder run everywhere.
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
    """Return the Wine path of a path on this machine."""
    return "Z:" + str(path).replace("/", "\\")


class Windows:
    """One Wine for all tests, whose services run until the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME")},
            "WINEPREFIX": str(folder / "wine"),
            "WINEDEBUG": "-all",
            # Do not ask to install .NET and a browser.
            "WINEDLLOVERRIDES": "mscoree,mshtml=",
        }

    def popen(self, *words, home=None, **options):
        environment = {"VIRTLAB_AGENT": windows_path(home)} if home else {}
        return subprocess.Popen(
            ["wine", *map(str, words)],
            env={**self.environment, **environment},
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def run(self, *words, home=None, stdin=""):
        program = self.popen(*words, home=home)
        try:
            outputs = program.communicate(stdin.encode(), timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            program.kill()
            raise
        texts = [text.decode("utf-8", "replace").replace("\r", "") for text in outputs]
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
    """Build both archives, as `make agent-windows` does."""
    folder = tmp_path_factory.mktemp("dist")
    assert build.main(["--windows", str(folder)]) == 0
    return folder


class Agent:
    """The agent from one archive, called by its command file or its Python."""

    def __init__(self, windows: Windows, folder: Path) -> None:
        self.windows, self.folder = windows, folder
        self.home = folder / "home"
        self.python = folder / "virtlab-agent" / "python" / "python.exe"
        self.file = folder / "virtlab-agent" / "virtlab-agent.pyz"

    def __call__(self, *words, stdin=""):
        return self.windows.run(*self.words(*words), home=self.home, stdin=stdin)

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
        """Run Python code that may import the agent; return its output."""
        path = windows_path(self.file)
        script = self.folder / "script.py"
        script.write_text(f"import sys\nsys.path.insert(0, {path!r})\n{source}")
        words = [windows_path(self.python), "-X", "utf8", windows_path(script)]
        done = self.windows.run(*words, home=self.home)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="session")
def editions(windows, archives, tmp_path_factory):
    """Unpack each archive, with the newest Python first."""

    def unpacked(edition):
        folder = tmp_path_factory.mktemp("unpacked")
        with zipfile.ZipFile(archives / edition[0]) as opened:
            opened.extractall(folder)
        return Agent(windows, folder)

    return [unpacked(edition) for edition in build.WINDOWS_EDITIONS]


@pytest.fixture(scope="session")
def agent(editions):
    return editions[0]


@pytest.fixture(scope="session", params=range(len(build.WINDOWS_EDITIONS)))
def either(request, editions):
    """The agent with each of its Pythons."""
    return editions[request.param]
