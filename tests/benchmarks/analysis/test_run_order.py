import numpy as np
import pytest
from scipy import stats

from benchmarks.analysis.run_order import find_run_order


def alarms(rows):
    orders = [find_run_order(row) for row in rows]
    return np.mean([bool(order.period or order.lag or order.slope) for order in orders])


@pytest.mark.parametrize("n", [8, 11, 20])
@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential"])
def test_all_ten_statistics_have_half_a_percent_false_alarms(draw, n):
    rows = getattr(np.random.default_rng(n), draw)((1500, n))

    assert 0.001 < alarms(rows) < 0.011


def test_repeated_readings_keep_the_false_alarm_rate():
    rows = np.random.default_rng(1).integers(0, 3, (1500, 12)).astype(float)

    assert alarms(rows[np.ptp(rows, axis=1) > 0]) < 0.018


def test_normal_scores_keep_the_false_alarm_rate():
    rows = np.random.default_rng(2).standard_normal((1000, 600))

    assert 0.003 < alarms(rows) < 0.02


@pytest.mark.parametrize("period", [2, 3, 4, 5])
@pytest.mark.parametrize("n", [20, 600])
def test_it_finds_the_period(period, n):
    noise = np.random.default_rng(period).normal(0, 0.4, n)
    values = 50 + 2.0 * (np.arange(n) % period == 0) + noise

    assert find_run_order(values).period == period


def test_it_finds_a_drift():
    drift = np.arange(16) + np.random.default_rng(3).normal(0, 1, 16)

    order = find_run_order(drift)

    assert (order.period, order.lag) == (None, 1)
    assert order.slope == pytest.approx(1, abs=0.1)
    assert abs(order.autocorrelation) < 0.5  # of the values without the drift
    assert order.p <= 0.01


def test_p_is_never_zero():
    assert find_run_order(np.tile([1.0, 5.0, 9.0], 15)).p == 0.001


def test_results_are_reproducible():
    values = np.random.default_rng(4).normal(100, 3, 30)

    assert find_run_order(values) == find_run_order(values.copy())


def test_scale_and_offset_do_not_matter():
    values = np.random.default_rng(5).normal(100, 3, 30)

    assert find_run_order(values * 1024 - 7) == find_run_order(values)


def test_seven_runs_or_equal_runs_have_no_order():
    assert find_run_order(np.arange(7.0)) is None
    assert find_run_order(np.full(20, 3.0)) is None


def test_large_numbers_do_not_overflow():
    assert find_run_order(np.array([1e308, 1.5e308] * 8)).period == 2


def test_a_straight_line_is_described_by_its_slope():
    noise = np.random.default_rng(6).normal(0, 0.5, 30)

    order = find_run_order(50 - 0.2 * np.arange(30) + noise)

    assert order.slope == pytest.approx(-0.2, abs=0.03)
    assert order.p <= 0.01


def test_dependent_runs_are_not_a_trend():
    rng = np.random.default_rng(7)
    lines, trends = 0, 0
    for _ in range(60):
        steps = rng.normal(size=40)
        for place in range(1, 40):
            steps[place] += 0.8 * steps[place - 1]
        order = find_run_order(steps)
        lines += stats.linregress(np.arange(40), steps).pvalue < 0.01
        trends += order.slope is not None

    assert lines > 20  # trends by significance only
    assert trends < 12


def test_a_clear_trend_of_dependent_runs_is_found():
    rng = np.random.default_rng(8)
    steps = rng.normal(size=200)
    for place in range(1, 200):
        steps[place] += 0.5 * steps[place - 1]

    order = find_run_order(steps + 0.05 * np.arange(200))

    assert order.slope == pytest.approx(0.05, abs=0.01)
    assert order.lag == 1


SESSIONS = (9, 4, 12, 1)


def test_orders_stay_within_their_sessions():
    rows = np.random.default_rng(9).standard_normal((1500, sum(SESSIONS)))
    rows += np.repeat([0.0, 50.0, -20.0, 300.0], SESSIONS)

    found = [find_run_order(row, SESSIONS).p <= 0.01 for row in rows]

    assert 0.003 < np.mean(found) < 0.018


def test_short_sessions_have_no_long_lags():
    values = np.random.default_rng(9).standard_normal(24)

    assert find_run_order(values, (2,) * 12).lag is None
