"""Interleaved runs: blocks from the order of starts, and their statistics."""

import numpy as np
import pytest
from scipy.stats import t as student

from benchmarks.analysis.interleaved_runs import find_interleaved
from benchmarks.analysis.run_vectors import RunVectors
from benchmarks.analysis.session_intervals import SessionDesign
from benchmarks.analysis.verdict_gates import Gate
from benchmarks.analysis.verdicts import Verdict
from tests.benchmarks.analysis.order_worlds import (
    Rates,
    World,
    assess_world,
    drift,
    own_autoregression,
    own_walk,
    steady,
    walk,
)


def found(order, values=None, starts=None):
    """Return the interleaved session of runs: "NG" is a native run, then a guest's."""
    is_guest = np.array([side == "G" for side in order], dtype=bool)
    values = np.ones(is_guest.size) if values is None else np.asarray(values, float)
    starts = np.arange(is_guest.size) if starts is None else starts
    starts = np.asarray(starts, dtype=float)

    def side(which):
        zeros = np.zeros(which.sum(), dtype=np.int64)
        order = np.argsort(starts[which], kind="stable")
        return RunVectors(
            *(zeros, zeros, values[which][order], starts[which][order]),
            np.zeros(1, dtype=np.int64),
        )

    return find_interleaved(side(is_guest), side(~is_guest))


def sizes(*arguments, **options):
    """Return the harmonic numbers of runs of the blocks: 0.5 for a pair."""
    return found(*arguments, **options).blocks.weight.round(3).tolist()


@pytest.mark.parametrize(
    ("order", "weights"),
    [
        ("NGNGNG", [0.5] * 3),
        ("NGGNNGGN", [0.5] * 4),
        ("NNNGGGNNNGGG", [1.5] * 2),
        ("NGNGNNGNG", [0.5, 0.5, 0.667, 0.5]),  # one guest run is missing
        ("NGNGN", [0.5] * 2),  # the last run is alone
        ("GNGNGG", [0.5] * 2),
        ("NNGNNGNNG", [0.667] * 3),
        ("NNNN", []),
    ],
)
def test_the_order_of_starts_forms_the_blocks(order, weights):
    assert sizes(order) == weights


def test_blocks_do_not_depend_on_the_values():
    values = np.random.default_rng(1).lognormal(size=12)

    assert sizes("NGGNNGNGGNNG", values) == sizes("NGGNNGNGGNNG")


def test_sides_that_start_together_are_pairs():
    session = found("NGNGNG", starts=[0, 0, 60, 60, 120, 120])

    assert session.blocks.weight.tolist() == [0.5] * 3
    assert session.blocks.offset.tolist() == [0] * 3
    assert session.later_share.tolist() == [0.5]


def test_runs_of_one_stated_start_do_not_alternate():
    session = found("NGNGNG", starts=[7] * 6)

    assert session.n.tolist() == [1]
    assert session.later_share.tolist() == [0.5]


def test_a_long_pause_ends_a_block():
    starts = [0, 1, 2, 3, 4, 1000, 1001, 1002, 1003, 1004]

    assert sizes("NGNGNGNGNG", starts=starts) == [0.5] * 4


def test_sessions_with_an_unknown_start_are_left_out():
    assert found("NGNG", starts=[0, 1, 2, np.nan]).row.size == 0


def test_no_runs_have_no_blocks():
    assert found("").row.size == 0


def test_a_shared_factor_cancels():
    factor = np.repeat(np.exp(np.random.default_rng(2).normal(0, 0.2, 8)), 2)
    values = factor * np.tile([100.0, 90.0], 8)

    session = found("NG" * 8, values, starts=np.repeat(np.arange(8), 2))

    assert np.exp(session.log_ratio[0]) == pytest.approx(0.9)
    assert session.variance[0] == pytest.approx(0, abs=1e-12)


def test_a_linear_drift_cancels_in_strict_alternation():
    values = 1 + 0.001 * np.arange(40)

    session = found("NG" * 20, values)

    assert abs(session.log_ratio[0]) < 5e-5


