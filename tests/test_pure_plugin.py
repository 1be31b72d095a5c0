"""Tests that are skipped without servers, browser and containers."""

import tomllib

from tests import pure_plugin
from tests.pythons import ROOT


def test_every_own_marker_is_deselected():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    marks = settings["tool"]["pytest"]["ini_options"]["markers"]

    assert {marker.partition(":")[0] for marker in marks} <= set(pure_plugin.MARKS)


def test_three_consecutive_thirds_have_every_file_and_each_has_the_agents():
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/*.py")]
    thirds = [
        {name for name in files if pure_plugin.is_in_third(name, day)}
        for day in range(364, 367)
    ]

    assert set.union(*thirds) == set(files)
    for third in thirds:
        assert len(third) < len(files) / 2
        assert {name for name in files if name.startswith("tests/agents/")} < third
