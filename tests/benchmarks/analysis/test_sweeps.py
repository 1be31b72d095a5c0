"""Levels, scales and partings: what may be said of a curve."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.analysis.intervals import Rollups, mean_intervals
from benchmarks.analysis.sweeps import Level, Parting, level_of, parting, scale_of
from benchmarks.fingerprints import canonical_parameters


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("4 KiB", Level(4096, "B")),
        ("4096 B", Level(4096, "B")),
        ("1MiB", Level(1048576, "B")),
        ("2000", Level(2000)),
        ("0.5 s", Level(0.5, "s")),
        ("1E+40", Level(1e40)),
        ("4k", None),
        ("4k,32k mean", None),
        ("L1", None),
        ("600,MT=4096", None),
        ("1.2.3", None),
    ],
)
def test_a_level_is_a_number_of_a_known_unit_and_never_guessed(text, level):
    assert level_of(canonical_parameters({"size": text})["size"]) == level


@pytest.mark.parametrize(
    ("amounts", "scale"),
    [
        ([500, 1000, 2000, 4000], "log2"),
        ([4096, 32768, 4194304], "log2"),
        ([2, 3, 4], "linear"),
        ([1, 10, 100], "log10"),
        ([0, 10, 1000], "linear"),
    ],
)
def test_the_data_choose_the_axis(amounts, scale):
    assert scale_of(amounts) == scale


@pytest.mark.parametrize(
    ("verdicts", "found"),
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
def test_a_parting_is_told_only_where_all_verdicts_carry_it(verdicts, found):
    assert parting(verdicts.split()) == found


def test_the_interval_of_a_mean_is_students_on_the_log_scale():
    low, high = mean_intervals(Rollups.of([5], [100.0], [4 * 9.0], [0.01]))

    half = stats.t.ppf(0.975, 4) * 3 / np.sqrt(5) / 100
    assert (low[0], high[0]) == pytest.approx((100 * np.exp(-half), 100 * np.exp(half)))


def test_a_single_run_and_a_reading_of_zero_have_no_interval():
    ends = mean_intervals(Rollups.of([1, 5], [10.0, 0.0], [0.0, 1.0], [0.1, 0.1]))

    assert np.isnan(ends).all()
