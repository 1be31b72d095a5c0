"""Tests without booting machines: `make testbed-short` boots them."""

from pathlib import Path

import pytest


@pytest.fixture
def repository() -> Path:
    return Path(__file__).resolve().parents[2]
