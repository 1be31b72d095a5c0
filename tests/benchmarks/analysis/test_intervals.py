import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from benchmarks.analysis.cell_statistics import summarize
from benchmarks.analysis.intervals import (
    Method,
    RunStatistics,
    hodges_lehmann,
    hodges_lehmann_ratio,
    known_ranges,
    log_ratio_intervals,
    mean_interval,
    mean_interval_ends,
    normal_quantile,
    t_quantiles,
    t_quantiles_of_runs,
    t_tail,
)

UNKNOWN = float("nan")


def side(n, mean, deviation, resolution=UNKNOWN):
    """Return one cell with this sample standard deviation of its run means."""
    m2 = deviation**2 * (n - 1) if n > 1 else 0.0
    return RunStatistics.from_sums([n], [mean], [m2], [resolution])


def of_runs(*run_means, resolution=UNKNOWN):
    rolled = summarize(run_means)
    return RunStatistics.from_sums([rolled.n], [rolled.mean], [rolled.m2], [resolution])


def interval(cell, baseline, higher_is_better=True, **options):
    return log_ratio_intervals(cell, baseline, np.array([higher_is_better]), **options)


def limits(intervals):
    return (intervals.low[0], intervals.high[0])


# --- Reference values from other implementations.


def golden_cells():
    generator = np.random.default_rng(1908)
    for _ in range(200):
        n = generator.integers(5, 40, size=2)
        means = 10 ** generator.uniform(-6, 6, size=2)
        yield n, means, means * 10 ** generator.uniform(-4, -1, size=2)


def sample_with(generator, n, mean, deviation):
    """Return values with exactly this mean and sample standard deviation."""
    drawn = generator.normal(size=n)
    return mean + deviation * (drawn - drawn.mean()) / drawn.std(ddof=1)


def test_it_equals_scipys_welch_interval_on_the_log_scale():
    generator = np.random.default_rng(1947)
    for n, means, deviations in golden_cells():
        intervals = interval(*map(side, n, means, deviations))
        logs = [
            sample_with(generator, *each)
            for each in zip(n, np.log(means), deviations / means, strict=True)
        ]
        welch = stats.ttest_ind(*logs, equal_var=False)

        assert intervals.df[0] == pytest.approx(welch.df, rel=1e-9)
        expected = np.exp(welch.confidence_interval(0.95))
        assert limits(intervals) == pytest.approx(expected, rel=1e-9)


def scalar_welch(n, means, deviations):
    """Return the interval by the formulas of docs/method.md, without numpy."""
    terms = [s**2 / (k * m**2) for k, m, s in zip(n, means, deviations, strict=True)]
    df = sum(terms) ** 2 / sum(v**2 / (k - 1) for v, k in zip(terms, n, strict=True))
    half = stats.t.ppf(0.975, df) * math.sqrt(sum(terms))
    centre = math.log(means[0]) - math.log(means[1])
    return math.exp(centre - half), math.exp(centre + half)


def test_it_equals_the_formula_of_the_method():
    for n, means, deviations in golden_cells():
        intervals = interval(*map(side, n, means, deviations))

        expected = scalar_welch(n, means, deviations)
        assert limits(intervals) == pytest.approx(expected, rel=1e-9)


def fieller(n, means, deviations, t):
    """Return the limits of Fieller's set {r: (y - r x)^2 <= t^2 (v_y + r^2 v_x)}."""
    y, x = means
    v_y, v_x = deviations**2 / n

    def outside(ratio):
        return (y - ratio * x) ** 2 - t**2 * (v_y + ratio**2 * v_x)

    low = optimize.brentq(outside, 0, y / x, xtol=1e-300, rtol=1e-12)
    high = optimize.brentq(outside, y / x, 100 * y / x, xtol=1e-300, rtol=1e-12)
    return low, high


