import numpy as np
import pytest

from benchmarks.analysis.shape import shape_of
from benchmarks.analysis.speeds import CUTOFFS, bimodal_cutoff


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


def test_it_explains_as_much_variance_as_the_definition_says():
    rows = np.random.default_rng(7).lognormal(3, 0.6, (40, 13))

    shares = [shape_of(row).eta_squared for row in rows]

    assert shares == pytest.approx(eta_squared(rows).tolist(), abs=1e-12)


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
