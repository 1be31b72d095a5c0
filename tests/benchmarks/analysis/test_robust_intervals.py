"""Intervals of results with outliers."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from benchmarks.analysis.cell_statistics import display_step, dominating_outliers
from benchmarks.analysis.robust_intervals import critical_rank
from benchmarks.analysis.verdict_gates import Gate
from benchmarks.analysis.verdicts import Verdict
from tests.benchmarks.analysis.noise_simulation import assess, measure

CALM = [100.0, 100.6, 99.5, 100.2, 99.8, 100.4, 99.9, 100.1, 99.7, 100.3]
STALLED = [*CALM[:4], 33.0, *CALM[5:]]


def assessed(own, baseline=CALM, **options):
    return assess(measure(np.array([own])), measure(np.array([baseline])), **options)


@pytest.mark.parametrize(
    ("values", "outliers"),
    [
        (CALM, 0),
        (STALLED, 1),
        ([*CALM, *CALM[:9], 33.0, 300.0], 2),
        ([*CALM[:8], 33.0, 34.0], 0),  # 20 % of the runs
        ([100.0, 103.0, 97.0, 100.0, 101.0, 99.0, 105.0], 0),
        ([1e308] * 7, 0),
        ([100.0] * 9 + [101.0], 1),
    ],
)
def test_outliers_dominate_if_few_carry_most_of_the_variance(values, outliers):
    assert dominating_outliers(values, [0] * len(values)) == outliers


def test_outliers_are_counted_within_sessions():
    values = [*CALM, *(2 * value for value in CALM)]

    assert dominating_outliers(values, [0] * 10 + [1] * 10) == 0
    assert (
        dominating_outliers([*CALM[:9], 33.0, *values[10:]], [0] * 10 + [1] * 10) == 1
    )


def test_the_step_of_a_display_is_not_an_outlier():
    values = [3400.0] * 9 + [3434.0]

    assert dominating_outliers(values, [0] * 10, 34.0) == 0


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ((3400, 3366, 3434), 34.0),
        ((2.06, 2.08, 2.13), 0.01),
        ((7 * 1.048576, 9 * 1.048576, 12 * 1.048576), 1.048576),
        ((3400, 3434), 34.0),
        ((3400, 1700), 100.0),
        ((3400, 3400, 3400), 100.0),
        ((3000, 3000, 3000), 1000.0),
        ((2.5, 2.5, 2.5), None),
        ((2.4, 2.9), None),
        ((3400.123456, 3366.913247, 3434.381233), None),
        ((0.0, 0.0), None),
        ((1e308, 1.5e308, -1e308), 5e307),
    ],
)
def test_the_step_of_a_display_divides_all_values(values, step):
    found = display_step([float(value) for value in values])

    assert found == (None if step is None else pytest.approx(step, rel=1e-9))


@pytest.mark.parametrize(("n", "m"), [(7, 7), (8, 10), (10, 10), (12, 30)])
def test_ranks_agree_with_the_test_of_mann_and_whitney(n, m):
    def p_value(exceeding):
        """Return the p value if U is ``exceeding``."""
        below = np.arange(m) + 0.5
        remaining, own = exceeding, []
        for _ in range(n):
            rank = min(remaining, m)
            own.append(rank + len(own) / 1000)
            remaining -= rank
        return mannwhitneyu(own, below, method="exact").pvalue

    rank = critical_rank(n, m)

    assert p_value(rank - 1) <= 0.05 < p_value(rank)


def test_five_runs_have_no_robust_interval_but_eight_do():
    assert assessed([*CALM[:4], 33.0], CALM[:5]).outliers[0] == 0
    assert assessed([*CALM[:7], 33.0], CALM[:8]).outliers[0] == 1


@pytest.mark.parametrize(
    ("own", "baseline", "verdict"),
    [
        (STALLED, CALM, Verdict.EQUIVALENT),
        (CALM, STALLED, Verdict.EQUIVALENT),
        ([0.9 * value for value in CALM], STALLED, Verdict.SLOWER),
        ([1.1 * value for value in STALLED], STALLED, Verdict.FASTER),
        ([33.0, *CALM[1:]], CALM, Verdict.EQUIVALENT),  # the first run
        ([*CALM[:9], 300.0], CALM, Verdict.EQUIVALENT),
    ],
)
def test_a_robust_interval_decides_despite_an_outlier(own, baseline, verdict):
    robust = assessed(own, baseline)
    of_means = assessed(own, baseline, with_outliers=False)

    assert robust.verdict[0] == verdict
    assert of_means.verdict[0] != verdict
    assert robust.p_values()[0] < 0.05
    assert robust.mean_ratio[0] == pytest.approx(np.mean(own) / np.mean(baseline))
    assert robust.n[0] == robust.baseline_n[0] == 10


def test_a_robust_ratio_is_the_median_ratio_of_all_pairs():
    own = [0.97 * value for value in STALLED]
    robust = assessed(own)
    pairs = np.log(own)[:, None] - np.log(CALM)[None, :]
    ordered = np.sort(pairs, axis=None)

    ratio = np.exp(np.median(ordered))
    assert robust.intervals.ratio[0] == pytest.approx(ratio)
    assert robust.intervals.high[0] >= np.exp(ordered[-24]) * (1 - 1e-12)
    assert robust.intervals.low[0] <= np.exp(ordered[23]) * (1 + 1e-12)
    times = assessed(own, higher_is_better=False)
    assert times.intervals.ratio[0] == pytest.approx(1 / ratio)


def test_dependent_runs_widen_a_robust_interval():
    rising = sorted(STALLED)
    robust = assessed(rising)

    widened, plain = robust.intervals, robust.design_intervals.independent
    assert robust.outliers[0] == 1
    assert widened.log_half_width[0] > 1.3 * plain.log_half_width[0]
    assert robust.pooling_variance[0] == plain.standard_error[0] ** 2


def test_stalls_on_either_side_cause_no_wrong_verdict():
    """One run in 24 stalls at a third of the speed. `devtools` measures more worlds."""
    generator = np.random.default_rng(24)
    own, baseline = (
        1000
        * (1 + 0.01 * generator.normal(size=(400, 12)))
        * np.where(generator.random((400, 12)) < 1 / 24, 1 / 3, 1)
        for _ in range(2)
    )
    equal = assess(measure(own), measure(baseline))
    slower = assess(measure(0.92 * own), measure(baseline))

    covers = (equal.intervals.low < 1) & (equal.intervals.high > 1)
    assert np.mean(covers[equal.outliers > 0]) > 0.94
    assert np.isin(equal.verdict, (Verdict.SLOWER, Verdict.FASTER)).mean() <= 0.02
    assert (slower.verdict == Verdict.SLOWER).mean() > 0.8


def test_clean_runs_rarely_have_a_gate():
    generator = np.random.default_rng(8)
    sides = [1000 * (1 + 0.02 * generator.normal(size=(400, 10))) for _ in range(2)]

    clean = assess(*map(measure, sides))

    assert np.mean(clean.gates != 0) <= 0.03
    assert not (clean.gates & int(Gate.FEW_INDEPENDENT)).any()


def test_equal_readings_of_a_coarse_display_decide_nothing():
    """A rate of 3,000 that is printed with one digit may be 2,500 or 3,499."""
    runs = [3000.0] * 15

    step = display_step(runs)
    equal = assess(*(measure(np.array([runs]), step) for _ in range(2)))

    assert equal.verdict[0] == Verdict.UNDETERMINED
    assert equal.intervals.low[0] < 0.85
