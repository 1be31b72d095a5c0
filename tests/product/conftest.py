"""The whole product, started as `make run` starts it."""

import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from running.product_launcher import Product, launch_product

# Loading the large studies takes minutes.
SMALL = {"LOAD_REFERENCE": "small"}


@pytest.fixture(scope="package")
def made_var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation with the reference studies, started once and stopped properly.

    Shared by all test processes (pytest-xdist): the first one creates it.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    made = folder / "made"
    with (folder / "made.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            first = launch_product(folder / "making", **SMALL)
            assert "uploading" in first.wait_until_ready()
            assert first.stop() == []
            first.var.rename(made)
    return made


def copied(var: Path, copy: Path) -> Path:
    """Copy an installation: loading the studies again takes much longer."""
    subprocess.run(["cp", "-a", var, copy], check=True)
    return copy


@pytest.fixture
def start_product(made_var: Path, tmp_path: Path) -> Iterator[Callable[..., Product]]:
    """Start copies of the installation, which are stopped at the end of the test."""
    started: list[Product] = []

    def launch(name: str = "var", **environment: Any) -> Product:
        var = copied(made_var, tmp_path / name)
        started.append(launch_product(var, **{**SMALL, **environment}))
        return started[-1]

    yield launch
    for product in started:
        product.stop()


@pytest.fixture(scope="package")
def product(
    made_var: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Product]:
    """One product with the reference studies, for all tests that do not change it."""
    running = launch_product(
        copied(made_var, tmp_path_factory.mktemp("product") / "var"), **SMALL
    )
    running.wait_until_ready()
    yield running
    running.stop()
