import math

import numpy as np
import pytest
from scipy.stats import t as student

from benchmarks.analysis.work_mixes import MixPart, mix_effect

SHARES = np.array([0.6, 0.3, 0.1])
MEANS = np.log([0.95, 0.9, 0.7])
SPREADS = np.array([0.02, 0.05, 0.2])
WORLDS = 4000


def coverage(correlation, kind, machines=8):
    """Return how often the interval of a mix contains the mix of a new machine."""
    rng = np.random.default_rng(4711)
    covariance = np.full((3, 3), correlation)
    np.fill_diagonal(covariance, 1)
    factor = np.linalg.cholesky(covariance + 1e-12 * np.eye(3)).T
    deviations = rng.normal(size=(WORLDS, machines + 1, 3)) @ factor
    values = MEANS + SPREADS * deviations
    measured, new = values[:, :-1], values[:, -1]
    means = measured.mean(axis=1)
    width = student.ppf(0.975, machines - 1) * math.sqrt(1 + 1 / machines)
    widths = width * measured.std(axis=1, ddof=1)
    hits = 0
    for mean, half, truth in zip(means, widths, new @ SHARES, strict=True):
        parts = [
            MixPart(share, log, (log - end, log + end))
            for share, log, end in zip(SHARES, mean, half, strict=True)
        ]
        low, high = getattr(mix_effect(parts), kind)
        hits += low <= truth <= high
    return hits / WORLDS


@pytest.mark.parametrize("correlation", [0, 0.5, 1])
def test_the_interval_of_a_mix_covers_new_machines_at_any_correlation(correlation):
    assert coverage(correlation, "interval") >= 0.94


def test_the_independent_interval_has_its_rate_only_without_correlation():
    # The ends of few machines are far out, so the rate is a little higher than 95%.
    assert 0.94 <= coverage(0, "independent") <= 0.98
    assert coverage(1, "independent") < 0.9


def test_the_mean_is_the_weighted_geometric_mean():
    part = MixPart(0.5, math.log(0.81), (math.log(0.8), math.log(0.85)))
    whole = MixPart(0.5, 0.0, (0.0, 0.0))

    assert math.exp(mix_effect([part, whole]).log_ratio) == pytest.approx(0.9)


def test_one_part_keeps_its_interval():
    effect = mix_effect([MixPart(1.0, -0.1, (-0.3, 0.05))])

    assert effect.interval == effect.independent == pytest.approx((-0.3, 0.05))


@pytest.mark.parametrize("shares", [(), (0.5,), (0.7, 0.7)])
def test_shares_must_sum_to_one(shares):
    with pytest.raises(ValueError, match="sum to 1"):
        mix_effect([MixPart(share, 0.0, (0.0, 0.0)) for share in shares])
