from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import stats

from benchmarks.analysis.shape import CUTOFFS, bimodal_cutoff, order_of, shape_of
from benchmarks.reference.rows import read_rows

STEADY = [10.3, 9.8, 10.1, 10.6, 9.9, 10.2, 9.7, 10.4]


def hdparm(machine):
    rows = [row for row in read_rows("inqbus-2008-io") if row.tool == "hdparm"]
    return [float(row.value) for row in rows if row.machine == machine]


def eta_squared(rows):
    """The definition, written down once more: all splits of all rows."""
    ordered = np.sort(rows, axis=1)
    total = ordered.var(axis=1) * ordered.shape[1]
    within = [
        part.var(axis=1) * part.shape[1]
        for cut in range(2, ordered.shape[1] - 1)
        for part in (ordered[:, :cut], ordered[:, cut:])
    ]
    left, right = np.array(within[::2]), np.array(within[1::2])
    return 1 - (left + right).min(axis=0) / total


def test_a_dell_raid_reads_at_two_speeds_in_threes():
    shape = shape_of(hdparm("inqbus-server-b"))

    assert shape.sentence == (
        "two speeds, 59 (64 %) and 109 (36 %), alternating with period 3"
    )
    assert [mode.count for mode in shape.modes] == [7, 4]
    assert [mode.centre for mode in shape.modes] == pytest.approx([58.87, 108.725])
    assert (shape.period, shape.is_unimodal, shape.outliers) == (3, False, ())
    assert not shape.has_single_figure


def test_a_3ware_raid_reads_at_one_speed():
    shape = shape_of(hdparm("inqbus-server-a"))

    assert shape.sentence == "one speed, outlier: run 5"
    assert shape.has_single_figure


def test_it_explains_as_much_variance_as_the_definition_says():
    rows = np.random.default_rng(7).lognormal(3, 0.6, (40, 13))

    shares = [shape_of(row).eta_squared for row in rows]

    assert shares == pytest.approx(eta_squared(rows).tolist(), abs=1e-12)


def test_units_do_not_matter():
    here, there = shape_of(STEADY), shape_of([8.7e-7 * each for each in STEADY])

    assert there.eta_squared == pytest.approx(here.eta_squared, rel=0.01)
    assert there.order.p == here.order.p


@pytest.mark.parametrize("n", CUTOFFS)
def test_the_cutoffs_are_the_99_percent_quantiles_of_uniform_data(n):
    rows = np.random.default_rng(n).uniform(size=(20_000, n))

    exceeding = (eta_squared(rows) > bimodal_cutoff(n)).mean()

    assert 0.007 < exceeding < 0.0135


@pytest.mark.parametrize("n", [13, 17, 25, 40, 80, 200])
def test_between_and_beyond_the_listed_numbers_they_hold_too(n):
    rows = np.random.default_rng(n).uniform(size=(4_000, n))

    exceeding = (eta_squared(rows) > bimodal_cutoff(n)).mean()

    assert 0.004 < exceeding < 0.017


@pytest.mark.parametrize(("n", "most"), [(5, 0.0065), (8, 0.004), (20, 0.001)])
def test_normal_data_alarm_even_less_often(n, most):
    rows = np.random.default_rng(n).standard_normal((20_000, n))

    assert (eta_squared(rows) > bimodal_cutoff(n)).mean() < most


def test_fewer_than_five_runs_have_no_shape():
    shape = shape_of([1.0, 1.0001, 9.0, 9.0001])

    assert bimodal_cutoff(4) is None
    assert (shape.is_tested, shape.eta_squared, len(shape.modes)) == (False, None, 1)
    assert shape.sentence == "4 of the 5 runs that a look at the shape needs"


@pytest.mark.parametrize(
    "values", [[], [1.0, float("nan")], [1.0, float("inf")], [1e308]]
)
def test_it_takes_finite_numbers_only(values):
    with pytest.raises(ValueError, match="finite"):
        shape_of(values)


@pytest.mark.parametrize("value", [0.0, 42.0, -42.0, 1e299, 1e-320])
def test_equal_readings_are_one_speed(value):
    shape = shape_of([value] * 11)

    assert shape.sentence == "one speed"
    assert shape.has_single_figure


def test_the_steps_of_a_coarse_display_are_not_two_speeds():
    coarse = [10.1, 10.2, 10.2, 10.1, 10.2, 10.2, 10.1, 10.1, 10.2, 10.1, 10.2]

    assert shape_of(coarse).is_unimodal
    assert not shape_of(coarse, resolution=0.001).is_unimodal


def test_the_last_bits_of_a_mean_are_not_two_speeds():
    assert shape_of([0.1 + 0.2, 0.3] * 6).is_unimodal


def test_one_far_run_is_an_outlier_and_no_second_speed():
    shape = shape_of([*STEADY, 14.0])

    assert (shape.is_unimodal, shape.outliers) == (True, (8,))
    assert shape.sentence == "one speed, outlier: run 9"


def test_an_outlier_is_looked_for_within_its_own_speed():
    slow = [50.1, 50.3, 49.8, 50.0, 49.9, 50.2]
    fast = [99.9, 100.2, 100.0, 99.8, 100.1, 103.0]
    mixed = [each for pair in zip(fast, slow, strict=True) for each in pair]

    assert shape_of(mixed).outliers == (10,)


def test_an_outlier_shows_among_readings_that_are_mostly_equal():
    assert shape_of([7.0] * 9 + [7.5, 12.0], resolution=0.5).outliers == (10,)


def test_many_outliers_are_counted():
    shape = shape_of([*[10.0, 10.1] * 20, 12.0, 8.0, 13.0, 7.0, 14.0, 6.0])

    assert shape.sentence.endswith("outliers: runs 41, 42, 43, 44, 45 and 1 more")


def test_a_first_run_apart_is_seen():
    shape = shape_of([12.9, *STEADY])

    assert shape.is_first_apart
    assert not shape.has_single_figure
    assert "the first run differs from the others" in shape.sentence


def test_the_first_run_is_set_against_the_prediction_interval_of_the_others():
    others = [10.3, 9.8, 10.1, 10.6, 9.9]
    t = (11.0 - np.mean(others)) / (np.std(others, ddof=1) * np.sqrt(1 + 1 / 5))

    shape = shape_of([11.0, *others], resolution=1e-9)

    assert shape.first_run_p == pytest.approx(2 * stats.t.sf(t, 4))


def test_a_first_run_apart_is_rare_in_normal_data():
    rows = np.random.default_rng(3).standard_normal((1500, 6))

    assert 0.003 < np.mean([shape_of(row).is_first_apart for row in rows]) < 0.018


def test_a_period_is_told_without_two_speeds():
    values = [10 + 0.5 * (place % 4) + each for place, each in enumerate(STEADY * 3)]

    assert shape_of(values).sentence == "one speed, repeating with period 4"


def test_speeds_close_together_are_told_with_enough_digits():
    rng = np.random.default_rng(2)
    values = [12.34, 12.41] * 6 + rng.normal(0, 0.001, 12)

    sentence = shape_of(values).sentence

    assert sentence.startswith("two speeds, 12.34")
    assert "12.41" in sentence


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        shape_of(STEADY).n = 3


def alarms(rows):
    orders = [order_of(row) for row in rows]
    return np.mean([bool(order.period or order.lag) for order in orders])


@pytest.mark.parametrize("n", [8, 11, 20])
@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential"])
def test_all_nine_looks_together_alarm_in_one_of_a_hundred(draw, n):
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
    assert order.autocorrelation > 0.5
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