def test_pairs_have_the_interval_of_students_paired_test():
    generator = np.random.default_rng(3)
    values = 100 + 0.01 * generator.normal(size=20)
    native, guest = values[::2], values[1::2]

    session = found("NG" * 10, values, starts=np.repeat(np.arange(10), 2))

    error = np.sqrt(session.variance[0] / session.n[0])
    difference = (guest - native) / 100
    assert session.log_ratio[0] == pytest.approx(difference.mean(), rel=1e-3)
    assert error == pytest.approx(difference.std(ddof=1) / np.sqrt(10), rel=1e-3)


@pytest.mark.parametrize("order", ["NG" * 5, "NG" * 10, "NGGN" * 5, "NNG" * 7])
def test_intervals_of_independent_runs_cover_the_ratio(order):
    generator = np.random.default_rng(4)
    covered = []
    for _ in range(1000):
        values = np.exp(generator.normal(0, 0.02, len(order)))
        session = found(order, values)
        half_width = student.ppf(0.975, session.n[0] - 1) * np.sqrt(
            session.variance[0] / session.n[0]
        )
        covered.append(abs(session.log_ratio[0]) < half_width)

    assert 0.93 < np.mean(covered) < 0.97


def rates(world, truth, cells=200):
    return Rates.of(assess_world(np.random.default_rng(5), world, cells, truth), truth)


@pytest.mark.parametrize("order", ["NG" * 10, "NGGN" * 5])
def test_a_shared_random_walk_refuses_no_verdict(order):
    world = World(order, walk(0.01), noise=0.003)

    assert rates(world, 0.9).with_word > 0.8
    assert rates(world, 1.0).wrong <= 0.02


def test_a_shared_drift_refuses_no_verdict():
    world = World("NG" * 15, drift(0.06))

    assert rates(world, 0.9).with_word > 0.8
    assert rates(world, 1.0).wrong <= 0.02


def test_a_walk_of_one_side_gives_few_wrong_verdicts():
    world = World("NG" * 15, own_walk(0.005), noise=0.002)

    assert rates(world, 1.0).wrong <= 0.02


def test_few_blocks_are_judged_by_their_sides():
    judged = assess_world(
        np.random.default_rng(6), World("NNNNNGGGGG" * 2, drift(0.12)), 50, 1.0
    )

    assert np.mean((judged.gates & Gate.DRIFT) > 0) > 0.7


def test_one_run_out_of_place_does_not_separate_order_and_side():
    order = "N" * 12 + "G" * 12 + "N"
    judged = assess_world(np.random.default_rng(7), World(order, steady), 20, 0.9)

    assert (judged.verdict == Verdict.NOT_ASSESSED).all()
    assert (judged.gates & Gate.ORDER_CONFOUNDED).all()


@pytest.mark.parametrize(
    ("order", "scope"),
    [
        ("NG" * 8, "in 8 interleaved pairs"),
        ("NNGG" * 6, "in 6 interleaved blocks"),
    ],
)
def test_the_scope_counts_pairs_or_blocks(order, scope):
    world = World(order, walk(0.03), noise=0.002)
    judged = assess_world(np.random.default_rng(8), world, 1, 0.9)

    assert judged.design_intervals.scope(0, {}) == scope


def test_blocks_replace_runs_only_where_the_sides_share_a_disturbance():
    shared, own = (
        assess_world(np.random.default_rng(9), world, 200, 0.9).design_intervals
        for world in (World("NG" * 10, walk(0.03)), World("NG" * 10, steady))
    )

    assert np.mean(shared.has_design(SessionDesign.INTERLEAVED)) > 0.8
    # 10 % of independent sides correlate at this level.
    assert 0.04 < np.mean(own.has_design(SessionDesign.INTERLEAVED)) < 0.2


def test_sides_that_depend_on_their_own_runs_are_judged_by_runs():
    world = World("NG" * 12, own_autoregression(0.5), noise=0.0005)

    judged = rates(world, 0.98)

    assert judged.covered > 0.9
    assert judged.wrong < 0.1


def test_random_order_of_independent_runs_costs_no_verdicts():
    world = World("NGGNGNNGGNGNNGNGNGGNNGGN", steady)

    assert rates(world, 0.95).with_word > 0.98
    assert rates(world, 1.0).with_word > 0.85
