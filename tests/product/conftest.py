"""The whole product, started the way `make run` starts it."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from agents.client import Client

ROOT = Path(__file__).resolve().parents[2]
GONE_S = 60  # a killed supervisor's servers stop by themselves; a busy machine is slow
TESTS_OWN = {
    "DATABASE_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "VIRTLAB_VAR",
    "DJANGO_SETTINGS_MODULE",
}


@dataclass
class Product:
    """One running Virtlab and what belongs to it."""

    process: subprocess.Popen[str]
    port: int
    var: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, token: str = "upload-token") -> Client:
        return Client(self.url, (self.var / token).read_text().strip(), patience_s=60)

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def named(self, *words: str) -> list[psutil.Process]:
        """Return the processes whose command line has all of these words."""
        return [
            each
            for each in self.descendants()
            if all(word in " ".join(_command(each)) for word in words)
        ]

    def wait_until_ready(self) -> str:
        """Return what was printed before the line that says it is ready."""
        output = self.process.stdout
        assert output
        lines = []
        for line in output:
            lines.append(line)
            if line.startswith("ready: "):
                return "".join(lines)
        raise AssertionError("".join(lines))

    def stop(self, number: int = signal.SIGTERM) -> list[psutil.Process]:
        """Ask it to stop; return the processes that are left behind."""
        if self.process.poll() is not None:
            return []
        family = self.descendants()
        self.process.send_signal(number)
        self.process.wait(GONE_S)
        _, left = psutil.wait_procs(family, timeout=GONE_S)
        if self.process.stdout:
            self.process.stdout.close()
        return left


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def start(var: Path, **environment: Any) -> Product:
    """Start the product in a folder, without waiting for it."""
    port = free_port()
    own = {name: value for name, value in os.environ.items() if name not in TESTS_OWN}
    process = subprocess.Popen(
        [sys.executable, "-m", "running.supervisor"],
        cwd=ROOT,
        env={**own, "PORT": str(port), "VAR": str(var), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return Product(process, port, var)


@pytest.fixture(scope="package")
def made_var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation with the reference studies: started once, stopped properly.

    Once for all processes of the tests (pytest-xdist): the first one makes it.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    made = folder / "made"
    with (folder / "made.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            first = start(folder / "making")
            assert "uploading" in first.wait_until_ready()
            assert first.stop() == []
            first.var.rename(made)
    return made


def copied(var: Path, copy: Path) -> Path:
    """Copy an installation: to load the studies anew takes many times as long."""
    subprocess.run(["cp", "-a", var, copy], check=True)
    return copy


@pytest.fixture
def start_product(made_var: Path, tmp_path: Path) -> Iterator[Callable[..., Product]]:
    """Start copies of the installation that are stopped at the end of the test."""
    started: list[Product] = []

    def launch(name: str = "var", **environment: Any) -> Product:
        started.append(start(copied(made_var, tmp_path / name), **environment))
        return started[-1]

    yield launch
    for product in started:
        product.stop()


@pytest.fixture(scope="package")
def product(
    made_var: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Product]:
    """One product with the reference studies, for all tests that only use it."""
    running = start(copied(made_var, tmp_path_factory.mktemp("product") / "var"))
    running.wait_until_ready()
    yield running
    running.stop()
