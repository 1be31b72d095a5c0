"""Pooled studies compared with published analyses and simulations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from benchmarks.analysis.meta_analysis import (
    EvidenceStrength,
    grade_evidence,
    heterogeneity,
    interval_direction,
    pool_effects,
    pool_single_runs,
)

NAN = (float("nan"), float("nan"))

# Thirteen trials of BCG against tuberculosis: vaccinated ill and well, others ill and
# well (Colditz et al., JAMA 271 (1994)); the figures below as the R package metafor
# prints them in its documentation (Viechtbauer, Journal of Statistical Software 36
# (2010)).
BCG = [
    *((4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209)),
    *((62, 13536, 248, 12619), (33, 5036, 47, 5761), (180, 1361, 372, 1079)),
    *((8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232)),
    *((17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338)),
    (27, 16886, 29, 17825),
]


def bcg():
    a, b, c, d = np.array(BCG, dtype=float).T
    risk = np.log(a / (a + b)) - np.log(c / (c + d))
    return risk, 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)


def alone(effects, variances, **options):
    return pool_effects(
        effects, variances, np.zeros(len(effects), dtype=int), 1, **options
    )


def restricted_likelihood(tau2, y, v):
    w = 1 / (v + tau2)
    mean = (w * y).sum() / w.sum()
    return -0.5 * (
        np.log(v + tau2).sum() + np.log(w.sum()) + (w * (y - mean) ** 2).sum()
    )


def test_pooled_bcg_trials_match_the_printed_digits():
    pools = alone(*bcg())

    assert pools.study_count[0] == 13
    assert pools.tau2[0] == pytest.approx(0.3132, abs=5e-5)
    assert pools.i2[0] == pytest.approx(0.9222, abs=5e-5)
    assert pools.mean[0] == pytest.approx(-0.7145, abs=5e-5)
    # rma(..., test="knha"): Hartung and Knapp; here it is wider than Wald's.
    assert pools.standard_error[0] == pytest.approx(0.1808, abs=5e-5)
    assert pools.low[0] == pytest.approx(-1.1084, abs=5e-5)
    assert pools.high[0] == pytest.approx(-0.3206, abs=5e-5)
    assert pools.weight.sum() == pytest.approx(1)


def test_heterogeneity_of_bcg_trials_matches_the_printed_digits():
    found = heterogeneity(*bcg())

    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.tau2_low == pytest.approx(0.1197, abs=5e-5)
    assert found.tau2_high == pytest.approx(1.1115, abs=5e-5)
    assert found.mean_dl == pytest.approx(-0.7141, abs=5e-5)


def test_the_prediction_is_t_of_both_variances():
    pools = alone(*bcg())

    reach = 2.178813 * math.sqrt(pools.tau2[0] + pools.standard_error[0] ** 2)
    assert pools.predicted_low[0] == pytest.approx(pools.mean[0] - reach)
    assert pools.predicted_high[0] == pytest.approx(pools.mean[0] + reach)


def test_leave_one_out_equals_the_pool_of_the_others():
    y, v = bcg()

    without = heterogeneity(y, v).leave_one_out

    for place in range(y.size):
        others = alone(np.delete(y, place), np.delete(v, place))
        assert without[place] == pytest.approx(others.mean[0], abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(3, 12))
def test_tau2_maximizes_the_restricted_likelihood(seed, k):
    generator = np.random.default_rng(seed)
    v = generator.uniform(0.0001, 0.02, k)
    y = generator.normal(0, np.sqrt(v + generator.choice([0, 0.001, 0.05])))

    tau2 = alone(y, v).tau2[0]

    best = minimize_scalar(
        lambda tau2: -restricted_likelihood(tau2, y, v),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    found = restricted_likelihood(tau2, y, v)
    assert found >= -best.fun - 1e-6


@given(st.integers(0, 2**32 - 1), st.integers(3, 8))
def test_a_pool_does_not_depend_on_order_unit_or_side(seed, k):
    generator = np.random.default_rng(seed)
    v = generator.uniform(0.0001, 0.02, k)
    y = generator.normal(-0.1, 0.1, k)
    order = generator.permutation(k)

    pools, mixed, other_side = alone(y, v), alone(y[order], v[order]), alone(-y, v)

    for name in ("mean", "low", "high", "predicted_low", "predicted_high"):
        assert getattr(pools, name)[0] == pytest.approx(getattr(mixed, name)[0], 1e-5)
    assert other_side.mean[0] == pytest.approx(-pools.mean[0], rel=1e-5)
    assert other_side.low[0] == pytest.approx(-pools.high[0], rel=1e-5)


def test_many_pools_equal_single_pools():
    generator = np.random.default_rng(20100521)
    sizes = generator.integers(0, 12, 40)
    pool = generator.permutation(np.repeat(np.arange(40), sizes))
    y = generator.normal(-0.05, 0.1, pool.size)
    v = generator.uniform(0.0001, 0.01, pool.size)

    pools = pool_effects(y, v, pool, 40)

    for number in range(40):
        own = pool == number
        assert pools.study_count[number] == own.sum()
        if own.any():
            expected = alone(y[own], v[own])
            assert pools.mean[number] == pytest.approx(expected.mean[0], nan_ok=True)
            assert pools.predicted_high[number] == pytest.approx(
                expected.predicted_high[0], nan_ok=True
            )


def test_one_study_keeps_its_interval_and_two_are_not_pooled():
    pools = pool_effects([-0.1, -0.2, 0.1], [0.01, 0.01, 0.01], [0, 1, 1], 2)

    assert pools.study_count.tolist() == [1, 2]
    assert pools.mean[0] == pytest.approx(-0.1)
    assert pools.high[0] == pytest.approx(-0.1 + 1.959964 * 0.1)
    assert math.isnan(pools.predicted_low[0])
    assert math.isnan(pools.mean[1])


def test_agreeing_studies_keep_at_least_walds_interval():
    """Hartung and Knapp's interval would have almost no width."""
    pools = alone([-0.1, -0.1001, -0.0999], [0.01] * 3)

    assert pools.standard_error[0] >= math.sqrt(0.01 / 3) * (1 - 1e-9)
    assert pools.tau2[0] == 0