def test_it_equals_fiellers_interval_up_to_second_order():
    """With a, b = t x relative error of the sides and h^2 = a^2 + b^2, Fieller's limits
    are ln r = +-h + (b^2 - a^2) / 2 + O(h^3): no further from +-h than h^2 / 2 + h^3.
    """
    for n, means, deviations in golden_cells():
        intervals = interval(*map(side, n, means, deviations))
        h = intervals.log_half_width[0]
        t = stats.t.ppf(0.975, intervals.df[0])

        exact = np.log(fieller(n, means, deviations, t))
        assert (
            np.abs(np.log(limits(intervals)) - exact).max() <= h**2 / 2 + h**3 + 1e-11
        )


@pytest.mark.parametrize(
    ("n", "method", "t"),  # t from a printed table, at n - 1 and at 2 (n - 1)
    [
        (2, Method.MOVER, 12.706),
        (3, Method.MOVER, 4.303),
        (4, Method.MOVER, 3.182),
        (5, Method.WELCH, 2.306),
        (6, Method.WELCH, 2.228),
        (10, Method.WELCH, 2.101),
        (16, Method.WELCH, 2.042),
    ],
)
def test_it_agrees_with_a_table_of_t(n, method, t):
    intervals = interval(side(n, 50.0, 1.0), side(n, 100.0, 2.0))

    assert intervals.method[0] == method
    assert intervals.ratio[0] == 0.5
    expected = t * math.sqrt(2 * 0.02**2 / n)
    assert intervals.log_half_width[0] == pytest.approx(expected, rel=3e-4)
    df = 2 * (n - 1) if n >= 5 else float("nan")
    assert intervals.df[0] == pytest.approx(df, nan_ok=True)


def test_each_side_keeps_its_own_t_below_five_runs():
    intervals = interval(side(2, 100.0, 1.0), side(30, 100.0, 1.0))

    expected = math.hypot(12.706 * 0.01 / math.sqrt(2), 2.045 * 0.01 / math.sqrt(30))
    assert intervals.method[0] == Method.MOVER
    assert intervals.log_half_width[0] == pytest.approx(expected, rel=1e-4)
    assert math.isnan(intervals.df[0])


def test_the_error_of_two_meters_is_added():
    sides = side(10, 100.0, 1.0), side(10, 100.0, 1.0)
    meters = 2 * 0.015**2 / 3

    intervals = interval(*sides, extra_log_variance=meters)

    assert intervals.standard_error[0] == pytest.approx(math.sqrt(2e-5 + meters))
    assert intervals.df[0] == pytest.approx(18 * (2e-5 + meters) ** 2 / 2e-5**2)
    few = side(3, 100.0, 1.0), side(3, 100.0, 1.0)
    expected = math.sqrt(2 * 4.303**2 * 1e-4 / 3 + 1.96**2 * meters)
    wider = interval(*few, extra_log_variance=meters)
    assert wider.log_half_width[0] == pytest.approx(expected, rel=1e-4)


def test_more_confidence_is_a_wider_interval():
    sides = side(5, 100.0, 1.0), side(5, 100.0, 1.0)

    intervals = interval(*sides, confidence=0.99)

    assert intervals.log_half_width[0] == pytest.approx(
        3.355 * math.sqrt(4e-5), rel=1e-3
    )


# --- Without an interval.


@pytest.mark.parametrize(
    ("cell", "baseline"),
    [
        (side(1, 100.0, 0.0), side(5, 100.0, 1.0)),
        (side(5, 100.0, 1.0), side(1, 100.0, 0.0)),
        (side(5, 100.0, 1.0), side(5, 100.0, 0.0)),  # identical, resolution unknown
        (side(5, 100.0, 1.0), side(5, 100.0, 81.0)),  # g = 1.01
        (side(5, 100.0, 81.0), side(5, 100.0, 1.0)),
    ],
)
def test_a_ratio_may_have_no_interval(cell, baseline):
    intervals = interval(cell, baseline)

    assert intervals.method[0] == Method.NONE
    assert intervals.ratio[0] == 1.0
    assert np.isnan(
        [*limits(intervals), intervals.half_width[0], intervals.df[0]]
    ).all()


