import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.complete_separation import separation_ranges
from benchmarks.analysis.intervals import RunStatistics
from benchmarks.analysis.session_intervals import design_intervals
from benchmarks.analysis.sessions import UNKNOWN_TIME, SessionStatistics
from tests.benchmarks.analysis.session_samples import (
    A,
    B,
    C,
    D,
    E,
    F,
    days,
    in_sessions,
    rolled,
    runs,
)


def ends(own, other, higher_is_better=True):
    sessions = in_sessions(own), in_sessions(other)
    designed = design_intervals(
        rolled(own), rolled(other), sessions, [higher_is_better]
    )
    return separation_ranges(designed, sessions, [higher_is_better])


def test_the_range_of_ratios_is_that_of_the_extremes():
    own, native = {UNKNOWN_TIME: [10.0, 12.0]}, {UNKNOWN_TIME: [20.0, 25.0]}

    up, down = (ends(own, native, higher) for higher in (True, False))

    assert np.exp([up.low[0], up.high[0]]) == pytest.approx([10 / 25, 12 / 20])
    assert np.exp([down.low[0], down.high[0]]) == pytest.approx([20 / 12, 25 / 10])


def test_runs_of_shared_sessions_are_compared_within_the_session():
    own = {A: [90.0, 92.0], B: [180.0, 184.0], C: [45.0, 46.0]}
    native = {A: [100.0, 102.0], B: [200.0, 202.0], C: [50.0, 51.0]}

    apart = ends(own, native)

    lows = [90 / 102, 180 / 202, 45 / 51]
    assert np.exp(apart.low[0]) == pytest.approx(min(lows))
    assert np.exp(apart.high[0]) == pytest.approx(0.92)
    assert apart.design_chance[0] == pytest.approx(2 / 6**3)


@pytest.mark.parametrize(
    ("own", "native", "chance"),
    [
        (days(A), days(A), 2 / 252),
        ({UNKNOWN_TIME: runs(9, 3)}, {UNKNOWN_TIME: runs(9, 4)}, 2 / 35),
        (days(A), days(B), 1),  # two days: 1 of 2 arrangements
        (days(A, B, C), days(D, E, F), 2 / 20),
    ],
)
def test_the_chance_of_a_separation_depends_on_the_exchangeable_units(
    own, native, chance
):
    assert ends(own, native).design_chance[0] == pytest.approx(chance)


@pytest.mark.parametrize(
    ("own", "native", "side"),
    [
        ([80, 90, 85, 82, 97], [100, 101, 105, 103, 102], -1),
        ([80, 90, 85, 82, 99], [100, 101, 105, 103, 102], 0),  # within the margin
        ([80, 90, 85, 82, 101], [100, 101, 105, 103, 102], 0),  # overlapping
        ([180, 190, 185, 182, 199], [100, 101, 105, 103, 102], 1),
    ],
)
def test_sides_are_separated_if_every_run_is_beyond_the_margin(own, native, side):
    apart = ends({UNKNOWN_TIME: own}, {UNKNOWN_TIME: native})

    assert apart.direction(0.02).tolist() == [side]


@pytest.mark.parametrize(
    ("own", "native", "decides"),
    [
        (days(A, level=80), days(A), True),  # 2 in 252
        (days(A, n=4, level=80), days(A, n=30), False),  # too few on one side
        (days(A, level=55), days(B), False),  # another day may do that
        (days(A, level=45), days(B), True),  # no day does that
        (days(A, B, C, level=90), days(D, E, F), False),  # 2 in 20
    ],
)
def test_it_is_significant_beyond_chance_or_day_effects(own, native, decides):
    assert ends(own, native).is_significant.tolist() == [decides]


runs_of_a_side = st.lists(st.floats(50.0, 200.0), min_size=1, max_size=6)


@given(runs_of_a_side, runs_of_a_side)
def test_the_range_of_the_reciprocal_is_its_reciprocal(own, other):
    sides = {A: own}, {A: other}

    up, down = (ends(*sides, higher) for higher in (True, False))

    np.testing.assert_allclose(up.low, -down.high)
    np.testing.assert_array_equal(up.direction(0.0), -down.direction(0.0))


@pytest.mark.parametrize(("native", "side"), [(100.0, 0), (102.0, -1)])
def test_differences_within_rounding_are_not_a_separation(native, side):
    readings = (98.0, native)
    cells = [RunStatistics.from_sums([5], [value], [0.0], [1.0]) for value in readings]
    sessions = [
        SessionStatistics.from_sums(
            [0], [A], [5], [x], [0.0], [x], [x], resolution=[1.0]
        )
        for x in readings
    ]
    sides = (sessions[0], sessions[1])

    designed = design_intervals(cells[0], cells[1], sides, [True])

    assert separation_ranges(designed, sides, [True]).direction(0.0199)[0] == side
