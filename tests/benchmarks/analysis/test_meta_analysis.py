"""Pooled studies compared with published analyses and simulations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import stdtrit

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

    assert pools.machine_count[0] == 13
    assert pools.tau2[0] == pytest.approx(0.3132, abs=5e-5)
    assert pools.i2[0] == pytest.approx(0.9222, abs=5e-5)
    assert pools.mean[0] == pytest.approx(-0.7145, abs=5e-5)
    assert pools.standard_error[0] == pytest.approx(0.1798, abs=5e-5)
    assert pools.weight.sum() == pytest.approx(1)


def test_heterogeneity_of_bcg_trials_matches_the_printed_digits():
    found = heterogeneity(*bcg())

    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.tau2_low == pytest.approx(0.1197, abs=5e-5)
    assert found.tau2_high == pytest.approx(1.1115, abs=5e-5)
    assert found.mean_dl == pytest.approx(-0.7141, abs=5e-5)


@given(st.integers(0, 2**32 - 1), st.integers(3, 10), st.floats(-3, 3))
def test_without_noise_the_intervals_are_students(seed, k, scale):
    """The reference prior then has the posterior that Student's t states."""
    y = np.random.default_rng(seed).normal(-0.1, 10**scale, k)

    pools = alone(y, [1e-12 * np.var(y)] * k)

    quantile, s = stdtrit(k - 1, 0.975), np.std(y, ddof=1)
    assert pools.mean[0] == pytest.approx(y.mean(), abs=1e-4 * s)
    for name, reach in (("", (1 / k) ** 0.5), ("predicted_", (1 + 1 / k) ** 0.5)):
        low = getattr(pools, f"{name}low")[0]
        assert low == pytest.approx(y.mean() - quantile * s * reach, abs=0.01 * s)


def test_a_prediction_does_not_collapse_when_tau_is_0():
    pools = alone([-0.1, -0.1, -0.1], [0.0004] * 3)

    assert pools.tau2[0] == 0
    width = pools.high[0] - pools.low[0]
    assert pools.predicted_high[0] - pools.predicted_low[0] > 1.5 * width


def test_leave_one_out_equals_the_pool_of_the_others():
    y, v = bcg()

    without = heterogeneity(y, v).leave_one_out

    for place in range(y.size):
        others = alone(np.delete(y, place), np.delete(v, place))
        assert without[place] == pytest.approx(others.mean[0], abs=1e-9)


def test_leave_one_out_leaves_out_all_machines_of_a_lab():
    y, v = bcg()
    lab = ["a", "a", "b", "c", "c", "c", *"defghij"]

    without = heterogeneity(y, v, labs=lab).leave_one_out

    others = alone(y[[2, 3, 4, 5, *range(6, 13)]], v[2:], lab_index=lab[2:])
    assert without[0] == without[1] == pytest.approx(others.mean[0], abs=1e-9)


def test_leave_one_out_of_one_lab_leaves_out_a_machine():
    without = heterogeneity(*bcg(), labs=["a"] * 13).leave_one_out

    assert without == pytest.approx(heterogeneity(*bcg()).leave_one_out)


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
        assert pools.machine_count[number] == own.sum()
        if own.any():
            expected = alone(y[own], v[own])
            assert pools.mean[number] == pytest.approx(expected.mean[0], nan_ok=True)
            assert pools.predicted_high[number] == pytest.approx(
                expected.predicted_high[0], nan_ok=True
            )


def test_one_study_keeps_its_interval_and_two_are_not_pooled():
    pools = pool_effects([-0.1, -0.2, 0.1], [0.01, 0.01, 0.01], [0, 1, 1], 2)

    assert pools.machine_count.tolist() == [1, 2]
    assert pools.mean[0] == pytest.approx(-0.1)
    assert pools.high[0] == pytest.approx(-0.1 + 1.959964 * 0.1)
    assert math.isnan(pools.predicted_low[0])
    assert math.isnan(pools.mean[1])


def test_machines_of_two_labs_are_not_pooled():
    pools = alone([-0.1, -0.1, -0.2, -0.2], [0.01] * 4, lab_index=[0, 0, 1, 1])

    assert (pools.machine_count[0], pools.lab_count[0]) == (4, 2)
    assert math.isnan(pools.mean[0])
    assert math.isnan(pools.predicted_low[0])
    assert pools.weight.sum() == pytest.approx(1)


