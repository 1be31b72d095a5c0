import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.analysis.intervals import RunStatistics
from benchmarks.analysis.verdict_gates import Gate
from benchmarks.analysis.verdicts import (
    EvidenceLevel,
    Verdict,
    assess_cells,
    benjamini_hochberg,
    correct_for_multiple_tests,
)


def cells(*rows):
    """Return cells of (runs, mean, standard deviation)."""
    n, mean, deviation = np.array(rows, dtype=float).T
    m2 = deviation**2 * np.maximum(n - 1, 0)
    return RunStatistics.from_sums(n.astype(int), mean, m2, np.full(len(n), np.nan))


QUIET = (5, 100.0, 0.5)


def verdict_of(*cell, baseline=QUIET, higher_is_better=True, **options):
    judged = assess_cells(cells(cell), cells(baseline), [higher_is_better], **options)
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
def test_the_smaller_side_decides_the_evidence_level(n, evidence_level, gates):
    few, many = cells((n, 50.0, 0.1)), cells((30, 100.0, 0.1))

    for judged in (assess_cells(few, many, [True]), assess_cells(many, few, [True])):
        assert judged.evidence_level[0] == evidence_level
        assert judged.gates[0] == gates
        assert (judged.verdict[0] == Verdict.NOT_ASSESSED) == bool(gates)


def test_few_runs_have_a_direction_but_no_verdict():
    judged = assess_cells(cells((3, 50.0, 0.1)), cells((3, 100.0, 0.1)), [True])

    assert judged.verdict[0] == Verdict.NOT_ASSESSED
    assert judged.direction[0] == Verdict.SLOWER


# A test for dependence withholds nothing if the interval decides.
@pytest.mark.parametrize(
    "gate", [gate for gate in Gate if gate != Gate.FEW_INDEPENDENT]
)
def test_every_gate_withholds_a_verdict(gate):
    stated = Verdict.BASELINE if gate is Gate.NATIVE else Verdict.NOT_ASSESSED
    assert verdict_of(5, 90.0, 0.5, gates=[gate]) == stated


def test_passed_gates_are_added_to_statistical_ones():
    judged = assess_cells(
        cells((3, 90.0, 0.5), QUIET), cells(QUIET, QUIET), True, gates=[Gate.FLAGGED, 0]
    )

    assert judged.gates.tolist() == [Gate.FLAGGED | Gate.FEW_RUNS, 0]


@pytest.mark.parametrize("gate", [Gate.NATIVE, Gate.NO_BASELINE, Gate.UNDIRECTED])
def test_a_missing_baseline_is_explained_once(gate):
    judged = assess_cells(
        cells(QUIET), cells((0, np.nan, np.nan)), [True], gates=[gate]
    )

    assert judged.gates.tolist() == [gate]
    assert np.isnan(judged.intervals.ratio[0])


any_number = st.floats(width=64)
any_cell = st.tuples(st.integers(0, 9), any_number, any_number, any_number)


@given(any_cell, any_cell, st.booleans())
def test_extreme_numbers_are_assessed(cell, baseline, higher_is_better):
    sides = [
        RunStatistics.from_sums(*([each] for each in side)) for side in (cell, baseline)
    ]

    judged = assess_cells(*sides, [higher_is_better])

    intervals = judged.intervals
    if judged.verdict[0] != Verdict.NOT_ASSESSED:
        assert 0 < intervals.low[0] <= intervals.ratio[0] <= intervals.high[0] < np.inf
        assert 0 <= judged.p_values()[0] <= 1


# --- p values.

a_cell = st.tuples(st.integers(2, 12), st.floats(90.0, 110.0), st.floats(0.01, 5.0))


@given(st.lists(st.tuples(a_cell, a_cell), min_size=1, max_size=6))
def test_p_and_verdict_are_consistent(pairs):
    judged = assess_cells(
        cells(*(cell for cell, _ in pairs)), cells(*(other for _, other in pairs)), True
    )

    p = judged.p_values()

    decided = (judged.verdict != Verdict.UNDETERMINED) & ~np.isnan(p)
    np.testing.assert_array_equal(p < 0.05, decided)
    np.testing.assert_array_equal(np.isnan(p), judged.verdict == Verdict.NOT_ASSESSED)


