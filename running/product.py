"""A whole product started as `make run` does, for tests and `devtools`."""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from agents.client import Client
from running.processes import ROOT

GONE_S = 60  # a killed supervisor's servers stop by themselves; a busy machine is slow
# Of the starter's environment: it would lead to the starter's own servers.
NOT_ITS = {
    "DATABASE_URL",
    "OWNER_DATABASE_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "VIRTLAB_VAR",
    "DJANGO_SETTINGS_MODULE",
}


@dataclass
class Product:
    """A running Virtlab."""

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
            process
            for process in self.descendants()
            if all(word in " ".join(_command(process)) for word in words)
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
        """Stop it; return the processes that are left behind."""
        if self.process.poll() is not None:
            return []
        family = self.descendants()
        self.process.send_signal(number)
        self.process.wait(GONE_S)
        _, left = psutil.wait_procs(family, timeout=GONE_S)
        if self.process.stdout:
            self.process.stdout.close()
        return left


def wait_until_processed(client: Client) -> None:
    """Wait until all runs that were uploaded are processed."""
    while client.get("health/")["outbox"]["waiting"]:
        time.sleep(0.05)


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def environment() -> dict[str, str]:
    """Return ours, without what would lead a product to somebody's servers."""
    return {name: value for name, value in os.environ.items() if name not in NOT_ITS}


def start(var: Path, *, tree: Path = ROOT, **more: Any) -> Product:
    """Start the product of a source tree in a folder, without waiting for it."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "running.supervisor"],
        cwd=tree,
        env={**environment(), "PORT": str(port), "VAR": str(var), **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return Product(process, port, var)
