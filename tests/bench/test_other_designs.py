"""Other ways to judge runs are tried as they are described."""

import numpy as np
import pytest

from bench.other_designs import RHOS, belief, means_given, trimmed, words
from bench.worlds import dependent

RUNS = np.array([[1.0, 1.1, 0.9, 1.2, 1.05]])


def test_independent_runs_have_their_mean_and_its_variance():
    found = means_given(RUNS, 0.0)

    assert found.mean == pytest.approx(RUNS.mean(axis=1))
    assert found.variance == pytest.approx(RUNS.var(axis=1, ddof=1) / 5)


def test_runs_like_the_ones_before_them_make_dependence_likelier():
    rising, jumping = np.array([[1.0, 1.1, 1.2, 1.3]]), np.array([[1.0, 1.3, 1.1, 1.2]])

    gains = [
        means_given(runs, 0.8).likelihood - means_given(runs, 0.0).likelihood
        for runs in (rising, jumping)
    ]

    assert gains[0] > gains[1]


def test_what_is_believed_sums_to_one():
    assert belief(0.3).sum() == pytest.approx(1)
    assert belief(0.3)[0] == pytest.approx(0.7)


def test_who_is_told_the_dependence_is_wrong_as_seldom_as_promised():
    generator = np.random.default_rng(1)
    own, other = (dependent(0.5)(generator, (2000, 1, 10))[:, 0] for _ in range(2))

    wrong = words(own, other, 0.98, np.array([0.5]), np.ones(1))[0]
    careless = words(own, other, 0.98, RHOS[:1], np.ones(1))[0]

    assert wrong < 0.05 < careless


def test_a_trimmed_mean_leaves_out_the_ends():
    mean, _variance, left = trimmed(np.array([[1.0, 0.1, 1.1, 9.0, 0.9]]))

    assert (mean[0], left) == (pytest.approx(1.0), 3)
