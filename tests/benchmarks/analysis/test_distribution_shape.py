from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.analysis.bimodality import bimodal_cutoff
from benchmarks.analysis.distribution_shape import find_shape
from benchmarks.analysis.sessions import lag_one_autocorrelation
from benchmarks.reference.data_files import read_rows
from benchmarks.sentences import deserialize, serialize

STEADY = [10.3, 9.8, 10.1, 10.6, 9.9, 10.2, 9.7, 10.4]


def hdparm(machine):
    rows = [row for row in read_rows("inqbus-2008-io") if row.tool == "hdparm"]
    return [float(row.value) for row in rows if row.machine == machine]


def test_a_dell_raid_is_bimodal_with_period_three():
    shape = find_shape(hdparm("inqbus-server-b"))

    assert shape.sentence == (
        "two speeds, 59 (64%) and 109 (36%), in a pattern that repeats every 3 runs"
    )
    assert [mode.count for mode in shape.modes] == [7, 4]
    assert [mode.median for mode in shape.modes] == pytest.approx([58.87, 108.725])
    assert (shape.period, shape.is_unimodal, shape.outliers) == (3, False, ())
    assert not shape.has_single_figure


def test_a_3ware_raid_is_unimodal():
    shape = find_shape(hdparm("inqbus-server-a"))

    assert shape.sentence == "one speed, outlier: run 5"
    assert shape.has_single_figure


def test_units_do_not_matter():
    here, there = find_shape(STEADY), find_shape([8.7e-7 * each for each in STEADY])

    assert there.eta_squared == pytest.approx(here.eta_squared, rel=0.01)
    assert there.order.p == here.order.p


def test_fewer_than_five_runs_have_no_shape():
    shape = find_shape([1.0, 1.0001, 9.0, 9.0001])

    assert bimodal_cutoff(4) is None
    assert (shape.is_tested, shape.eta_squared, len(shape.modes)) == (False, None, 1)
    assert shape.sentence == "4 of the 5 runs needed to test the distribution"


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [1.0, float("inf")]])
def test_non_finite_readings_raise(values):
    with pytest.raises(ValueError, match="finite"):
        find_shape(values)


@pytest.mark.parametrize("value", [0.0, 42.0, -42.0, 1e299, 1e-320])
def test_equal_readings_are_unimodal(value):
    shape = find_shape([value] * 11)

    assert shape.sentence == "one speed"
    assert shape.has_single_figure


def test_coarse_readings_are_not_bimodal():
    coarse = [10.1, 10.2, 10.2, 10.1, 10.2, 10.2, 10.1, 10.1, 10.2, 10.1, 10.2]

    assert find_shape(coarse).is_unimodal
    assert not find_shape(coarse, resolution=0.001, band=0.005).is_unimodal


def test_rounding_of_means_is_not_bimodal():
    assert find_shape([0.1 + 0.2, 0.3] * 6).is_unimodal


def test_one_distant_run_is_an_outlier():
    shape = find_shape([*STEADY, 14.0])

    assert (shape.is_unimodal, shape.outliers) == (True, (8,))
    assert shape.sentence == "one speed, outlier: run 9"


def test_outliers_are_relative_to_their_mode():
    slow = [50.1, 50.3, 49.8, 50.0, 49.9, 50.2]
    fast = [99.9, 100.2, 100.0, 99.8, 100.1, 103.0]
    mixed = [each for pair in zip(fast, slow, strict=True) for each in pair]

    assert find_shape(mixed).outliers == (10,)


def test_an_outlier_among_equal_readings_is_found():
    assert find_shape([7.0] * 9 + [7.5, 12.0], resolution=0.5).outliers == (10,)


def test_many_outliers_are_counted():
    shape = find_shape([*[10.0, 10.1] * 20, 12.0, 8.0, 13.0, 7.0, 14.0, 6.0])

    assert "outliers: runs 41, 42, 43, 44, 45 and 1 more" in shape.sentence


