import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.analysis.gates import Gate
from benchmarks.analysis.intervals import Rollups, log_ratio_intervals
from benchmarks.analysis.verdicts import (
    EvidenceLevel,
    Verdict,
    compare_directly,
    judge,
)


def cells(*rows):
    """Cells of (runs, mean, standard deviation)."""
    n, mean, deviation = np.array(rows, dtype=float).T
    m2 = deviation**2 * np.maximum(n - 1, 0)
    return Rollups.of(n.astype(int), mean, m2, np.full(len(n), np.nan))


QUIET = (5, 100.0, 0.5)


def verdict_of(*cell, baseline=QUIET, higher_is_better=True, **options):
    judged = judge(cells(cell), cells(baseline), [higher_is_better], **options)
    return Verdict(judged.verdict[0])


@pytest.mark.parametrize(
    ("mean", "higher", "lower"),
    [
        (90.0, Verdict.SLOWER, Verdict.FASTER),
        (97.8, Verdict.UNDETERMINED, Verdict.UNDETERMINED),
        (99.0, Verdict.EQUIVALENT, Verdict.EQUIVALENT),
        (100.9, Verdict.EQUIVALENT, Verdict.EQUIVALENT),
        (101.9, Verdict.UNDETERMINED, Verdict.UNDETERMINED),
        (110.0, Verdict.FASTER, Verdict.SLOWER),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_margin(mean, higher, lower):
    assert verdict_of(5, mean, 0.5) == higher
    assert verdict_of(5, mean, 0.5, higher_is_better=False) == lower


def test_a_study_may_set_another_margin():
    assert verdict_of(5, 95.0, 0.5, margin=0.1) == Verdict.EQUIVALENT
    assert verdict_of(5, 95.0, 0.5, margin=0.02) == Verdict.SLOWER


@pytest.mark.parametrize(
    ("n", "evidence_level", "gates"),
    [
        (0, EvidenceLevel.NONE, Gate.NO_RUNS),
        (1, EvidenceLevel.NONE, Gate.SINGLE_RUN),
        (2, EvidenceLevel.FAINT, Gate.TWO_RUNS),
        (3, EvidenceLevel.INDICATIVE, Gate.FEW_RUNS),
        (4, EvidenceLevel.INDICATIVE, Gate.FEW_RUNS),
        (5, EvidenceLevel.VERDICT, 0),
        (9, EvidenceLevel.VERDICT, 0),
        (10, EvidenceLevel.RANKING, 0),
        (30, EvidenceLevel.RANKING, 0),
    ],
)
def test_the_smaller_side_decides_what_may_be_said(n, evidence_level, gates):
    few, many = cells((n, 50.0, 0.1)), cells((30, 100.0, 0.1))

    for judged in (judge(few, many, [True]), judge(many, few, [True])):
        assert judged.evidence_level[0] == evidence_level
        assert judged.gates[0] == gates
        assert (judged.verdict[0] == Verdict.NOT_ASSESSED) == bool(gates)


def test_few_runs_lean_but_have_no_verdict():
    judged = judge(cells((3, 50.0, 0.1)), cells((3, 100.0, 0.1)), [True])

    assert judged.verdict[0] == Verdict.NOT_ASSESSED
    assert judged.direction[0] == Verdict.SLOWER


@pytest.mark.parametrize("gate", list(Gate))
def test_every_gate_withholds_a_verdict(gate):
    stated = Verdict.BASELINE if gate is Gate.NATIVE else Verdict.NOT_ASSESSED
    assert verdict_of(5, 90.0, 0.5, gates=[gate]) == stated


def test_gates_from_elsewhere_come_on_top_of_those_found():
    judged = judge(
        cells((3, 90.0, 0.5), QUIET), cells(QUIET, QUIET), True, gates=[Gate.FLAGGED, 0]
    )

    assert judged.gates.tolist() == [Gate.FLAGGED | Gate.FEW_RUNS, 0]


@pytest.mark.parametrize("gate", [Gate.NATIVE, Gate.NO_BASELINE, Gate.UNDIRECTED])
def test_why_there_is_no_baseline_is_said_once(gate):
    judged = judge(cells(QUIET), cells((0, np.nan, np.nan)), [True], gates=[gate])

    assert judged.gates.tolist() == [gate]
    assert np.isnan(judged.intervals.ratio[0])


# --- Two virtual machines.


def test_two_machines_are_compared_by_their_own_runs():
    one, other = cells((5, 90.0, 0.5)), cells((5, 100.0, 0.5))

    judged = compare_directly(one, other, [True])

    direct = log_ratio_intervals(one, other, [True])
    np.testing.assert_array_equal(judged.intervals.low, direct.low)
    np.testing.assert_array_equal(judged.intervals.high, direct.high)


def test_a_noisy_native_baseline_does_not_blur_their_comparison():
    one, other, native = cells((5, 90, 0.5)), cells((5, 100, 0.5)), cells((5, 120, 9))

    direct = compare_directly(one, other, [True])

    through_native = [log_ratio_intervals(vm, native, [True]) for vm in (one, other)]
    doubled = np.hypot(*(each.log_half_width for each in through_native))
    assert direct.verdict[0] == Verdict.SLOWER
    assert doubled[0] > 10 * direct.intervals.log_half_width[0]
    assert through_native[0].high[0] > through_native[1].low[0]


@pytest.mark.parametrize("noisy", [0, 1])
def test_either_of_two_machines_may_be_the_noisy_one(noisy):
    sides = [(5, 100.0, 0.5), (5, 100.0, 0.5)]
    sides[noisy] = (5, 1000.0, 400.0)

    judged = compare_directly(*map(cells, sides), [True])

    assert judged.gates[0] == Gate.NOISY_BASELINE


any_number = st.floats(width=64)
any_cell = st.tuples(st.integers(0, 9), any_number, any_number, any_number)


@given(any_cell, any_cell, st.booleans())
def test_no_numbers_are_too_strange_to_be_judged(cell, baseline, higher_is_better):
    sides = [Rollups.of(*([each] for each in side)) for side in (cell, baseline)]

    judged = compare_directly(*sides, [higher_is_better])

    found = judged.intervals
    if judged.verdict[0] != Verdict.NOT_ASSESSED:
        assert 0 < found.low[0] <= found.ratio[0] <= found.high[0] < np.inf
        assert 0 <= judged.p_values()[0] <= 1


# --- p values.

a_cell = st.tuples(st.integers(2, 12), st.floats(90.0, 110.0), st.floats(0.01, 5.0))


@given(st.lists(st.tuples(a_cell, a_cell), min_size=1, max_size=6))
def test_p_and_verdict_say_the_same(pairs):
    judged = judge(
        cells(*(cell for cell, _ in pairs)), cells(*(other for _, other in pairs)), True
    )

    p = judged.p_values()

    decided = (judged.verdict != Verdict.UNDETERMINED) & ~np.isnan(p)
    np.testing.assert_array_equal(p < 0.05, decided)
    np.testing.assert_array_equal(np.isnan(p), judged.verdict == Verdict.NOT_ASSESSED)


def test_p_is_twice_the_tail_beyond_the_nearest_edge():
    """10 a side, each mean's relative error 0.5 %: df 18, error 0.7071 %."""
    deviation = 0.5 * 10**0.5
    baseline = cells((10, 100.0, deviation))

    slower = judge(cells((10, 96.0, 0.96 * deviation)), baseline, [True])
    inside = judge(cells((10, 100.0, deviation)), baseline, [True])

    # -ln(0.96 / 0.98) = 0.0206193; ln(1.02) = 0.0198026
    error = 0.005 * 2**0.5
    p_slower, p_inside = 2 * stats.t.sf(np.array([0.0206193, 0.0198026]) / error, 18)
    assert slower.p_values()[0] == pytest.approx(p_slower, rel=1e-4)
    assert inside.p_values()[0] == pytest.approx(p_inside, rel=1e-4)


# --- Advice.


def test_it_says_how_many_runs_would_decide():
    judged = judge(cells((5, 97.0, 1.0)), cells((5, 100.0, 1.0)), [True])
    wanted = int(judged.wanted_runs[0])

    assert judged.verdict[0] == Verdict.UNDETERMINED
    assert verdict_of(wanted, 97.0, 1.0, baseline=(wanted, 100.0, 1.0)) == (
        Verdict.SLOWER
    )
    assert verdict_of(wanted - 1, 97.0, 1.0, baseline=(wanted - 1, 100.0, 1.0)) == (
        Verdict.UNDETERMINED
    )


@pytest.mark.parametrize(
    ("cell", "baseline", "wanted"),
    [
        ((1, 90.0, 0.0), (1, 100.0, 0.0), 5),  # nothing known of the spread
        ((3, 90.0, 0.5), (3, 100.0, 0.5), 5),  # clear, but too few
        ((5, 90.0, 0.5), (5, 100.0, 0.5), 0),  # decided
        ((5, 98.0, 1.0), (5, 100.0, 1.0), 0),  # at the edge: no number decides
        ((0, 0.0, 0.0), (5, 100.0, 1.0), 0),
    ],
)
def test_it_wants_runs_only_where_they_help(cell, baseline, wanted):
    judged = judge(cells(cell), cells(baseline), [True])

    assert judged.wanted_runs[0] == wanted


def test_more_runs_calm_a_noisy_baseline():
    judged = judge(cells((5, 50.0, 0.5)), cells((5, 100.0, 40.0)), [True])
    wanted = int(judged.wanted_runs[0])

    assert judged.gates[0] == Gate.NOISY_BASELINE
    calm = verdict_of(wanted, 50.0, 0.5, baseline=(wanted, 100.0, 40.0))
    assert calm == Verdict.SLOWER


def test_a_flagged_cell_gets_no_advice():
    judged = judge(cells((3, 97.0, 1.0)), cells(QUIET), [True], gates=[Gate.FLAGGED])

    assert judged.wanted_runs[0] == 0


def test_sides_that_are_worlds_apart_are_judged():
    judged = judge(cells((4, 1e-155, 1e-157)), cells((4, 1e155, 1e152)), [True])

    assert judged.direction[0] == Verdict.SLOWER
    assert judged.wanted_runs[0] == 5


def test_the_error_of_two_meters_blurs_a_verdict():
    sides = cells((5, 96.5, 0.5)), cells((5, 100.0, 0.5))
    meters = 2 * 0.015**2 / 3

    assert judge(*sides, [True]).verdict[0] == Verdict.SLOWER
    for compare in (judge, compare_directly):
        judged = compare(*sides, [True], extra_log_variance=meters)
        assert judged.verdict[0] == Verdict.UNDETERMINED
        assert judged.wanted_runs[0] == 0  # no number of runs shows a meter's error
