"""Levels, scales and partings: what may be said of a curve."""

import pytest

from benchmarks.comparing.sweeps import Parting, parting, scale_of


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
def test_the_data_choose_the_axis(amounts, scale):
    assert scale_of(amounts) == scale


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ("equivalent equivalent slower slower", Parting("parts", 2)),
        ("slower faster equivalent", Parting("joins", 1)),
        ("slower slower slower", Parting("slower")),
        ("faster equivalent equivalent", Parting("keeps")),
        ("slower equivalent slower", None),
        ("equivalent undetermined slower", None),
        ("refused refused refused", None),
        ("equivalent slower", None),
    ],
)
def test_a_parting_is_told_only_where_all_verdicts_carry_it(verdicts, expected):
    assert parting(verdicts.split()) == expected