def test_machines_of_one_lab_are_pooled_like_labs_but_named():
    labs = alone(*bcg())
    machines = alone(*bcg(), lab_index=[7] * 13)

    assert machines.is_one_lab[0]
    assert machines.predicted_low[0] == labs.predicted_low[0]
    assert machines.tau2_machine[0] == labs.tau2_lab[0]
    assert math.isnan(machines.tau2_lab[0])
    assert math.isnan(labs.tau2_machine[0])


def test_more_machines_of_a_lab_do_not_outweigh_other_labs():
    """Labs differ and their machines do not, so each lab has the same weight."""
    y = [0.0] * 12 + [-0.2, -0.4]
    lab = [0] * 12 + [1, 2]
    pools = alone(y, [1e-6] * 14, lab_index=lab)

    assert pools.tau2_machine[0] == 0
    assert pools.mean[0] == pytest.approx(-0.2, abs=1e-3)
    assert pools.weight[:12].sum() == pytest.approx(1 / 3, abs=1e-3)


def test_a_pool_does_not_depend_on_other_pools_or_names_of_labs():
    generator = np.random.default_rng(2026)
    sizes = generator.integers(1, 14, 40)
    pool = generator.permutation(np.repeat(np.arange(40), sizes))
    lab = generator.integers(0, 6, pool.size)
    y = generator.normal(-0.05, 0.1, pool.size)
    v = generator.uniform(0.0001, 0.01, pool.size)

    pools = pool_effects(y, v, pool, 40, lab_index=lab)

    for number in range(40):
        own = pool == number
        expected = alone(y[own], v[own], lab_index=(lab[own] * 7) % 6 + 3)
        for name in ("mean", "low", "predicted_high", "tau2_lab", "tau2_machine"):
            assert getattr(pools, name)[number] == pytest.approx(
                getattr(expected, name)[0], rel=1e-6, abs=1e-9, nan_ok=True
            )


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


def test_single_runs_are_averaged_by_lab_first():
    """With m labs: t(m - 1) sqrt(s^2 (1 + 1/m) + w^2 (1 - mean(1/n)))."""
    y, lab = [0.1, 0.3, -0.2, -0.4, -0.6, 0.4], [0, 0, 1, 1, 1, 2]
    pools = pool_single_runs(y, [0] * 6, 1, lab_index=lab)

    s2, w2 = np.var([0.2, -0.4, 0.4], ddof=1), (0.02 + 0.08) / 3
    spread = s2 * (1 + 1 / 3) + w2 * (1 - (1 / 2 + 1 / 3 + 1) / 3)
    reach = 4.302653 * math.sqrt(spread)
    assert pools.mean[0] == pytest.approx(0.2 / 3)
    assert pools.standard_error[0] == pytest.approx(math.sqrt(s2 / 3))
    assert pools.predicted_high[0] == pytest.approx(0.2 / 3 + reach)
    assert pools.weight.tolist() == pytest.approx([1 / 6, 1 / 6, *[1 / 9] * 3, 1 / 3])


def coverage(labs, tau, *, share_of_labs=1.0, largest=1.0, worlds=1500):
    """Return how often intervals contain the mean, and another lab's machine."""
    lab = np.repeat(np.arange(len(labs)), labs)
    generator = np.random.default_rng([*labs, int(1000 * tau), int(largest)])
    v = np.full(lab.size, 0.0004)
    v[-1] *= largest
    effects = generator.normal(
        -0.1, tau * math.sqrt(share_of_labs), (worlds, len(labs))
    )[:, lab]
    noise = np.sqrt(v + tau**2 * (1 - share_of_labs))
    y = generator.normal(effects, noise)
    pools = pool_effects(
        y.ravel(),
        np.tile(v, worlds),
        np.repeat(np.arange(worlds), lab.size),
        worlds,
        lab_index=np.tile(lab, worlds),
    )
    following = generator.normal(-0.1, tau, worlds)
    return (
        ((pools.low < -0.1) & (pools.high > -0.1)).mean(),
        ((pools.predicted_low < following) & (following < pools.predicted_high)).mean(),
    )


@pytest.mark.parametrize("largest", [1 / 400, 1.0, 400.0])
@pytest.mark.parametrize("tau", [0.0, 0.03, 0.2])
@pytest.mark.parametrize("k", [3, 5, 10])
def test_intervals_cover_the_mean_and_another_lab(k, tau, largest):
    assert min(coverage([1] * k, tau, largest=largest)) >= 0.93


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("labs", [(6, 1, 1), (6, 6, 1), (3, 2, 1, 3, 2)])
def test_intervals_cover_with_labs_of_different_sizes(labs, share):
    assert min(coverage(labs, 0.2, share_of_labs=share, worlds=600)) >= 0.93


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
