"""Sweeps: levels, scales and verdict changes."""

import pytest

from benchmarks.comparison.sweeps import VerdictChange, sweep_scale, verdict_change


@pytest.mark.parametrize(
    ("amounts", "scale"),
    [
        ([500, 1000, 2000, 4000], "log2"),
        ([4096, 32768, 4194304], "log2"),
        ([2, 3, 4], "linear"),
        ([1, 10, 100], "log10"),
        ([0, 10, 1000], "linear"),
        ([3e-308, 1.0, 1e300], "log10"),
    ],
)
def test_the_axis_scale_follows_the_levels(amounts, scale):
    assert sweep_scale(amounts) == scale


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ("equivalent equivalent slower slower", VerdictChange("slower_from", 2)),
        ("slower faster equivalent", VerdictChange("slower_until", 1)),
        ("slower slower slower", VerdictChange("always_slower")),
        ("faster equivalent equivalent", VerdictChange("never_slower")),
        ("slower equivalent slower", None),
        ("equivalent undetermined slower", None),
        ("refused refused refused", None),
        ("equivalent slower", None),
    ],
)
def test_a_verdict_change_needs_all_verdicts(verdicts, expected):
    assert verdict_change(verdicts.split()) == expected
