"""Tests that are skipped without servers, browser and containers."""

import tomllib

from tests import pure_plugin
from tests.pythons import ROOT


def test_every_own_marker_is_deselected():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    marks = settings["tool"]["pytest"]["ini_options"]["markers"]

    assert {marker.partition(":")[0] for marker in marks} <= set(pure_plugin.MARKS)


def test_six_consecutive_days_run_every_file_and_each_runs_the_agents():
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/*.py")]
    days = [
        {name for name in files if pure_plugin.is_of_day(name, day)}
        for day in range(364, 370)
    ]

    assert set.union(*days) == set(files)
    for names in days:
        assert len(names) < len(files) / 2
        assert {name for name in files if name.startswith("tests/agents/")} < names
