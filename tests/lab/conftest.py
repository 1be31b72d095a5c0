"""Nothing here boots: `make lab-short` does, and fails if anything is not as said."""

from pathlib import Path

import pytest


@pytest.fixture
def repository() -> Path:
    return Path(__file__).resolve().parents[2]