@pytest.mark.parametrize("variance", [0, -1, float("nan"), float("inf")])
def test_an_effect_without_a_variance_is_refused(variance):
    with pytest.raises(ValueError, match="variance"):
        alone([0.1], [variance])


def test_single_runs_have_equal_weights():
    pools = pool_single_runs([-0.1, -0.2, -0.3, 1.0], [0, 0, 0, 1], 2)

    assert pools.mean[0] == pytest.approx(-0.2)
    assert pools.high[0] == pytest.approx(-0.2 + 4.302653 * 0.1 / math.sqrt(3))
    assert pools.predicted_high[0] == pytest.approx(
        -0.2 + 4.302653 * 0.1 * math.sqrt(4 / 3)
    )
    # One study: its ratio with an unknown variance.
    assert pools.mean[1] == pytest.approx(1.0)
    assert math.isnan(pools.low[1])


@pytest.mark.parametrize("tau", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("k", [3, 5, 10])
def test_intervals_cover_the_mean_and_the_next_study_at_95_percent(k, tau):
    generator = np.random.default_rng([k, int(1000 * tau)])
    worlds = 4000
    v = generator.uniform(0.0004, 0.004, (worlds, k))
    y = generator.normal(-0.1, np.sqrt(v + tau**2))
    pool = np.repeat(np.arange(worlds), k)

    pools = pool_effects(y.ravel(), v.ravel(), pool, worlds)

    holds = (pools.low < -0.1) & (pools.high > -0.1)
    assert holds.mean() >= 0.935
    following = generator.normal(-0.1, tau, worlds)
    foreseen = (pools.predicted_low < following) & (following < pools.predicted_high)
    # If tau is as large as the noise, it is often estimated as 0 (docstring).
    assert foreseen.mean() >= (0.86 if tau == 0.05 else 0.92)


def test_the_direction_of_an_interval():
    assert interval_direction(math.log(0.8), math.log(0.9)) == -1
    assert interval_direction(math.log(1.1), math.log(1.2)) == 1
    assert interval_direction(math.log(0.99), math.log(1.01)) == 0
    assert interval_direction(math.log(0.9), math.log(1.1)) == 2
    assert interval_direction(*NAN) == 2


SLOWER, UNDECIDED = (-0.3, -0.1), (-0.3, 0.1)


@pytest.mark.parametrize(
    ("labs", "mean", "predicted", "i2", "directions", "expected"),
    [
        (0, NAN, NAN, 0, [], EvidenceStrength.NONE),
        (1, SLOWER, NAN, 0, [-1], EvidenceStrength.WEAK),
        (3, SLOWER, UNDECIDED, 0.2, [-1, -1, 2], EvidenceStrength.MODERATE),
        (5, SLOWER, SLOWER, 0.2, [-1] * 5, EvidenceStrength.STRONG),
        (4, SLOWER, SLOWER, 0.2, [-1] * 4, EvidenceStrength.MODERATE),
        (
            5,
            UNDECIDED,
            UNDECIDED,
            0.9,
            [-1, 1, -1, 1, 2],
            EvidenceStrength.CONTRADICTORY,
        ),
        (5, UNDECIDED, UNDECIDED, 0.9, [-1, -1, -1, -1, 2], EvidenceStrength.WEAK),
    ],
)
def test_evidence_is_graded_by_labs_and_directions(
    labs, mean, predicted, i2, directions, expected
):
    graded = grade_evidence(
        labs=labs,
        mean_interval=mean,
        predicted=predicted,
        i2=i2,
        directions=directions,
    )

    assert graded == expected
