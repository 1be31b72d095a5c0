"""Fingerprints and comparisons of run vectors, on simulated runs."""

import math

import numpy as np
import pytest

from benchmarks.plausibility.run_copies import (
    MIN_PARTIAL_SURPRISE,
    MIN_SURPRISE,
    RunVector,
    joint_surprise,
    run_copy,
    run_patterns,
    similar_runs,
)


def runs(seed, n=10, digits=5, mean=345.6, deviation=0.02):
    values = np.random.default_rng(seed).normal(mean, deviation * mean, n)
    return shown(values, digits)


def shown(values, digits=5):
    return RunVector(tuple(float(f"{value:.{digits}g}") for value in values))


def changed(cell, how):
    values = np.array(cell.means)
    changes = {
        "equal": lambda: shown(values),
        "shuffled": lambda: shown(np.random.default_rng(1).permutation(values)),
        "scaled": lambda: shown(values * 1.0001),
        "in another unit": lambda: shown(values * 1024 / 1000),
        "rounded": lambda: shown(values, 4),
        "without two runs": lambda: shown(values[2:]),
        "changed by 0.01 %": lambda: shown(
            values * np.random.default_rng(2).normal(1, 1e-4, values.size)
        ),
        "with one other run": lambda: shown([*values[:-1], values[-1] * 1.01]),
        "shuffled and scaled": lambda: shown(values[::-1] * 1.0001),
    }
    return changes[how]()


@pytest.mark.parametrize(
    "how",
    [
        *("equal", "shuffled", "scaled", "in another unit", "rounded"),
        *("without two runs", "shuffled and scaled", "changed by 0.01 %"),
        "with one other run",
    ],
)
def test_copies_share_a_fingerprint_and_are_recognized(how):
    found = 0
    for seed in range(20):
        original = runs(seed, n=20)
        copy = changed(original, how)
        first, second = run_patterns([original, copy])
        found += bool(set(first) & set(second)) and bool(run_copy(original, copy))

    assert found >= 19


def test_the_factor_and_the_number_of_copied_runs_are_known():
    original = runs(3, n=12)

    copy = run_copy(original, changed(original, "in another unit"))

    assert copy.shared == 12
    assert copy.factor == pytest.approx(1.024, rel=1e-3)


@pytest.mark.parametrize("digits", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("n", [3, 5, 10, 30])
def test_independent_runs_are_not_copies(digits, n):
    cells = [runs(1000 + seed, n=n, digits=digits) for seed in range(14)]

    copies = [
        (first, second)
        for row, first in enumerate(cells)
        for second in cells[:row]
        if run_copy(first, second)
    ]

    assert copies == []


@pytest.mark.parametrize("inverse", [False, True])
def test_runs_in_steps_of_a_clock_are_not_copies(inverse):
    ticks = np.random.default_rng(5).integers(20, 50, (24, 4))
    cells = [shown(1e6 / row if inverse else row * 1.1734, 6) for row in ticks]

    assert not any(
        run_copy(first, second)
        for row, first in enumerate(cells)
        for second in cells[:row]
    )


def test_runs_that_may_be_equal_by_chance_have_no_fingerprint():
    coarse = RunVector((62.0, 67.0, 70.0, 67.0, 62.0))
    constant = RunVector((5.0,) * 10)
    few = runs(1, n=2)

    assert run_patterns([coarse, constant, few]) == [(), (), ()]


def test_values_without_a_logarithm_are_ignored():
    cells = [RunVector((0.0, 1.0, 2.0)), RunVector((1.0, float("inf"), 2.0))]

    assert run_patterns(cells) == [(), ()]
    assert run_copy(*cells) is None


@pytest.mark.parametrize("n", [10, 20])
def test_machines_whose_runs_were_rounded_to_three_digits_are_recognized(n):
    found = 0
    for seed in range(20):
        surprises = []
        for side in range(2):
            original = runs(2 * seed + side, n=n, digits=6, mean=345.6, deviation=0.01)
            copy = shown(original.means, 3)
            first, second = run_patterns([original, copy])
            similar = similar_runs(original, copy)
            if similar and set(first) & set(second):
                surprises.append(similar.surprise)
        found += joint_surprise(surprises, 2) >= MIN_SURPRISE

    assert found >= 15


COARSE = {
    "two speeds": lambda random, n: (
        300 + 12 * (random.random(n) < 0.5) + 0.3 * random.normal(size=n)
    ),
    "five values": lambda random, n: random.integers(298, 303, n),
    "a step as large as the deviation": lambda random, n: random.normal(300, 1, n),
    "a skewed display": lambda random, n: 300 + random.geometric(0.5, n),
}


@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize("kind", COARSE)
def test_coarse_independent_runs_agree_as_rarely_as_stated(kind, n):
    random = np.random.default_rng(7)
    cells = [
        RunVector(tuple(10.0 * np.round(COARSE[kind](random, n)))) for _ in range(40)
    ]
    surprises = [
        similar.surprise if (similar := similar_runs(first, second)) else 0.0
        for row, first in enumerate(cells)
        for second in cells[max(row - 10, 0) : row]
    ]

    assert np.mean(np.array(surprises) >= math.log(100)) <= 0.01
    assert max(surprises) < MIN_PARTIAL_SURPRISE


def test_several_weak_agreements_count_less_than_their_product():
    assert joint_surprise([15.0, 15.0], 2) == pytest.approx(30 - math.log(31))
    assert joint_surprise([15.0], 2) == pytest.approx(15 - math.log(2))
    assert joint_surprise([], 2) == 0.0
