import numpy as np
import pytest

from benchmarks.analysis.bimodality import CUTOFFS, bimodal_cutoff
from benchmarks.analysis.distribution_shape import find_shape


def eta_squared(rows):
    """Return the largest eta squared over all splits, by its definition."""
    ordered = np.sort(rows, axis=1)
    total = ordered.var(axis=1) * ordered.shape[1]
    within = [
        part.var(axis=1) * part.shape[1]
        for cut in range(2, ordered.shape[1] - 1)
        for part in (ordered[:, :cut], ordered[:, cut:])
    ]
    left, right = np.array(within[::2]), np.array(within[1::2])
    return 1 - (left + right).min(axis=0) / total


def test_explained_variance_matches_the_definition():
    rows = np.random.default_rng(7).lognormal(3, 0.6, (40, 13))

    shares = [find_shape(row).eta_squared for row in rows]

    assert shares == pytest.approx(eta_squared(rows).tolist(), abs=1e-12)


@pytest.mark.parametrize("n", CUTOFFS)
def test_the_cutoffs_are_the_99_percent_quantiles_of_uniform_data(n):
    rows = np.random.default_rng(n).uniform(size=(20_000, n))

    exceeding = (eta_squared(rows) > bimodal_cutoff(n)).mean()

    assert 0.007 < exceeding < 0.0135


@pytest.mark.parametrize("n", [13, 17, 25, 40, 80, 200])
def test_interpolated_cutoffs_hold(n):
    rows = np.random.default_rng(n).uniform(size=(4_000, n))

    exceeding = (eta_squared(rows) > bimodal_cutoff(n)).mean()

    assert 0.004 < exceeding < 0.017


@pytest.mark.parametrize(("n", "most"), [(5, 0.0065), (8, 0.004), (20, 0.001)])
def test_normal_data_have_fewer_false_alarms(n, most):
    rows = np.random.default_rng(n).standard_normal((20_000, n))

    assert (eta_squared(rows) > bimodal_cutoff(n)).mean() < most
