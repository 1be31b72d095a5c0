"""Installations to break: each test gets a copy of one that was created once."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from running import embedded_servers
from running.embedded_servers import EmbeddedServers

AS_ROOT = os.geteuid() == 0


@pytest.fixture(scope="session")
def made_var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation that was started once and stopped properly."""
    var = tmp_path_factory.mktemp("made") / "var"
    with embedded_servers.embedded_servers(var):
        pass
    return var


def copied(var: Path, copy: Path) -> Path:
    """Copy an installation with owners and modes: creating one takes seconds."""
    subprocess.run(["cp", "-a", var, copy], check=True)
    return copy


@pytest.fixture
def var(made_var: Path, tmp_path: Path) -> Path:
    return copied(made_var, tmp_path / "var")


@pytest.fixture
def running(var: Path) -> Iterator[EmbeddedServers]:
    """Both servers, running in a copy."""
    with embedded_servers.embedded_servers(var) as services:
        yield services


@pytest.fixture(scope="session")
def shared(made_var: Path) -> Iterator[EmbeddedServers]:
    """Both servers, started once for all tests that change nothing."""
    with embedded_servers.embedded_servers(
        copied(made_var, made_var.with_name("shared"))
    ) as services:
        yield services