def test_an_outlying_first_run_is_found():
    shape = find_shape([12.9, *STEADY])

    assert shape.first_run_p <= 0.01
    assert not shape.has_single_figure
    assert shape.first_run == pytest.approx(12.9 / np.mean(STEADY) - 1)
    assert shape.sentence.startswith("the first run is 2")
    assert "above the others" in shape.sentence


def test_the_first_run_is_tested_by_the_prediction_interval():
    others = [10.3, 9.8, 10.1, 10.6, 9.9]
    t = (11.0 - np.mean(others)) / (np.std(others, ddof=1) * np.sqrt(1 + 1 / 5))

    shape = find_shape([11.0, *others], resolution=1e-9)

    assert shape.first_run_p == pytest.approx(2 * stats.t.sf(t, 4))


def test_normal_data_rarely_have_an_outlying_first_run():
    rows = np.random.default_rng(3).standard_normal((1500, 6))

    p_values = [find_shape(row).first_run_p for row in rows]

    assert 0.003 < np.mean([p is not None and p <= 0.01 for p in p_values]) < 0.018


def test_a_period_is_described_without_bimodality():
    values = [10 + 1.5 * (place % 4) + each for place, each in enumerate(STEADY * 3)]

    assert find_shape(values).sentence == ("a pattern that repeats every 4 runs")


def test_close_modes_are_shown_with_enough_digits():
    rng = np.random.default_rng(2)
    values = [12.34, 12.41] * 6 + rng.normal(0, 0.001, 12)

    sentence = find_shape(values, band=0.001).sentence

    assert sentence.startswith("two speeds, 12.34")
    assert "12.41" in sentence


def test_a_shape_is_immutable():
    with pytest.raises(FrozenInstanceError):
        find_shape(STEADY).n = 3


def test_two_runs_of_48_are_outliers():
    values = [100 + 0.1 * (place % 5) for place in range(48)]
    values[11], values[30] = 140.0, 140.2

    shape = find_shape(values, resolution=0.1)

    assert (shape.is_unimodal, shape.outliers) == (True, (11, 30))
    assert shape.has_single_figure


@pytest.mark.parametrize(("slow", "speeds"), [(2, 1), (3, 2), (5, 2)])
def test_a_second_mode_needs_three_runs(slow, speeds):
    noise = [0.0, 0.1, -0.1, 0.2, -0.2, 0.1, 0.0, -0.1]
    values = [
        (50.0 if place < slow else 100.0) + each for place, each in enumerate(noise)
    ]

    assert len(find_shape(values).modes) == speeds


@pytest.mark.parametrize(("slow", "speeds"), [(5, 1), (6, 2)])
def test_a_second_mode_needs_15_percent_of_the_runs(slow, speeds):
    values = np.random.default_rng(1).normal(100, 0.5, 40)
    values[:slow] -= 20

    assert len(find_shape(values).modes) == speeds


def test_an_outlier_does_not_hide_bimodality():
    values = [59.1, 109.0, 58.9, 109.2, 59.0, 108.9, 58.8, 109.1, 59.2, 108.8, 5000.0]

    shape = find_shape(values)

    assert [mode.count for mode in shape.modes] == [5, 6]
    assert shape.outliers == (10,)


def test_two_modes_within_the_band_keep_the_figure():
    values = np.tile([100.0, 101.0, 101.0], 8)

    shape = find_shape(values, resolution=0.01)

    assert shape.has_single_figure
    assert shape.sentence.startswith(
        "two speeds that differ by at most 2%, 100.0 (33%) and 101.0 (67%)"
    )
    assert shape.sentence.endswith("the mean remains valid")
    assert find_shape(values, resolution=0.01, band=0.005).shape_codes == ("bimodal",)


def drifting(percent, n=40):
    noise = np.random.default_rng(8).normal(0, 0.0004, n)
    return 100 * (1 + percent / 100 * np.linspace(0, 1, n) + noise)


