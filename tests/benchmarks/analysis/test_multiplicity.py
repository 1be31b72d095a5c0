import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.analysis.gates import Gate
from benchmarks.analysis.intervals import Rollups
from benchmarks.analysis.multiplicity import benjamini_hochberg, correct
from benchmarks.analysis.verdicts import Verdict, judge

UNKNOWN = float("nan")

# Benjamini and Hochberg (1995), section 4.1: 15 comparisons of two treatments after a
# heart attack. Bonferroni keeps three at 5 %, their procedure four.
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


def test_it_finds_what_the_authors_found():
    correction = benjamini_hochberg(PUBLISHED)

    assert correction.tested == 15
    assert correction.counts.tolist() == [True] * 4 + [False] * 11
    assert correction.adjusted[3] == pytest.approx(0.0095 * 15 / 4)


def test_a_matrix_keeps_its_shape_and_gaps_are_no_tests():
    matrix = np.full((4, 5), UNKNOWN)
    matrix.flat[[0, 3, 7, 19]] = [0.04, 0.001, 0.9, 0.02]

    correction = benjamini_hochberg(matrix)

    assert correction.tested == 4
    np.testing.assert_array_equal(np.isnan(correction.adjusted), np.isnan(matrix))
    assert np.flatnonzero(correction.counts).tolist() == [3, 19]


@pytest.mark.parametrize("p_values", [[], [UNKNOWN, UNKNOWN]])
def test_nothing_tested_is_nothing_found(p_values):
    correction = benjamini_hochberg(p_values)

    assert (correction.tested, correction.counts.any()) == (0, False)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_it_is_scipys_correction(p_values):
    expected = stats.false_discovery_control(p_values)

    np.testing.assert_allclose(
        benjamini_hochberg(p_values).adjusted, expected, rtol=1e-12
    )


def cells(*means):
    n = np.full(len(means), 5)
    return Rollups.of(n, means, np.full(len(means), 2.56), np.full(len(means), UNKNOWN))


def test_verdicts_that_do_not_survive_become_undetermined():
    means = [80.0, 96.3, *[97.8] * 18]
    judged = judge(cells(*means), cells(*[100.0] * 20), True)
    assert judged.verdict[:2].tolist() == [Verdict.SLOWER] * 2

    corrected = correct(judged)

    assert corrected.verdict[:2].tolist() == [Verdict.SLOWER, Verdict.UNDETERMINED]
    assert corrected.direction.tolist() == judged.direction.tolist()
    assert corrected.tested == 20


def test_refused_cells_are_not_tested_and_stay_refused():
    gates = [0, 0, int(Gate.FLAGGED)]
    judged = judge(cells(80, 96.3, 96.3), cells(100, 100, 100), True, gates=gates)

    corrected = correct(judged)

    assert corrected.tested == 2
    assert corrected.verdict.tolist() == [
        Verdict.SLOWER,
        Verdict.SLOWER,
        Verdict.NOT_ASSESSED,
    ]


def test_correcting_twice_changes_nothing():
    judged = judge(cells(80, 96.3, *[97.8] * 18), cells(*[100] * 20), True)
    once = correct(judged)

    twice = correct(once)

    np.testing.assert_array_equal(once.verdict, twice.verdict)
    assert once.tested == twice.tested
