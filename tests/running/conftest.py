"""Installations to break: each test gets a fresh copy of one that was made once."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from running import embedded
from running.embedded import Services

AS_ROOT = os.geteuid() == 0


@pytest.fixture(scope="session")
def made_var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation that was started once and stopped properly."""
    var = tmp_path_factory.mktemp("made") / "var"
    with embedded.services(var):
        pass
    return var


def copied(var: Path, copy: Path) -> Path:
    """Copy an installation, owners and modes included: to make one takes seconds."""
    subprocess.run(["cp", "-a", var, copy], check=True)
    return copy


@pytest.fixture
def var(made_var: Path, tmp_path: Path) -> Path:
    return copied(made_var, tmp_path / "var")


@pytest.fixture
def running(var: Path) -> Iterator[Services]:
    """Both servers, running in a copy."""
    with embedded.services(var) as services:
        yield services


@pytest.fixture(scope="session")
def shared(made_var: Path) -> Iterator[Services]:
    """Both servers, running once for all tests that only look."""
    with embedded.services(copied(made_var, made_var.with_name("shared"))) as services:
        yield services