def test_relevant_drifts_are_described_and_others_are_not():
    rising, level = find_shape(drifting(4)), find_shape(drifting(0.3))

    assert rising.order_shift == rising.mean_shifts["drift"] > 0.005
    assert level.mean_shifts["drift"] > 0
    assert level.order_shift == 0


def test_a_relevant_first_run_is_described():
    values = [90.0, *(100 + 0.1 * (k % 3) for k in range(11))]
    calm = [99.0, *values[1:]]

    assert find_shape(values).first_run_and_rho(values)[0] == 90.0
    assert find_shape(values).order_shift == 0
    assert find_shape(calm).mean_shifts["first_run"] > 0
    assert find_shape(calm).first_run_and_rho(calm)[0] is None


def test_a_small_drift_keeps_the_figure():
    shape = find_shape(drifting(0.3))

    assert shape.shape_codes == ()
    assert shape.mean_shifts["drift"] == pytest.approx(0.0015, rel=0.1)
    assert shape.sentence == (
        "one speed; a rise of 0.30% over the session, changing the mean by 0.15% (less "
        "than a quarter of the equivalence margin); the mean remains valid"
    )


def test_a_large_drift_rules_out_the_figure():
    shape = find_shape(drifting(-4))

    assert shape.shape_codes == ("drift",)
    assert shape.sentence == "a fall of 4.1% over the session"
    assert find_shape(drifting(-4), band=0.1).has_single_figure


@pytest.mark.parametrize(("n", "doubts"), [(10, ("first_run",)), (60, ())])
def test_an_outlying_first_run_counts_if_it_moves_the_mean(n, doubts):
    values = np.random.default_rng(2).normal(100, 0.2, n)
    values[0] = 90.0

    shape = find_shape(values)

    assert shape.shape_codes == doubts
    assert shape.outliers == (0,)
    assert "the first run is" in shape.sentence or not doubts
    assert ("outlier" in shape.sentence) == (not doubts)


def test_an_outlying_first_run_is_not_a_drift():
    values = np.random.default_rng(4).normal(100, 1, 10)

    assert find_shape([40.0, *values]).shape_codes == ("first_run",)


def test_whole_periods_do_not_shift_the_mean():
    values = 100 + np.tile([0.0, 1.0, 2.0, 3.0], 25)

    shape = find_shape(values, resolution=0.1)

    assert shape.period == 4
    assert shape.has_single_figure
    assert shape.mean_shifts["periodic"] == pytest.approx(2 / 100 / 101.5)


@pytest.mark.parametrize("n", [30, 100, 300])
def test_weak_dependence_is_not_refused_with_more_runs(n):
    rng = np.random.default_rng(n)
    refused = 0
    for _ in range(60):
        noise = rng.normal(0, 0.02, n + 1)
        refused += bool(
            find_shape(100 * (1 + noise[1:] + 0.2 * noise[:-1])).shape_codes
        )

    assert refused <= 4


def wandering(rng, n, rho=0.8):
    """Return runs with 2 % noise that each depend on the previous one."""
    drawn = rng.normal(size=n)
    for place in range(1, n):
        drawn[place] = rho * drawn[place - 1] + (1 - rho**2) ** 0.5 * drawn[place]
    return 100 * (1 + 0.02 * drawn)


@pytest.mark.parametrize(("n", "most"), [(30, 0.25), (100, 0.12)])
def test_wandering_runs_rarely_are_a_drift(n, most):
    rng = np.random.default_rng(n)
    shapes = [find_shape(wandering(rng, n)) for _ in range(80)]

    assert np.mean(["drift" in shape.shape_codes for shape in shapes]) <= most
    assert np.mean([shape.is_dependent for shape in shapes]) > 0.75


def test_lag_one_dependence_keeps_the_figure():
    shape = find_shape(wandering(np.random.default_rng(6), 60))

    assert (shape.shape_codes, shape.mean_shifts) == ((), {})
    assert shape.sentence == (
        f"one speed; each run depends on the previous one (autocorrelation "
        f"{shape.order.autocorrelation:.2f}), so the confidence interval is based "
        "on fewer independent runs; the mean remains valid"
    )


