import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.advice import MOST_RUNS, runs_for_width, width_sentence
from benchmarks.analysis.intervals import Rollups, log_ratio_intervals


def side(n, deviation, mean=100.0, resolution=float("nan")):
    return Rollups.of([n], [mean], [deviation**2 * (n - 1)], [resolution])


def half_width(cell, baseline):
    return log_ratio_intervals(cell, baseline, [True]).half_width[0]


@given(
    st.integers(2, 20),
    st.floats(0.1, 8.0),
    st.floats(0.1, 8.0),
    st.floats(0.005, 0.2),
)
def test_so_many_runs_make_it_narrow_and_one_less_does_not(n, own, other, wanted):
    runs = int(runs_for_width(side(n, own), side(n, other), wanted)[0])

    if runs:
        n = max(n, runs)
        assert half_width(side(n, own), side(n, other)) < wanted
    if runs > max(n, 5):
        assert half_width(side(runs - 1, own), side(runs - 1, other)) >= wanted


def test_a_side_that_has_more_runs_keeps_them():
    runs = int(runs_for_width(side(5, 1.0), side(100, 1.0), 0.01)[0])

    assert half_width(side(runs, 1.0), side(100, 1.0)) < 0.01
    assert runs < runs_for_width(side(5, 1.0), side(5, 1.0), 0.01)[0]


def test_it_wants_five_runs_at_least():
    assert runs_for_width(side(2, 0.01), side(2, 0.01), 0.1).tolist() == [5]


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        (side(5, 30.0), 0.001),  # more than anybody runs
        (side(1, 0.0), 0.01),  # no spread known
        (side(5, 0.0, resolution=10.0), 0.01),  # rounding stays, however many runs
    ],
)
def test_no_number_of_runs_may_be_enough(cell, wanted):
    assert runs_for_width(cell, side(5, 0.1), wanted).tolist() == [0]


def test_the_error_of_meters_cannot_be_repeated_away():
    sides = side(5, 0.1), side(5, 0.1)

    assert runs_for_width(*sides, 0.01).tolist() == [5]
    meters = 2 * 0.015**2 / 3
    assert runs_for_width(*sides, 0.01, extra_log_variance=meters).tolist() == [0]


def test_many_cells_have_each_their_own_number():
    cell = Rollups(
        *map(
            np.concatenate,
            zip(
                *[
                    (each.n, each.mean, each.variance, each.resolution)
                    for each in (side(5, 1.0), side(5, 2.0))
                ],
                strict=True,
            ),
        )
    )

    runs = runs_for_width(cell, cell, [0.01, 0.02])

    assert runs[0] == pytest.approx(runs[1], abs=1)


@pytest.mark.parametrize(
    ("runs", "wanted", "sentence"),
    [
        (5, 8, "3 more runs a side bring the interval below 1 %."),
        (5, 6, "1 more run a side brings the interval below 1 %."),
        (8, 8, "The interval is below 1 %."),
        (5, 0, f"{MOST_RUNS} runs a side do not bring the interval below 1 %."),
    ],
)
def test_it_says_when_to_stop(runs, wanted, sentence):
    assert width_sentence(runs, wanted, 0.01) == sentence