def test_p_is_twice_the_tail_from_the_nearest_edge():
    """10 a side, each mean's relative error 0.5 %: df 18, error 0.7071 %."""
    deviation = 0.5 * 10**0.5
    baseline = cells((10, 100.0, deviation))

    slower = assess_cells(cells((10, 96.0, 0.96 * deviation)), baseline, [True])
    inside = assess_cells(cells((10, 100.0, deviation)), baseline, [True])

    # -ln(0.96 / 0.98) = 0.0206193; ln(1.02) = 0.0198026
    error = 0.005 * 2**0.5
    p_slower, p_inside = 2 * stats.t.sf(np.array([0.0206193, 0.0198026]) / error, 18)
    assert slower.p_values()[0] == pytest.approx(p_slower, rel=1e-4)
    assert inside.p_values()[0] == pytest.approx(p_inside, rel=1e-4)


# --- Advice.


def test_advice_has_the_number_of_runs():
    judged = assess_cells(cells((5, 97.0, 1.0)), cells((5, 100.0, 1.0)), [True])
    wanted = int(judged.runs_needed[0])

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
        ((1, 90.0, 0.0), (1, 100.0, 0.0), 5),  # unknown spread
        ((3, 90.0, 0.5), (3, 100.0, 0.5), 5),  # clear, but too few
        ((5, 90.0, 0.5), (5, 100.0, 0.5), 0),  # decided
        ((5, 98.0, 1.0), (5, 100.0, 1.0), 0),  # at the edge: no number decides
        ((0, 0.0, 0.0), (5, 100.0, 1.0), 0),
    ],
)
def test_runs_are_advised_only_if_they_help(cell, baseline, wanted):
    judged = assess_cells(cells(cell), cells(baseline), [True])

    assert judged.runs_needed[0] == wanted


def test_more_runs_solve_a_noisy_baseline():
    judged = assess_cells(cells((5, 50.0, 0.5)), cells((5, 100.0, 40.0)), [True])
    wanted = int(judged.runs_needed[0])

    assert judged.gates[0] == Gate.NOISY_BASELINE
    calm = verdict_of(wanted, 50.0, 0.5, baseline=(wanted, 100.0, 40.0))
    assert calm == Verdict.SLOWER


def test_a_flagged_cell_gets_no_advice():
    judged = assess_cells(
        cells((3, 97.0, 1.0)), cells(QUIET), [True], gates=[Gate.FLAGGED]
    )

    assert judged.runs_needed[0] == 0


def test_very_different_sides_are_assessed():
    judged = assess_cells(cells((4, 1e-155, 1e-157)), cells((4, 1e155, 1e152)), [True])

    assert judged.direction[0] == Verdict.SLOWER
    assert judged.runs_needed[0] == 5


def test_the_error_of_two_meters_can_prevent_a_verdict():
    sides = cells((5, 96.5, 0.5)), cells((5, 100.0, 0.5))
    meters = 2 * 0.015**2 / 3

    assert assess_cells(*sides, [True]).verdict[0] == Verdict.SLOWER
    judged = assess_cells(*sides, [True], extra_log_variance=meters)
    assert judged.verdict[0] == Verdict.UNDETERMINED
    assert judged.runs_needed[0] == 0  # no number of runs reveals a meter's error


UNKNOWN = float("nan")

# Benjamini and Hochberg (1995), section 4.1: 15 comparisons of two treatments after a
# heart attack. Bonferroni rejects three at 5 %, their procedure four.
PUBLISHED = [
    0.0001,
    0.0004,
    0.0019,
    0.0095,
    0.0201,
    0.0278,
    0.0298,
    0.0344,
    0.0459,
    0.3240,
    0.4262,
    0.5719,
    0.6528,
    0.7590,
    1.0000,
]


