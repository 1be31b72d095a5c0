"""What is left out where nobody starts a server, a browser or a container."""

import tomllib

from tests import pure
from tests.pythons import ROOT


def test_every_mark_of_ours_is_of_a_test_that_needs_something_started():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    marks = settings["tool"]["pytest"]["ini_options"]["markers"]

    assert {mark.partition(":")[0] for mark in marks} <= set(pure.MARKS)
