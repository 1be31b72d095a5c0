import numpy as np
import pytest
from scipy import stats

from benchmarks.analysis.student import normal_quantile, t_of_runs, t_quantiles, tail


@pytest.mark.parametrize("probability", [0.6, 0.95, 0.975, 0.995, 0.9995])
def test_it_is_the_quantile_of_scipy(probability):
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


def test_what_has_no_degrees_of_freedom_has_no_quantile():
    assert np.isnan(t_quantiles(np.array([np.nan, 0.5]), 0.975)).all()


@pytest.mark.parametrize("more", [[], [100_000]])
def test_a_number_of_runs_has_one_degree_less(more):
    found = t_of_runs(np.array([0, 1, 2, 31, *more]), 0.975)

    expected = [np.nan, np.nan, 12.7062, 2.0423, *[1.95998 for _ in more]]
    assert found == pytest.approx(expected, rel=1e-4, nan_ok=True)


def test_no_cells_have_no_quantiles():
    assert t_of_runs(np.array([], dtype=int), 0.975).size == 0


def test_a_known_variance_has_the_normal_quantile():
    assert normal_quantile(0.975) == pytest.approx(1.959964, rel=1e-6)


def test_a_tail_is_that_of_scipy():
    statistic, df = np.array([0.0, 1.0, 40.0]), np.array([3.0, 4.5, 200.0])

    expected = stats.t.sf(statistic, df)
    np.testing.assert_allclose(tail(statistic, df), expected, rtol=1e-10)