@pytest.mark.parametrize("reading", [0.0, -3.0, float("nan"), float("inf")])
def test_a_reading_that_is_not_above_zero_has_no_ratio(reading):
    for sides in [(reading, 10.0), (10.0, reading)]:
        intervals = interval(*(side(5, mean, 1.0) for mean in sides))

        assert intervals.method[0] == Method.NONE
        assert math.isnan(intervals.ratio[0])


def test_a_cell_without_runs_has_no_ratio():
    empty = RunStatistics.from_sums([0], [None], [None], [None])

    assert math.isnan(interval(empty, side(5, 100.0, 1.0)).ratio[0])
    assert math.isnan(interval(side(5, 100.0, 1.0), empty).ratio[0])


def test_g_measures_how_close_the_baseline_comes_to_zero():
    intervals = interval(side(5, 100.0, 1.0), side(5, 100.0, 36.0))

    assert intervals.baseline_g[0] == pytest.approx(2.776**2 * 0.36**2 / 5, rel=1e-3)
    assert intervals.cell_g[0] == pytest.approx(2.776**2 * 0.01**2 / 5, rel=1e-3)


# --- Identical readings.


def test_identical_readings_have_the_variance_of_rounding():
    same = of_runs(*[12.34] * 5, resolution=0.01)

    intervals = interval(same, side(5, 12.34, 0.1))

    rounding = 0.01**2 / 12 / 12.34**2
    assert same.log_variance()[0] == pytest.approx(rounding)
    assert intervals.low[0] < 1 < intervals.high[0]


def test_more_identical_readings_do_not_narrow_the_interval():
    few, many = (of_runs(*[7.0] * n, resolution=1.0) for n in (5, 50))

    assert few.log_variance() == many.log_variance()


def test_the_interval_of_identical_readings_contains_the_truth():
    """Readings 99.6 and 100.4 both print as 100: the interval must contain 0.8 %."""
    same = of_runs(*[100.0] * 10, resolution=1.0)

    intervals = interval(same, same)

    assert intervals.high[0] > 100.4 / 99.6


# --- Properties.

runs = st.lists(st.floats(90, 110), min_size=2, max_size=12)
numbers = st.integers(2, 60)
levels = st.floats(1e-6, 1e6)
noises = st.floats(1e-4, 0.2)
sides = st.builds(
    lambda n, mean, noise: side(n, mean, mean * noise), numbers, levels, noises
)


@given(sides, sides, st.booleans())
def test_swapping_the_sides_inverts_the_interval(cell, baseline, higher_is_better):
    there = interval(cell, baseline, higher_is_better)
    back = interval(baseline, cell, higher_is_better)

    assert there.method == back.method
    inverted = 1 / back.high[0], 1 / back.low[0]
    assert limits(there) == pytest.approx(inverted, rel=1e-13, nan_ok=True)
    assert there.log_half_width == pytest.approx(back.log_half_width, nan_ok=True)


@given(sides, sides)
def test_lower_is_better_is_the_reciprocal(cell, baseline):
    higher = interval(cell, baseline, higher_is_better=True)
    lower = interval(cell, baseline, higher_is_better=False)

    inverted = 1 / higher.high[0], 1 / higher.low[0]
    assert limits(lower) == pytest.approx(inverted, rel=1e-13, nan_ok=True)


@given(runs, runs, st.integers(-30, 30))
def test_the_unit_does_not_matter(cell, baseline, power):
    factor = 2.0**power
    before = interval(of_runs(*cell), of_runs(*baseline))
    after = interval(
        of_runs(*[each * factor for each in cell]),
        of_runs(*[each * factor for each in baseline]),
    )

    assert limits(before) == pytest.approx(limits(after), rel=1e-15, nan_ok=True)


