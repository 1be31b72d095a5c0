import numpy as np
import pytest

from benchmarks.analysis.factor_effects.noise import (
    Observation,
    Side,
    baseline_shares,
    covariance,
    log_m2,
    pooled,
)


def leaning(baselines, runs=1, native_runs=1):
    side, native = Side(runs, 0.5), Side(native_runs, 0.25)
    return [Observation({}, 0.0, side, key, native) for key in baselines]


def test_plain_values_are_independent():
    observations = [Observation({}, 1.0, Side(2)), Observation({}, 2.0, Side(5))]

    assert covariance(observations).tolist() == [[0.5, 0], [0, 0.2]]


def test_cells_of_one_native_run_share_its_error():
    shared = covariance(leaning(["a", "a", "b"], runs=4, native_runs=2))

    assert shared.tolist() == [[0.75, 0.5, 0], [0.5, 0.75, 0], [0, 0, 0.75]]


def test_a_shared_native_run_cancels_within_its_group_and_not_between_groups():
    within, between = [1, -1, 1, -1], [1, 1, -1, -1]
    weights = np.array([within, between]) / 2

    shares = baseline_shares(weights, leaning(["a", "a", "b", "b"]))

    assert shares.tolist() == pytest.approx([0, 2 / 3])


def test_the_covariance_is_that_of_simulated_efficiencies():
    rng = np.random.default_rng(11)
    native = rng.normal(size=(20_000, 2)) / np.sqrt(2)
    cells = rng.normal(size=(20_000, 4)) / np.sqrt(3)
    seen = np.cov((cells - native[:, [0, 0, 1, 1]]).T)

    expected = covariance(leaning(["a", "a", "b", "b"], runs=3, native_runs=2))

    assert np.abs(seen - expected).max() < 0.03


def test_scatter_is_pooled_over_cells_and_over_each_native_cell_once():
    scatter = pooled(leaning(["a", "a"], runs=5, native_runs=3))

    assert scatter.df == 4 + 4 + 2
    assert scatter.variance == pytest.approx((0.5 + 0.5 + 0.25) / 10)


def test_single_or_identical_runs_tell_nothing_of_scatter():
    assert pooled([Observation({}, 1.0), Observation({}, 2.0)]) is None
    assert pooled([Observation({}, 1.0, Side(5, 0.0))]) is None
    assert pooled([Observation({}, 1.0, Side(5, 5e-324))]) is None


def test_one_cell_measured_twice_does_not_measure_the_scatter_of_all():
    assert pooled([Observation({}, 1.0, Side(2, 0.1)), Observation({}, 2.0)]) is None


def test_the_logarithms_scatter_like_the_relative_errors():
    values = np.array([98.0, 99, 100, 101, 102])

    exact = np.var(np.log(values)) * 5
    assert log_m2(float(np.var(values) * 5), 100.0) == pytest.approx(exact, rel=1e-3)
