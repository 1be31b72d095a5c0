import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.intervals import RunStatistics, log_ratio_intervals
from benchmarks.analysis.required_runs import MAX_RUNS, runs_for_width, width_sentence


def side(n, deviation, mean=100.0, resolution=float("nan")):
    return RunStatistics.from_sums([n], [mean], [deviation**2 * (n - 1)], [resolution])


def half_width(cell, baseline):
    return log_ratio_intervals(cell, baseline, [True]).half_width[0]


@given(
    st.integers(2, 20),
    st.floats(0.1, 8.0),
    st.floats(0.1, 8.0),
    st.floats(0.005, 0.2),
)
def test_the_number_of_runs_is_the_least_that_suffices(n, own, other, wanted):
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


def test_at_least_five_runs_are_needed():
    assert runs_for_width(side(2, 0.01), side(2, 0.01), 0.1).tolist() == [5]


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        (side(5, 30.0), 0.001),  # more than the maximum
        (side(1, 0.0), 0.01),  # no spread known
        (side(5, 0.0, resolution=10.0), 0.01),  # rounding stays, however many runs
    ],
)
def test_too_many_runs_needed_gives_zero(cell, wanted):
    assert runs_for_width(cell, side(5, 0.1), wanted).tolist() == [0]


def test_repetition_does_not_reduce_meter_error():
    sides = side(5, 0.1), side(5, 0.1)

    assert runs_for_width(*sides, 0.01).tolist() == [5]
    meters = 2 * 0.015**2 / 3
    assert runs_for_width(*sides, 0.01, extra_log_variance=meters).tolist() == [0]


def test_the_number_of_runs_is_per_cell():
    cell = RunStatistics(
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
        (5, 8, "3 more runs per side bring the confidence interval within ±1%."),
        (5, 6, "1 more run per side brings the confidence interval within ±1%."),
        (8, 8, "The confidence interval is within ±1%."),
        (
            5,
            0,
            f"{MAX_RUNS} runs per side are not enough to bring the confidence interval "
            "within ±1%.",
        ),
    ],
)
def test_the_width_sentence_says_when_to_stop(runs, wanted, sentence):
    assert width_sentence(runs, wanted, 0.01) == sentence