@given(runs, runs, st.randoms())
def test_the_order_of_the_runs_does_not_matter(cell, baseline, random):
    before = interval(of_runs(*cell), of_runs(*baseline))
    random.shuffle(cell)
    random.shuffle(baseline)

    after = interval(of_runs(*cell), of_runs(*baseline))
    np.testing.assert_array_equal(limits(before), limits(after))


@given(numbers, st.integers(1, 30), noises, noises)
def test_more_runs_make_it_narrower(n, more, noise, baseline_noise):
    few = interval(side(n, 1.0, noise), side(n, 1.0, baseline_noise))
    many = interval(side(n + more, 1.0, noise), side(n + more, 1.0, baseline_noise))

    if few.method[0] != Method.NONE:
        assert many.log_half_width[0] < few.log_half_width[0]


@given(sides, sides)
def test_it_is_positive_and_contains_the_ratio(cell, baseline):
    intervals = interval(cell, baseline)

    if intervals.method[0] != Method.NONE:
        assert 0 < intervals.low[0] < intervals.ratio[0] < intervals.high[0]


@given(st.lists(st.tuples(sides, sides, st.booleans()), min_size=1, max_size=8))
def test_many_cells_equal_single_cells(cells):
    alone = [interval(*each) for each in cells]
    stacked = [
        RunStatistics(
            *(
                np.concatenate([getattr(each[place], name) for each in cells])
                for name in ("n", "mean", "variance", "resolution")
            )
        )
        for place in (0, 1)
    ]

    intervals = log_ratio_intervals(*stacked, np.array([each[2] for each in cells]))

    np.testing.assert_allclose(
        intervals.low, [each.low[0] for each in alone], rtol=1e-13
    )
    np.testing.assert_array_equal(intervals.method, [each.method[0] for each in alone])


@pytest.mark.parametrize("probability", [0.6, 0.95, 0.975, 0.995, 0.9995])
def test_it_equals_the_quantile_of_scipy(probability):
    generator = np.random.default_rng(1908)
    df = np.concatenate(
        [
            [1.0, 2.0, 3.0, 4.0, 1e9],
            generator.uniform(1, 3.5, 500),
            10 ** generator.uniform(0, 5, 500),
        ]
    )

    expected = stats.t.ppf(probability, df)
    np.testing.assert_allclose(t_quantiles(df, probability), expected, rtol=1e-12)


def test_zero_degrees_of_freedom_have_no_quantile():
    assert np.isnan(t_quantiles(np.array([np.nan, 0.5]), 0.975)).all()


@pytest.mark.parametrize("more", [[], [100_000]])
def test_n_runs_have_n_minus_1_degrees(more):
    quantiles = t_quantiles_of_runs(np.array([0, 1, 2, 31, *more]), 0.975)

    expected = [np.nan, np.nan, 12.7062, 2.0423, *[1.95998 for _ in more]]
    assert quantiles == pytest.approx(expected, rel=1e-4, nan_ok=True)


def test_empty_arrays_have_no_quantiles():
    assert t_quantiles_of_runs(np.array([], dtype=int), 0.975).size == 0


def test_a_known_variance_has_the_normal_quantile():
    assert normal_quantile(0.975) == pytest.approx(1.959964, rel=1e-6)


def test_it_equals_the_tail_of_scipy():
    statistic, df = np.array([0.0, 1.0, 40.0]), np.array([3.0, 4.5, 200.0])

    expected = stats.t.sf(statistic, df)
    np.testing.assert_allclose(t_tail(statistic, df), expected, rtol=1e-10)


RUNS = [9.8, 10.1, 10.0, 10.4, 9.9]


def test_it_equals_students_interval():
    mean = sum(RUNS) / 5
    m2 = sum((each - mean) ** 2 for each in RUNS)

    bounds = mean_interval(5, mean, m2)

    low, high = stats.t.interval(0.95, 4, loc=mean, scale=stats.sem(RUNS))
    assert (bounds.low, bounds.high) == pytest.approx((low, high))