def test_it_reproduces_the_published_example():
    correction = benjamini_hochberg(PUBLISHED)

    assert correction.tested_count == 15
    assert correction.is_significant.tolist() == [True] * 4 + [False] * 11
    assert correction.adjusted[3] == pytest.approx(0.0095 * 15 / 4)


def test_a_matrix_keeps_its_shape_and_nan_is_not_a_test():
    matrix = np.full((4, 5), UNKNOWN)
    matrix.flat[[0, 3, 7, 19]] = [0.04, 0.001, 0.9, 0.02]

    correction = benjamini_hochberg(matrix)

    assert correction.tested_count == 4
    np.testing.assert_array_equal(np.isnan(correction.adjusted), np.isnan(matrix))
    assert np.flatnonzero(correction.is_significant).tolist() == [3, 19]


@pytest.mark.parametrize("p_values", [[], [UNKNOWN, UNKNOWN]])
def test_no_tests_have_no_discoveries(p_values):
    correction = benjamini_hochberg(p_values)

    assert (correction.tested_count, correction.is_significant.any()) == (0, False)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_it_equals_scipys_correction(p_values):
    expected = stats.false_discovery_control(p_values)

    np.testing.assert_allclose(
        benjamini_hochberg(p_values).adjusted, expected, rtol=1e-12
    )


def steady(*means):
    n = np.full(len(means), 5)
    return RunStatistics.from_sums(
        n, means, np.full(len(means), 2.56), np.full(len(means), UNKNOWN)
    )


def test_verdicts_that_do_not_survive_become_undetermined():
    means = [80.0, 96.3, *[97.8] * 18]
    judged = assess_cells(steady(*means), steady(*[100.0] * 20), True)
    assert judged.verdict[:2].tolist() == [Verdict.SLOWER] * 2

    corrected = correct_for_multiple_tests(judged)

    assert corrected.verdict[:2].tolist() == [Verdict.SLOWER, Verdict.UNDETERMINED]
    assert corrected.direction.tolist() == judged.direction.tolist()
    assert corrected.tested_count == 20


def test_withheld_cells_are_not_tested():
    gates = [0, 0, int(Gate.FLAGGED)]
    judged = assess_cells(
        steady(80, 96.3, 96.3), steady(100, 100, 100), True, gates=gates
    )

    corrected = correct_for_multiple_tests(judged)

    assert corrected.tested_count == 2
    assert corrected.verdict.tolist() == [
        Verdict.SLOWER,
        Verdict.SLOWER,
        Verdict.NOT_ASSESSED,
    ]


def test_only_primary_cells_are_tests_and_others_use_their_limit():
    means = [80.0, *[97.8] * 18, 96.3]
    judged = assess_cells(steady(*means), steady(*[100.0] * 20), True)
    alone = np.arange(20) == 0

    corrected = correct_for_multiple_tests(judged, alone)

    assert corrected.tested_count == 1
    assert corrected.verdict[[0, 19]].tolist() == [Verdict.SLOWER, Verdict.UNDETERMINED]
    # Cells that follow from a significant one are significant too.
    both = assess_cells(steady(80, 80), steady(100, 100), True)
    assert (
        correct_for_multiple_tests(both, [True, False]).verdict.tolist()
        == [Verdict.SLOWER] * 2
    )


def test_without_primary_cells_all_are_tests():
    judged = assess_cells(steady(80, 97.8), steady(100, 100), True)

    assert correct_for_multiple_tests(judged, [False, False]).tested_count == 2


def test_correcting_twice_changes_nothing():
    judged = assess_cells(steady(80, 96.3, *[97.8] * 18), steady(*[100] * 20), True)
    once = correct_for_multiple_tests(judged)

    twice = correct_for_multiple_tests(once)

    np.testing.assert_array_equal(once.verdict, twice.verdict)
    assert once.tested_count == twice.tested_count
