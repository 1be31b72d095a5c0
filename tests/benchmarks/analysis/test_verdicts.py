import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.analysis.gates import MOST_RUNS, Gate, runs_for_width, width_sentence
from benchmarks.analysis.intervals import Rollups, log_ratio_intervals
from benchmarks.analysis.verdicts import (
    EvidenceLevel,
    Verdict,
    benjamini_hochberg,
    correct,
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


any_number = st.floats(width=64)
any_cell = st.tuples(st.integers(0, 9), any_number, any_number, any_number)


@given(any_cell, any_cell, st.booleans())
def test_no_numbers_are_too_strange_to_be_judged(cell, baseline, higher_is_better):
    sides = [Rollups.of(*([each] for each in side)) for side in (cell, baseline)]

    judged = judge(*sides, [higher_is_better])

    intervals = judged.intervals
    if judged.verdict[0] != Verdict.NOT_ASSESSED:
        assert 0 < intervals.low[0] <= intervals.ratio[0] <= intervals.high[0] < np.inf
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
    judged = judge(*sides, [True], extra_log_variance=meters)
    assert judged.verdict[0] == Verdict.UNDETERMINED
    assert judged.wanted_runs[0] == 0  # no number of runs shows a meter's error


def side(n, deviation, mean=100.0, resolution=float("nan")):
    return Rollups.of([n], [mean], [deviation**2 * (n - 1)], [resolution])


def half_width(cell, baseline):
    return log_ratio_intervals(cell, baseline, [True]).half_width[0]


@given(
    st.integers(2, 20),
    st.floats(0.1, 8.0),
    st.floats(0.1, 8.0),
    st.floats(0.005, 0.2),
)
def test_so_many_runs_make_it_narrow_and_one_less_does_not(n, own, other, wanted):
    runs = int(runs_for_width(side(n, own), side(n, other), wanted)[0])

    if runs:
        n = max(n, runs)
        assert half_width(side(n, own), side(n, other)) < wanted
    if runs > max(n, 5):
        assert half_width(side(runs - 1, own), side(runs - 1, other)) >= wanted


def test_a_side_that_has_more_runs_keeps_them():
    runs = int(runs_for_width(side(5, 1.0), side(100, 1.0), 0.01)[0])

    assert half_width(side(runs, 1.0), side(100, 1.0)) < 0.01
    assert runs < runs_for_width(side(5, 1.0), side(5, 1.0), 0.01)[0]


def test_it_wants_five_runs_at_least():
    assert runs_for_width(side(2, 0.01), side(2, 0.01), 0.1).tolist() == [5]


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        (side(5, 30.0), 0.001),  # more than anybody runs
        (side(1, 0.0), 0.01),  # no spread known
        (side(5, 0.0, resolution=10.0), 0.01),  # rounding stays, however many runs
    ],
)
def test_no_number_of_runs_may_be_enough(cell, wanted):
    assert runs_for_width(cell, side(5, 0.1), wanted).tolist() == [0]


def test_the_error_of_meters_cannot_be_repeated_away():
    sides = side(5, 0.1), side(5, 0.1)

    assert runs_for_width(*sides, 0.01).tolist() == [5]
    meters = 2 * 0.015**2 / 3
    assert runs_for_width(*sides, 0.01, extra_log_variance=meters).tolist() == [0]


def test_many_cells_have_each_their_own_number():
    cell = Rollups(
        *map(
            np.concatenate,
            zip(
                *[
                    (each.n, each.mean, each.variance, each.resolution)
                    for each in (side(5, 1.0), side(5, 2.0))
                ],
                strict=True,
            ),
        )
    )

    runs = runs_for_width(cell, cell, [0.01, 0.02])

    assert runs[0] == pytest.approx(runs[1], abs=1)


@pytest.mark.parametrize(
    ("runs", "wanted", "sentence"),
    [
        (5, 8, "3 more runs a side bring the interval below 1 %."),
        (5, 6, "1 more run a side brings the interval below 1 %."),
        (8, 8, "The interval is below 1 %."),
        (5, 0, f"{MOST_RUNS} runs a side do not bring the interval below 1 %."),
    ],
)
def test_it_says_when_to_stop(runs, wanted, sentence):
    assert width_sentence(runs, wanted, 0.01) == sentence


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


def steady(*means):
    n = np.full(len(means), 5)
    return Rollups.of(n, means, np.full(len(means), 2.56), np.full(len(means), UNKNOWN))


def test_verdicts_that_do_not_survive_become_undetermined():
    means = [80.0, 96.3, *[97.8] * 18]
    judged = judge(steady(*means), steady(*[100.0] * 20), True)
    assert judged.verdict[:2].tolist() == [Verdict.SLOWER] * 2

    corrected = correct(judged)

    assert corrected.verdict[:2].tolist() == [Verdict.SLOWER, Verdict.UNDETERMINED]
    assert corrected.direction.tolist() == judged.direction.tolist()
    assert corrected.tested == 20


def test_refused_cells_are_not_tested_and_stay_refused():
    gates = [0, 0, int(Gate.FLAGGED)]
    judged = judge(steady(80, 96.3, 96.3), steady(100, 100, 100), True, gates=gates)

    corrected = correct(judged)

    assert corrected.tested == 2
    assert corrected.verdict.tolist() == [
        Verdict.SLOWER,
        Verdict.SLOWER,
        Verdict.NOT_ASSESSED,
    ]


def test_only_primary_cells_are_tests_and_the_others_are_held_to_their_limit():
    means = [80.0, *[97.8] * 18, 96.3]
    judged = judge(steady(*means), steady(*[100.0] * 20), True)
    alone = np.arange(20) == 0

    corrected = correct(judged, alone)

    assert corrected.tested == 1
    assert corrected.verdict[[0, 19]].tolist() == [Verdict.SLOWER, Verdict.UNDETERMINED]
    # What follows from a cell that stands stands with it.
    both = judge(steady(80, 80), steady(100, 100), True)
    assert correct(both, [True, False]).verdict.tolist() == [Verdict.SLOWER] * 2


def test_without_any_primary_cell_all_are_tests():
    judged = judge(steady(80, 97.8), steady(100, 100), True)

    assert correct(judged, [False, False]).tested == 2


def test_correcting_twice_changes_nothing():
    judged = judge(steady(80, 96.3, *[97.8] * 18), steady(*[100] * 20), True)
    once = correct(judged)

    twice = correct(once)

    np.testing.assert_array_equal(once.verdict, twice.verdict)
    assert once.tested == twice.tested
