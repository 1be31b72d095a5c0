"""Tests that are skipped without servers, browser and containers."""

import tomllib

from tests import pure_plugin
from tests.pythons import ROOT


def test_every_own_marker_is_deselected():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    marks = settings["tool"]["pytest"]["ini_options"]["markers"]

    assert {marker.partition(":")[0] for marker in marks} <= set(pure_plugin.MARKS)