@pytest.mark.parametrize("n", [0, 1])
def test_a_single_run_has_no_interval_of_the_mean(n):
    assert mean_interval(n, 10.0, 0.0, 0.1) is None


def test_equal_readings_have_the_uncertainty_of_rounding():
    bounds = mean_interval(5, 10.0, 0.0, resolution=0.1)

    half = stats.t.ppf(0.975, 4) * 0.1 / math.sqrt(12)
    assert bounds.high - bounds.mean == pytest.approx(half)
    assert mean_interval(5, 10.0, 0.0) is None


ODD = [10.0, 10.2, 9.9, 10.1, 10.0, 9.8, 10.3, 10.1, 9.9, 10.0]


def by_hand(values):
    pairs = sorted(
        (one + other) / 2
        for place, one in enumerate(values)
        for other in values[place:]
    )
    middle = len(pairs) // 2
    if len(pairs) % 2:
        return pairs[middle]
    return (pairs[middle - 1] + pairs[middle]) / 2


def test_one_odd_run_hardly_moves_it():
    assert hodges_lehmann(ODD) == pytest.approx(10.0, abs=0.05)
    assert hodges_lehmann([*ODD[:-1], 1000.0]) == pytest.approx(10.1, abs=0.1)


@given(st.lists(st.floats(1, 100), min_size=10, max_size=14))
def test_it_is_the_median_of_all_pairs(values):
    assert hodges_lehmann(values) == pytest.approx(by_hand(values))


def test_a_ratio_is_the_median_of_all_ratios():
    slow = [each * 0.8 for each in ODD]

    assert hodges_lehmann_ratio(slow, ODD, higher_is_better=True) == pytest.approx(0.8)
    assert hodges_lehmann_ratio(slow, ODD, higher_is_better=False) == pytest.approx(
        1.25
    )


def test_nine_runs_are_too_few():
    with pytest.raises(ValueError, match="9 runs: this estimate needs 10"):
        hodges_lehmann(ODD[:9])


def test_both_sides_of_a_ratio_need_their_runs():
    for sides in [(ODD, ODD[:9]), (ODD[:9], ODD)]:
        with pytest.raises(ValueError, match="needs 10"):
            hodges_lehmann_ratio(*sides, higher_is_better=True)


def test_a_ratio_needs_readings_above_zero():
    with pytest.raises(ValueError, match="above 0"):
        hodges_lehmann_ratio([*ODD[:9], 0.0], ODD, higher_is_better=True)


def test_mean_ends_equal_students_interval_on_the_log_scale():
    low, high = mean_interval_ends(
        RunStatistics.from_sums([5], [100.0], [4 * 9.0], [0.01])
    )

    half = stats.t.ppf(0.975, 4) * 3 / np.sqrt(5) / 100
    assert (low[0], high[0]) == pytest.approx((100 * np.exp(-half), 100 * np.exp(half)))


def test_a_single_run_and_a_reading_of_zero_have_no_interval():
    ends = mean_interval_ends(
        RunStatistics.from_sums([1, 5], [10.0, 0.0], [0.0, 1.0], [0.1, 0.1])
    )

    assert np.isnan(ends).all()


def test_a_printed_deviation_may_be_too_small_by_half_a_step():
    runs = RunStatistics.from_sums([4], [10.0], [0.0], [0.1])
    unknown = np.array([np.nan])

    (low,), (high,) = known_ranges(runs, unknown, unknown)

    assert (low, high) == pytest.approx((10 - 0.075, 10 + 0.075))


@given(st.lists(st.floats(1, 1000), min_size=2, max_size=40))
def test_no_run_is_outside_the_bounds_of_its_mean_and_deviation(values):
    summary = summarize(values)
    runs = RunStatistics.from_sums([summary.n], [summary.mean], [summary.m2], [np.nan])
    unknown = np.array([np.nan])

    (low,), (high,) = known_ranges(runs, unknown, unknown)

    slack = 1e-6 * summary.mean
    assert low - slack <= min(values) <= max(values) <= high + slack