def test_dependence_at_lag_two_moves_the_mean():
    """Intervals account for dependence at lag 1 only, not at lag 2."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = np.column_stack([wandering(rng, 14, 0.95) for _ in range(2)]).ravel()
        shape = find_shape(values)
        is_such = shape.lag == 2 and not (shape.period or shape.order.slope)
        found += [shape.mean_shifts] if is_such else []

    assert found
    assert all(moves["drift"] > 0 for moves in found)


@pytest.mark.parametrize("n", [7, 20])
def test_lag_one_dependence_is_left_to_the_interval(n):
    found = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = np.concatenate([wandering(rng, n, 0.95) for _ in range(2)])
        shape = find_shape(values, sessions=np.repeat([0, 1], n))
        found += [shape.mean_shifts] if shape.lag == 1 and not shape.order.slope else []

    assert found
    assert not any("drift" in moves for moves in found)


def test_dependence_within_sessions_is_left_to_the_interval():
    rng = np.random.default_rng(4)
    days = np.repeat(np.arange(20), 9)
    values = np.concatenate([wandering(rng, 9, 0.95) for _ in range(20)])

    shape = find_shape(values, sessions=days)

    assert (shape.lag, shape.mean_shifts) == (1, {})


def lines(*slopes, n=10):
    rng = np.random.default_rng(len(slopes))
    parts = [100 + slope * np.arange(n) + rng.normal(0, 0.1, n) for slope in slopes]
    return find_shape(np.concatenate(parts), sessions=np.repeat(range(len(slopes)), n))


@pytest.mark.parametrize(
    ("slopes", "drifts"),
    [
        ((0.5, 0.5, 0.5), True),  # every session rises
        ((0.5, 0.5, -0.5), False),  # some rise, others fall
        ((0.5, 0.5, -0.3, 0.1, 0.4), False),
        ((0.5, 0.4), True),  # two sessions do not determine their spread
    ],
)
def test_a_drift_must_agree_across_sessions(slopes, drifts):
    assert ("drift" in lines(*slopes).shape_codes) == drifts


@pytest.mark.parametrize(
    ("colds", "counts"), [((90, 90, 91, 90), True), ((60, 100, 100, 101), False)]
)
def test_first_runs_must_differ_in_all_sessions(colds, counts):
    rng = np.random.default_rng(2)
    values = [[cold, *(100 + rng.normal(0, 0.3, 7))] for cold in colds]

    shape = find_shape(np.concatenate(values), sessions=np.repeat(range(4), 8))

    assert ("first_run" in shape.shape_codes) == counts


def test_periods_are_not_counted_as_dependence():
    rng = np.random.default_rng(3)
    values = [70.0, *(100 + rng.normal(0, 0.3, 19))]

    first, rho = find_shape(values).first_run_and_rho(values)

    assert first == 70.0
    assert rho == lag_one_autocorrelation(values[1:])


DAYS = np.repeat([0, 1, 2, 3], 8)


def test_day_effects_are_neither_modes_nor_drifts():
    noise = np.random.default_rng(3).normal(0, 0.3, 32)
    values = np.repeat([100.0, 106.0, 112.0, 118.0], 8) + noise

    assert find_shape(values).shape_codes
    shape = find_shape(values, sessions=DAYS)
    assert (shape.is_unimodal, shape.mean_shifts) == (True, {})


@pytest.mark.parametrize("size", [3, 4, 8])
@pytest.mark.parametrize("shift", [0.0, 3.0, 90.0])
def test_modes_within_days_are_found_despite_day_effects(shift, size):
    rng = np.random.default_rng(size)
    days = np.repeat(np.arange(40 // size), size)
    is_slow = np.arange(days.size) % 3 == 0
    values = 200 + rng.normal(0, 0.3, days.size)
    values += shift * rng.normal(size=days.max() + 1)[days] - 20 * is_slow

    shape = find_shape(values, sessions=days)

    assert "bimodal" in shape.shape_codes
    assert shape.modes[0].share == pytest.approx(1 / 3, abs=0.02)
    low, high = (mode.median for mode in shape.modes)
    assert high - low == pytest.approx(20, abs=0.5)


def test_a_drift_within_each_day_is_found():
    noise = np.random.default_rng(5).normal(0, 0.3, 32)
    values = 100 + 50 * DAYS + 10 * np.tile(np.linspace(0, 1, 8), 4) + noise

    shape = find_shape(values, sessions=DAYS)

    assert shape.shape_codes == ("drift",)
    assert "over each session" in shape.sentence


def test_a_warm_up_on_every_day_is_found():
    values = np.random.default_rng(6).normal(100, 0.5, 32) + 30 * DAYS
    values[::8] -= 12

    shape = find_shape(values, sessions=DAYS)

    assert shape.shape_codes == ("first_run",)
    assert "the first runs of the sessions are" in shape.sentence


def test_sessions_may_alternate():
    rng = np.random.default_rng(7)
    one, other = rng.normal(100, 1, 12), rng.normal(120, 1, 12)
    one[5] = 130.0
    mixed = np.stack([one, other], axis=1).ravel()

    shape = find_shape(mixed, sessions=["a", "b"] * 12)

    assert shape.has_single_figure
    assert shape.outliers == (10,)


def test_one_run_per_day_has_no_shape():
    shape = find_shape(STEADY, sessions=range(8))

    assert not shape.is_tested
    assert shape.has_single_figure
    assert shape.sentence == (
        "8 runs in 8 sessions: too few per session to test the distribution"
    )


def test_every_run_needs_a_session():
    with pytest.raises(ValueError, match="8 runs, but sessions of 7"):
        find_shape(STEADY, sessions=range(7))


@pytest.mark.parametrize("kind", ["standard_normal", "uniform", "standard_exponential"])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_days_with_few_runs_keep_the_false_alarm_rate(kind, size):
    rng = np.random.default_rng(size)
    days = np.repeat(np.arange(24 // size), size)
    alarms = 0
    for _ in range(200):
        noise = getattr(rng, kind)(size=24)
        day = rng.normal(0, 3, days.max() + 1)[days]
        alarms += bool(find_shape(100 + noise + day, sessions=days, band=0).shape_codes)

    # Two tests of 1 % each; slightly more for very skewed (exponential) data.
    assert alarms <= 12


EXTREME = [0.0, 5e-324, 2e-308, 1e-300, 1.0, 1.0000000000000002, 1e300, 1.7e308]
NUMBERS = st.sampled_from([*EXTREME, *(-each for each in EXTREME)]) | st.floats(
    allow_nan=False, allow_infinity=False
)


@given(
    st.lists(st.tuples(NUMBERS, st.integers(0, 3)), min_size=1, max_size=30),
    st.booleans(),
    st.sampled_from([None, 5e-324, 0.01, 1.0, 1e300]),
    st.sampled_from([0.0, 0.02, 1.0]),
)
@example([(each, 0) for each in (52.1, 51.9, 5300.0, 5280.0)], True, None, 0.02)
@example([(2e-308, 0)] * 12, True, 1.0, 0.02)
def test_any_finite_numbers_have_a_shape(pairs, has_days, resolution, band):
    values = [value for value, _ in pairs]
    days = [day for _, day in pairs] if has_days else None

    shape = find_shape(values, sessions=days, resolution=resolution, band=band)

    assert deserialize(serialize(shape.sentence)) == shape.sentence
    numbers = [*shape.mean_shifts.values(), *(mode.median for mode in shape.modes)]
    assert np.isfinite(numbers).all()
    assert sum(mode.count for mode in shape.modes) == len(values)
