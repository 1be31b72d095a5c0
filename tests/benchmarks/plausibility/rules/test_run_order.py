import math

import numpy as np
import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings

DISK = {"tool": "iozone", "metric": "throughput", "component": "disk"}


def noisy(level, n=10, cv=0.01, seed=1):
    scatter = np.random.default_rng(seed).normal(0, cv, n)
    return [float(level * math.exp(shift)) for shift in scatter]


@pytest.mark.parametrize("factor", [0.03, 0.9, 1.3])
def test_a_step_within_a_session_is_found(factor):
    stepped = cell(*noisy(100, 6), *noisy(100 * factor, 8, seed=2), **DISK)

    [finding] = findings("level-changes", stepped)

    assert finding.evidence["from_runs"] == [7]
    assert finding.evidence["factors"] == [pytest.approx(factor, rel=0.02)]


def test_a_slow_drift_is_found():
    runs = [value * (1 - 0.001 * i) for i, value in enumerate(noisy(100, 58, 0.003))]

    [finding] = findings("level-changes", cell(*runs, **DISK))

    assert 0.96 < finding.evidence["factors"][0] < 0.98


def test_a_drift_of_a_few_percent_in_twenty_noisy_runs_is_found():
    drifts = [value * 0.996**i for i, value in enumerate(noisy(100, 20, 0.02))]

    [finding] = findings("level-changes", cell(*drifts, **DISK))

    assert finding.evidence["factors"] == [pytest.approx(0.93, abs=0.04)]


def test_a_fall_and_rise_is_found_if_other_systems_are_steady():
    wandering = (10876, 10673, 8652, 7171, 7643, 7386, 7938, 7905, 9251, 10641)
    native = cell(*noisy(11800, cv=0.007))

    [finding] = findings("level-changes", cell(*wandering, system="vm"), native)

    assert len(finding.subjects) == 1
    assert not findings("level-changes", cell(*wandering, system="vm"))


def test_steps_between_sessions_are_not_steps_within_one():
    days = {"session_names": ("monday",) * 8 + ("friday",) * 8}
    two_days = cell(*noisy(100, 8), *noisy(90, 8, seed=2), **DISK, **days)

    assert not findings("level-changes", two_days)


def test_a_slow_first_run_of_each_session_is_found():
    days = {"session_names": ("monday",) * 5 + ("friday",) * 5}
    runs = [130.0, *noisy(100, 4), 128.0, *noisy(100, 4, seed=2)]

    [finding] = findings("level-changes", cell(*runs, **DISK, **days))

    assert "first run" in finding.sentence
    assert finding.evidence["factors"] == [pytest.approx(1 / 1.3, rel=0.03)]


def test_starts_of_parallel_guests_have_no_order():
    starts = {"scenario": "parallel", "vms": 50}

    assert not findings(
        "level-changes", cell(*noisy(100, 6), *noisy(200, 8), **DISK, **starts)
    )


@pytest.mark.parametrize("seed", range(20))
def test_independent_runs_have_one_level(seed):
    assert not findings("level-changes", cell(*noisy(100, 20, 0.1, seed), **DISK))


def settings(slow_runs):
    for number, slow in enumerate(slow_runs):
        runs = noisy(100 + number, 11, seed=number)
        yield cell(
            *(value * (2 if i in slow else 1) for i, value in enumerate(runs)),
            **DISK,
            system=f"setting {number}",
        )


def test_runs_at_two_speeds_on_several_systems_are_found():
    cells = list(settings([{0, 5}, set(), {3}, {7}]))

    [finding] = findings("two-speeds", *cells)

    assert {subject.id for subject in finding.subjects} == {
        cells[number].id for number in (0, 2, 3)
    }
    assert finding.evidence["factors"] == [pytest.approx(2, rel=0.05)]


def test_slow_runs_of_one_system_or_few_slow_runs_are_not_two_speeds():
    assert not findings("two-speeds", *settings([{0, 2, 4, 6}, set(), set()]))
    assert not findings("two-speeds", *settings([{0}, {2}, {5}, set()]))


@pytest.mark.parametrize("seed", range(40))
def test_wide_scatter_is_not_two_speeds(seed):
    scatter = np.random.default_rng(seed).gamma(2, size=(3, 8))

    cells = [
        cell(*(1 + 0.2 * row).tolist(), **DISK, system=f"setting {number}")
        for number, row in enumerate(scatter)
    ]

    assert not findings("two-speeds", *cells)
