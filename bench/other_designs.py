"""Other ways to judge runs, tried beside the product's, and what they would cost.

`python -m bench.other_designs` prints two tables for `docs/method.md`. Dependent runs:
the posterior of the ratio over every autocorrelation that is possible, from all runs in
their order, by how much is believed beforehand of strong dependence; and what somebody
would say who was told the autocorrelation. Outliers: means trimmed by a fifth at each
end (Yuen, Biometrika 61, 1974). No gate is asked here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy.special import stdtr

from bench.tables import Table, percent
from bench.worlds import World, dependent, independent, outliers
from benchmarks.analysis.intervals import Floats

RHOS: Final = np.linspace(0, 0.96, 17)
STRONG: Final = 0.6
TRUE: Final = (0.0, 0.2, 0.5, 0.8)
TRUTHS: Final = (0.98, 0.95)
SURE: Final = 0.975
LOW, HIGH = np.log(0.98), np.log(1.02)
TRIMMED: Final = 0.2


@dataclass(frozen=True)
class Means:
    """The mean of each cell, its variance, and the likelihood of how that was got."""

    mean: Floats
    variance: Floats
    likelihood: Floats


def means_given(runs: Floats, rho: float) -> Means:
    """Return generalised least squares means of runs of this autocorrelation.

    ``likelihood`` is that of rho (a logarithm), mean and variance integrated out.
    """
    n = runs.shape[1]
    first = np.sqrt(1 - rho**2)
    told = np.concatenate(
        [runs[:, :1] * first, runs[:, 1:] - rho * runs[:, :-1]], axis=1
    )
    weights = np.concatenate([[first], np.full(n - 1, 1 - rho)])
    whole = float(weights @ weights)
    mean = told @ weights / whole
    squares = ((told - mean[:, None] * weights) ** 2).sum(axis=1)
    likelihood = np.log(first) - np.log(whole) / 2 - (n - 1) / 2 * np.log(squares)
    return Means(mean, squares / (n - 1) / whole, likelihood)


def belief(strong: float) -> Floats:
    """Return how likely each of `RHOS` is beforehand: this much for the strong ones
    together, the rest for independence."""
    weights = np.where(STRONG <= RHOS, 1.0, 0.0)
    weights *= strong / weights.sum()
    weights[0] = 1 - strong
    return weights


def words(
    own: Floats, other: Floats, truth: float, rhos: Floats, weights: Floats
) -> tuple[float, float]:
    """Return the shares of cells with any word, and with "slower"."""
    n = own.shape[1]
    sides = [(means_given(own, rho), means_given(other, rho)) for rho in rhos]
    with np.errstate(divide="ignore"):
        logs = np.log(weights)[:, None]
    logs = logs + np.array([a.likelihood + b.likelihood for a, b in sides])
    belief_after = np.exp(logs - logs.max(axis=0))
    belief_after /= belief_after.sum(axis=0)
    below, under = np.zeros((2, own.shape[0]))
    for weight, (a, b) in zip(belief_after, sides, strict=True):
        parts = a.variance / a.mean**2, b.variance / b.mean**2
        error = np.sqrt(sum(parts))
        df = error**4 / (sum(part**2 for part in parts) / (n - 1))
        log_ratio = np.log(truth * a.mean / b.mean)
        below += weight * stdtr(df, (LOW - log_ratio) / error)
        under += weight * stdtr(df, (HIGH - log_ratio) / error)
    slower = below >= SURE
    equivalent = (below <= 1 - SURE) & (under >= SURE)
    word = slower | equivalent | (1 - under >= SURE)
    return float(word.mean()), float(slower.mean())


def dependence(generator: Generator, cells: int, counts: Sequence[int]) -> Table:
    """Any word at 0.98 (all wrong) and right ones at 0.95, by what is believed."""
    ways: Mapping[str, Floats] = {
        f"{percent(strong, 0)} % strong": belief(strong)
        for strong in (0.02, 0.1, 0.2, 0.3, 0.4)
    }
    found: dict[tuple[str, int], list[str]] = {}
    for n in counts:
        for rho in TRUE:
            draw = dependent(rho)
            own, other = (draw(generator, (cells, 1, n))[:, 0] for _side in range(2))
            told = np.array([rho]), np.ones(1)
            every = {"told rho": told, **{k: (RHOS, w) for k, w in ways.items()}}
            for name, (rhos, weights) in every.items():
                wrong = words(own, other, TRUTHS[0], rhos, weights)[0]
                right = words(own, other, TRUTHS[1], rhos, weights)[1]
                shares = f"{percent(wrong)} / {percent(right)}"
                found.setdefault((name, n), []).append(shares)
    return Table(
        "Runs that depend on each other: wrong at 0.98 / right at 0.95",
        f"Of {cells:,} cells, %.",
        ("believed beforehand, runs a side", *(f"rho = {rho:g}" for rho in TRUE)),
        tuple((f"{name}, {n}", *shares) for (name, n), shares in found.items()),
    )


def trimmed(runs: Floats) -> tuple[Floats, Floats, int]:
    """Return trimmed means, their variances and how many runs are left in each."""
    n = runs.shape[1]
    cut = int(TRIMMED * n)
    ordered = np.sort(runs, axis=1)
    left = n - 2 * cut
    winsorised = np.clip(ordered, ordered[:, [cut]], ordered[:, [n - 1 - cut]])
    squares = winsorised.var(axis=1, ddof=1) * (n - 1)
    return (
        ordered[:, cut : n - cut].mean(axis=1),
        squares / (left * (left - 1)),
        left,
    )


def trimmed_words(own: Floats, other: Floats, truth: float) -> tuple[float, float]:
    """Return the shares of cells with any word, and with "slower", of trimmed means."""
    (mean, variance, left), (its, theirs, _left) = trimmed(own), trimmed(other)
    parts = variance / mean**2, theirs / its**2
    error = np.sqrt(sum(parts))
    df = error**4 / (sum(part**2 for part in parts) / (left - 1))
    log_ratio = np.log(truth * mean / its)
    slower = stdtr(df, (LOW - log_ratio) / error) >= SURE
    under = stdtr(df, (HIGH - log_ratio) / error)
    over_low = stdtr(df, (log_ratio - LOW) / error)
    word = slower | (1 - under >= SURE) | ((under >= SURE) & (over_low >= SURE))
    return float(word.mean()), float(slower.mean())


def robustness(generator: Generator, cells: int, counts: Sequence[int]) -> Table:
    """Trimmed means where both sides have outliers, and where the guest alone has."""
    quiet = independent(0.005)
    worlds = {
        "both sides": (World("", outliers), World("", outliers)),
        "the guest alone": (World("", outliers), World("", quiet)),
    }
    rows = []
    for name, (guest, native) in worlds.items():
        for n in counts:
            own, other = (
                world.draw(generator, (cells, 1, n))[:, 0] for world in (guest, native)
            )
            shares = [
                trimmed_words(own, other, TRUTHS[0])[0],
                trimmed_words(own, other, TRUTHS[1])[1],
            ]
            rows.append((f"{name}, {n}", *map(percent, shares)))
    return Table(
        "Means trimmed by a fifth at each end, 4 % of runs 30 % slower",
        f"Of {cells:,} cells, %; the truth is the ratio of the means.",
        ("outliers, runs a side", "wrong at 0.98", "right at 0.95"),
        tuple(rows),
    )


def main(arguments: Sequence[str]) -> None:
    cells = int(arguments[0]) if arguments else 3000
    generator = np.random.default_rng(0)
    print(dependence(generator, cells, (5, 10)).markdown())
    print(robustness(generator, cells, (5, 10, 30, 100)).markdown())


if __name__ == "__main__":
    main(sys.argv[1:])
