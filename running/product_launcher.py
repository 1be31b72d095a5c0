"""A complete product for tests and `devtools`."""

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

# Orphaned servers stop by themselves, but slowly on a busy machine.
EXIT_TIMEOUT_S = 60
# Variables that name the servers of the calling process.
REMOVED_VARIABLES = {
    "DATABASE_URL",
    "OWNER_DATABASE_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "VIRTLAB_VAR",
    "DJANGO_SETTINGS_MODULE",
}


@dataclass
class Product:
    process: subprocess.Popen[str]
    port: int
    var: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, token: str = "upload-token") -> Client:
        return Client(self.url, (self.var / token).read_text().strip(), retry_for_s=60)

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def processes_matching(self, *words: str) -> list[psutil.Process]:
        return [
            process
            for process in self.descendants()
            if all(word in " ".join(_command(process)) for word in words)
        ]

    def wait_until_ready(self) -> str:
        """Return the output up to readiness.

        Raise AssertionError with the output if the product ends before.
        """
        output = self.process.stdout
        assert output
        lines = []
        for line in output:
            lines.append(line)
            if line.startswith("ready: "):
                return "".join(lines)
        raise AssertionError("".join(lines))

    def stop(self, number: int = signal.SIGTERM) -> list[psutil.Process]:
        """Stop the product with a signal; return the processes that remain."""
        if self.process.poll() is not None:
            return []
        descendants = self.descendants()
        self.process.send_signal(number)
        self.process.wait(EXIT_TIMEOUT_S)
        _, remaining = psutil.wait_procs(descendants, timeout=EXIT_TIMEOUT_S)
        if self.process.stdout:
            self.process.stdout.close()
        return remaining


def wait_until_processed(client: Client) -> None:
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


def product_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name not in REMOVED_VARIABLES
    }


def launch_product(var: Path, *, tree: Path = ROOT, **more: Any) -> Product:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "running.supervisor"],
        cwd=tree,
        env={**product_environment(), "PORT": str(port), "VAR": str(var), **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return Product(process, port, var)
