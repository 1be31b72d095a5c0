import numpy as np
import pytest
from scipy import stats

from benchmarks.analysis.order import order_of


def alarms(rows):
    orders = [order_of(row) for row in rows]
    return np.mean([bool(order.period or order.lag or order.slope) for order in orders])


@pytest.mark.parametrize("n", [8, 11, 20])
@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential"])
def test_all_ten_looks_together_alarm_in_one_of_a_hundred(draw, n):
    rows = getattr(np.random.default_rng(n), draw)((1500, n))

    assert 0.003 < alarms(rows) < 0.018


def test_readings_that_repeat_alarm_no_more_often():
    rows = np.random.default_rng(1).integers(0, 3, (1500, 12)).astype(float)

    assert alarms(rows[np.ptp(rows, axis=1) > 0]) < 0.018


def test_without_permutations_it_alarms_as_often():
    rows = np.random.default_rng(2).standard_normal((1000, 600))

    assert 0.003 < alarms(rows) < 0.02


@pytest.mark.parametrize("period", [2, 3, 4, 5])
@pytest.mark.parametrize("n", [20, 600])
def test_it_finds_the_period(period, n):
    noise = np.random.default_rng(period).normal(0, 0.4, n)
    values = 50 + 2.0 * (np.arange(n) % period == 0) + noise

    assert order_of(values).period == period


def test_it_finds_a_drift():
    drift = np.arange(16) + np.random.default_rng(3).normal(0, 1, 16)

    order = order_of(drift)

    assert (order.period, order.lag) == (None, 1)
    assert order.slope == pytest.approx(1, abs=0.1)
    assert abs(order.autocorrelation) < 0.5  # of what the drift leaves
    assert order.p <= 0.01


def test_no_pattern_is_so_clear_that_chance_is_out():
    assert order_of(np.tile([1.0, 5.0, 9.0], 15)).p == 0.001


def test_the_same_values_always_get_the_same_answer():
    values = np.random.default_rng(4).normal(100, 3, 30)

    assert order_of(values) == order_of(values.copy())


def test_scale_and_offset_do_not_matter():
    values = np.random.default_rng(5).normal(100, 3, 30)

    assert order_of(values * 1024 - 7) == order_of(values)


def test_seven_runs_or_equal_runs_have_no_order():
    assert order_of(np.arange(7.0)) is None
    assert order_of(np.full(20, 3.0)) is None


def test_large_numbers_do_not_overflow():
    assert order_of(np.array([1e308, 1.5e308] * 6)).period == 2


def test_a_straight_line_is_told_by_its_slope():
    noise = np.random.default_rng(6).normal(0, 0.5, 30)

    order = order_of(50 - 0.2 * np.arange(30) + noise)

    assert order.slope == pytest.approx(-0.2, abs=0.03)
    assert order.p <= 0.01


def test_a_line_through_runs_that_depend_on_each_other_is_no_trend():
    rng = np.random.default_rng(7)
    lines, trends = 0, 0
    for _ in range(60):
        steps = rng.normal(size=40)
        for place in range(1, 40):
            steps[place] += 0.8 * steps[place - 1]
        order = order_of(steps)
        lines += stats.linregress(np.arange(40), steps).pvalue < 0.01
        trends += order.slope is not None

    assert lines > 20  # what asks for significance alone takes for trends
    assert trends < 12


def test_a_trend_stands_out_of_runs_that_depend_on_each_other():
    rng = np.random.default_rng(8)
    steps = rng.normal(size=200)
    for place in range(1, 200):
        steps[place] += 0.5 * steps[place - 1]

    order = order_of(steps + 0.05 * np.arange(200))

    assert order.slope == pytest.approx(0.05, abs=0.01)
    assert order.lag == 1


SESSIONS = (9, 4, 12, 1)


def test_orders_stay_within_their_sessions():
    rows = np.random.default_rng(9).standard_normal((1500, sum(SESSIONS)))
    rows += np.repeat([0.0, 50.0, -20.0, 300.0], SESSIONS)

    found = [order_of(row, SESSIONS).p <= 0.01 for row in rows]

    assert 0.003 < np.mean(found) < 0.018


def test_sessions_of_two_runs_have_no_five_runs_of_distance():
    values = np.random.default_rng(9).standard_normal(24)

    assert order_of(values, (2,) * 12).lag is None
