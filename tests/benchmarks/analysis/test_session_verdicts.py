"""Verdicts with known sessions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.session_intervals import SessionDesign
from benchmarks.analysis.sessions import UNKNOWN_TIME
from benchmarks.analysis.verdict_gates import Gate
from benchmarks.analysis.verdicts import (
    EvidenceLevel,
    IntervalStyle,
    Verdict,
    assess_cells,
    correct_for_multiple_tests,
)
from tests.benchmarks.analysis.session_samples import (
    UNKNOWN,
    A,
    B,
    C,
    D,
    E,
    F,
    days,
    in_sessions,
    rolled,
    runs,
)


def judged(own, other, *, gates=0, rho=float("nan"), **options):
    sessions = in_sessions(own, rho=rho), in_sessions(other)
    cells = rolled(own), rolled(other)
    return assess_cells(
        *cells, [True], gates=[int(gates)], sessions=sessions, **options
    )


def verdict_of(own, other, **options):
    return Verdict(judged(own, other, **options).verdict[0])


UNTIMED = {UNKNOWN_TIME: runs(90)}
OWN_DAYS = {A: runs(100.3), B: runs(101), C: runs(101.8)}


@pytest.mark.parametrize(
    ("own", "native", "verdict"),
    [
        (days(A, B, C, level=90), days(A, B, C), Verdict.SLOWER),
        (OWN_DAYS, days(A, B, C), Verdict.EQUIVALENT),
        (days(A, B, C, n=1, level=90), days(A, B, C, n=1), Verdict.SLOWER),
        (days(A, B, level=90), days(A, B), Verdict.SLOWER),
        (days(A, level=90), days(A), Verdict.SLOWER),
        (days(A, B, C, level=90), days(D, E, F), Verdict.SLOWER),
        (days(A, level=80), days(D, E, F), Verdict.SLOWER),
        (days(A, level=90), days(B), Verdict.NOT_ASSESSED),
        (days(A, B, level=90), days(C, D), Verdict.NOT_ASSESSED),
        (UNTIMED, {UNKNOWN_TIME: runs(100)}, Verdict.NOT_ASSESSED),
        (UNTIMED, days(A), Verdict.NOT_ASSESSED),
        (UNTIMED, {UNKNOWN_TIME: runs(140)}, Verdict.NOT_ASSESSED),
        (UNTIMED, {UNKNOWN_TIME: runs(220)}, Verdict.SLOWER),
        ({UNKNOWN_TIME: runs(80)}, days(A, B, C), Verdict.SLOWER),
        (days(A, n=1, level=90), days(A), Verdict.NOT_ASSESSED),
        (days(A, n=3, level=90), days(A), Verdict.NOT_ASSESSED),
    ],
)
def test_the_design_allows_or_withholds_a_verdict(own, native, verdict):
    assert verdict_of(own, native) == verdict


def test_unrepeated_days_withhold_the_verdict():
    assert judged(days(A, level=90), days(B)).gates.tolist() == [Gate.UNREPEATED]


@pytest.mark.parametrize("native", [{UNKNOWN_TIME: runs(100)}, days(A)])
def test_unknown_times_withhold_the_verdict(native):
    assert judged(UNTIMED, native).gates.tolist() == [Gate.UNTIMED]


def in_order(own, other, own_starts, other_starts, **options):
    """Assess cells whose sessions have these first and last starts."""
    sides = [
        in_sessions(side, starts=tuple(zip(*starts, strict=True)))
        for side, starts in ((own, own_starts), (other, other_starts))
    ]
    cells = rolled(own), rolled(other)
    return assess_cells(*cells, [True], sessions=tuple(sides), **options)


FIRST, SECOND, BOTH = (0.0, 40.0), (50.0, 90.0), (5.0, 95.0)


@pytest.mark.parametrize(
    ("own_starts", "native_starts", "order"),
    [
        ([SECOND], [FIRST], 1),
        ([FIRST], [SECOND], -1),
        ([SECOND] * 3, [FIRST] * 3, 1),
        ([SECOND, SECOND, FIRST], [FIRST, FIRST, SECOND], 0),
        ([SECOND, SECOND, BOTH], [FIRST] * 3, 0),
        ([BOTH], [BOTH], 0),
        # A series that states one start counts as started then.
        ([(40.0, 40.0)], [FIRST], 1),
        ([(7.0, 7.0)], [(7.0, 7.0)], 0),
        ([(UNKNOWN, UNKNOWN)], [FIRST], 0),
        ([SECOND, (UNKNOWN, UNKNOWN)], [FIRST, FIRST], 1),
    ],
)
def test_an_order_that_is_the_same_in_every_session_is_confounded(
    own_starts, native_starts, order
):
    sessions = [A, B, C][: len(own_starts)]
    said = in_order(
        days(*sessions, level=90), days(*sessions), own_starts, native_starts
    )

    assert said.design_intervals.order.tolist() == [order]
    assert said.gates.tolist() == [Gate.ORDER_CONFOUNDED if order else 0]


@pytest.mark.parametrize(
    ("level", "verdict"), [(90, Verdict.NOT_ASSESSED), (45, Verdict.SLOWER)]
)
def test_only_a_difference_beyond_effects_of_order_decides(level, verdict):
    said = in_order(days(A, level=level), days(A), [SECOND], [FIRST])

    assert said.verdict.tolist() == [verdict]


def test_an_order_of_whole_sessions_is_not_confounded():
    said = in_order(days(A, B, C, level=90), days(D, E, F), [SECOND] * 3, [FIRST] * 3)

    assert said.verdict.tolist() == [Verdict.SLOWER]


def test_both_of_two_sessions_must_decide():
    native = days(A, B)
    one_says_so = {A: runs(90), B: runs(100)}

    both = judged(days(A, B, level=90), native)
    one = judged(one_says_so, native)

    assert both.verdict[0] == Verdict.SLOWER
    assert both.p_values()[0] < 0.05
    assert one.verdict[0] == Verdict.UNDETERMINED
    assert one.p_values()[0] == 1


def test_three_sessions_of_single_runs_are_enough():
    three = judged(days(A, B, C, n=1, level=90), days(A, B, C, n=1))

    assert three.gates[0] == 0
    assert three.evidence_level[0] == EvidenceLevel.VERDICT


# --- Complete separation.

APART = {A: [80.0, 70.0, 90.0, 75.0, 96.0]}
NATIVE = days(A)


@pytest.mark.parametrize(
    "gate", [Gate.BIMODAL, Gate.PERIODIC, Gate.DRIFT, Gate.FIRST_RUN]
)
def test_every_run_slower_is_slower_despite_run_order(gate):
    said = judged(APART, NATIVE, gates=gate)

    assert said.verdict[0] == Verdict.SLOWER
    assert said.is_separated[0]
    assert said.shape_gates[0] == gate
    assert said.p_values()[0] == pytest.approx(2 / 252)


@pytest.mark.parametrize(
    "gate", [Gate.FLAGGED, Gate.CLOCK_SUSPECT, Gate.WITHIN_METER_ERROR, Gate.SCALING]
)
def test_separation_does_not_lift_flags(gate):
    said = judged(APART, NATIVE, gates=Gate.BIMODAL | gate)

    assert said.gates[0] == Gate.BIMODAL | gate
    assert said.verdict[0] == Verdict.NOT_ASSESSED


def test_a_noisy_baseline_whose_every_run_is_faster_decides():
    noisy = {A: [200.0, 900.0, 300.0, 180.0, 220.0]}

    assert judged({A: runs(100)}, noisy).verdict[0] == Verdict.SLOWER


def test_separation_of_few_runs_is_indicative():
    few = {A: [80.0, 70.0, 90.0]}

    said = judged(few, NATIVE, gates=Gate.BIMODAL)

    assert said.gates[0] == Gate.FEW_RUNS
    assert said.direction[0] == Verdict.SLOWER


@pytest.mark.parametrize(
    ("level", "gates"), [(90, Gate.UNREPEATED | Gate.DRIFT), (45, Gate(0))]
)
def test_on_different_days_only_more_than_a_factor_of_two_decides(level, gates):
    said = judged(days(A, level=level), days(B), gates=Gate.DRIFT)

    assert said.gates[0] == gates


def test_a_stale_baseline_decides_only_beyond_what_days_do():
    for level, verdict in ((90, Verdict.NOT_ASSESSED), (45, Verdict.SLOWER)):
        own = {UNKNOWN_TIME: runs(level)}
        said = verdict_of(own, {UNKNOWN_TIME: runs(100)}, gates=Gate.STALE_BASELINE)
        assert said == verdict


def test_one_overlapping_session_prevents_separation():
    own = {A: runs(80), B: runs(80), C: runs(101)}

    said = judged(own, days(A, B, C), gates=Gate.BIMODAL)

    assert said.gates[0] == Gate.BIMODAL


# --- Shifts by the order of the runs.

NEAR, TEN = {A: runs(95.5, 10)}, {A: runs(100, 10)}


def test_order_shifts_stretch_both_ends():
    plain = judged(NEAR, TEN)
    said = judged(NEAR, TEN, gates=Gate.DRIFT, order_shifts=([0.004], [0.006]))

    assert said.verdict[0] == Verdict.SLOWER
    assert not said.is_separated[0]
    assert said.log_stretch[0] == pytest.approx(0.01, rel=0.01)
    assert said.shape_gates[0] == Gate.DRIFT
    assert plain.p_values()[0] < said.p_values()[0] < 0.05


@pytest.mark.parametrize(
    "moves", [(0.02, 0.0), (0.0, 0.02), (0.0, 0.0), (float("nan"), 0.004), (1e6, 0.0)]
)
def test_a_gate_remains_without_a_decision_or_a_known_shift(moves):
    said = judged(NEAR, TEN, gates=Gate.DRIFT, order_shifts=([moves[0]], [moves[1]]))

    assert said.gates[0] == Gate.DRIFT
    assert said.log_stretch[0] == 0


def test_p_is_at_its_limit_if_the_stretched_interval_touches_the_margin():
    plain = judged(NEAR, TEN)
    room = np.log(0.98) - plain.design_intervals.deciding_high[0]

    for moved, verdict in (
        (room - 1e-9, Verdict.SLOWER),
        (room + 1e-9, Verdict.NOT_ASSESSED),
    ):
        moves = ([-np.expm1(-moved)], [0.0])
        said = judged(NEAR, TEN, gates=Gate.DRIFT, order_shifts=moves)
        assert said.verdict[0] == verdict
        if verdict == Verdict.SLOWER:
            assert said.p_values()[0] == pytest.approx(0.05, abs=1e-5)


def test_equivalent_requires_an_interval_inside_the_margin():
    own = {A: runs(100.1, 10)}

    for moved, verdict in ((0.006, Verdict.EQUIVALENT), (0.02, Verdict.NOT_ASSESSED)):
        moves = ([moved], [0.0])
        assert verdict_of(own, TEN, gates=Gate.DRIFT, order_shifts=moves) == verdict


@pytest.mark.parametrize(
    "gate", [Gate.BIMODAL, Gate.PERIODIC, Gate.FLAGGED, Gate.CLOCK_SUSPECT]
)
def test_other_gates_are_not_lifted_by_stretching(gate):
    gates = gate | Gate.DRIFT

    said = judged(NEAR, TEN, gates=gates, order_shifts=([0.004], [0.0]))

    assert said.gates[0] == gates


def test_order_shifts_stretch_both_sessions():
    own, native = (
        {A: runs(a, 10), B: runs(b, 10)} for a, b in ((95.5, 95.4), (100, 100))
    )
    plain = judged(own, native)

    said = judged(own, native, gates=Gate.DRIFT, order_shifts=([0.005], [0.005]))
    lost = judged(own, native, gates=Gate.DRIFT, order_shifts=([0.01], [0.01]))

    assert said.verdict[0] == Verdict.SLOWER
    assert plain.p_values()[0] < said.p_values()[0] < 0.05
    assert lost.gates[0] == Gate.DRIFT


def test_few_stretched_runs_are_indicative():
    few = {A: runs(90, 4)}

    said = judged(few, TEN, gates=Gate.DRIFT, order_shifts=([0.0], [0.006]))

    assert said.gates[0] == Gate.FEW_RUNS
    assert said.direction[0] == Verdict.SLOWER


# --- Dependent runs.


def test_few_effective_runs_do_not_decide_near_the_margin():
    own, native = {A: runs(96.6, 10)}, {A: runs(100, 10)}

    tested = {"side_gates": ([int(Gate.FEW_INDEPENDENT)], [0])}
    assert verdict_of(own, native) == Verdict.SLOWER
    assert verdict_of(own, native, rho=0.5) == Verdict.UNDETERMINED
    assert judged(own, native, rho=0.5, **tested).gates[0] == Gate.FEW_INDEPENDENT
    certain = judged({A: runs(70, 10)}, native, rho=0.5, **tested)
    assert certain.verdict[0] == Verdict.SLOWER


def test_the_precaution_asks_for_thirty_runs():
    said = judged({A: runs(96.6, 10)}, {A: runs(100, 10)}, rho=0.9)

    assert said.runs_needed[0] == 30


def test_pools_weight_by_the_variance_of_independent_runs():
    own, native = {A: runs(96.6, 10)}, {A: runs(100, 10)}
    plain, dependent = judged(own, native), judged(own, native, rho=0.5)
    days_apart = judged(days(A, B, C, level=90), days(A, B, C), rho=0.5)

    error = plain.intervals.standard_error[0]
    assert dependent.intervals.standard_error[0] > 1.5 * error
    assert dependent.pooling_variance[0] == pytest.approx(error**2, rel=1e-12)
    assert days_apart.pooling_variance == days_apart.intervals.standard_error**2
    assert np.isnan(judged(days(A, n=1), days(A, n=1)).pooling_variance[0])


def test_many_dependent_runs_are_enough():
    assert verdict_of({A: runs(90, 50)}, {A: runs(100, 50)}, rho=0.5) == Verdict.SLOWER


# --- Number of sessions needed.


def test_advice_has_the_number_of_shared_sessions():
    native = days(A, B, C)
    own = {A: runs(99), B: runs(95), C: runs(97)}
    undecided = judged(own, native)
    wanted = int(undecided.sessions_needed[0])

    assert undecided.verdict[0] == Verdict.UNDETERMINED
    assert undecided.runs_needed[0] == 0
    assert wanted > 3

    def after(sessions):
        # Repeating the same values keeps about the same spread.
        sides = [{s: side[s % 3] for s in range(sessions)} for side in (own, native)]
        return verdict_of(*sides)

    assert after(3 * ((wanted + 5) // 3)) == Verdict.SLOWER


def test_advice_for_different_days_is_sessions():
    said = judged(days(A, level=90), days(B))

    assert (said.sessions_needed[0], said.runs_needed[0]) == (3, 0)


def test_a_day_effect_on_both_sides_is_not_noise():
    own = {A: runs(90), B: runs(300), C: runs(20)}
    native = {A: runs(100), B: runs(330), C: runs(22)}

    assert verdict_of(own, native) == Verdict.SLOWER


# --- p and verdict.

a_session = st.lists(st.floats(90.0, 110.0), min_size=2, max_size=7)
a_side = st.dictionaries(st.integers(-1, 3), a_session, min_size=1, max_size=4)


@given(st.lists(st.tuples(a_side, a_side), min_size=1, max_size=5))
def test_p_and_verdict_are_consistent(pairs):
    own, other = zip(*pairs, strict=True)
    sessions = in_sessions(*own), in_sessions(*other)
    said = assess_cells(rolled(*own), rolled(*other), True, sessions=sessions)

    p = said.p_values()

    decided = (said.verdict != Verdict.UNDETERMINED) & ~np.isnan(p)
    np.testing.assert_array_equal(p < 0.05, decided)
    np.testing.assert_array_equal(np.isnan(p), said.verdict == Verdict.NOT_ASSESSED)
    assert correct_for_multiple_tests(said).tested_count == np.sum(~np.isnan(p))


def test_the_interval_style_follows_from_the_design():
    drawn = {
        design: IntervalStyle.for_design(design, EvidenceLevel.VERDICT).slug
        for design in SessionDesign
    }

    assert drawn.pop(SessionDesign.UNREPEATED) == "hollow"
    assert drawn.pop(SessionDesign.ASSUMED_ONE_SESSION) == "hollow"
    assert drawn.pop(SessionDesign.TWO_SHARED) == "faint"
    assert set(drawn.values()) == {""}
    assert (
        IntervalStyle.for_design(SessionDesign.ONE_SHARED, EvidenceLevel.FAINT)
        == IntervalStyle.FAINT
    )
    # Two runs per side on separate days: the gate has priority.
    assert (
        IntervalStyle.for_design(SessionDesign.UNREPEATED, EvidenceLevel.FAINT)
        == IntervalStyle.HOLLOW
    )


# --- Outlying first runs.


def test_an_outlying_first_run_is_counted_once():
    """Its shift of the mean counts against the ratio, its scatter does not."""
    own, native = {A: [50.0, *runs(95, 9)]}, {A: runs(100, 10)}
    sides = in_sessions(own, first=50.0), in_sessions(native)
    counting_twice = in_sessions(own), in_sessions(native)

    def verdict(sessions):
        judgements = assess_cells(
            *(rolled(own), rolled(native), [True]),
            gates=[int(Gate.FIRST_RUN)],
            sessions=sessions,
        )
        return Verdict(judgements.verdict[0])

    assert verdict(sides) == Verdict.SLOWER
    assert verdict(counting_twice) == Verdict.NOT_ASSESSED


# --- Separation and day effects.


def test_a_separation_confirmed_by_sessions_overrides_bimodality():
    own, native = days(A, B, C, level=90), days(D, E, F)

    confirmed = judged(own, native, gates=Gate.BIMODAL)

    # Whole sessions can be exchanged: 2 of 20 arrangements are not significant.
    assert not confirmed.separation.is_significant[0]
    assert confirmed.is_separated[0]
    assert confirmed.verdict[0] == Verdict.SLOWER
    assert confirmed.p_values()[0] <= 0.05


def test_an_unconfirmed_separation_overrides_nothing():
    own = {A: runs(80), B: runs(88), C: runs(95)}
    native = {D: runs(100), E: runs(101), F: runs(102)}

    left = judged(own, native, gates=Gate.BIMODAL)

    assert left.separation.direction(0.02)[0] == -1
    assert left.verdict[0] == Verdict.NOT_ASSESSED


def test_dependent_runs_raise_the_chance_of_separation():
    own, native = {A: runs(93, 10)}, {A: runs(100, 10)}

    def chance(rho):
        return judged(own, native, rho=rho).separation.design_chance[0]

    assert chance(0.8) > 100 * chance(float("nan"))


# --- Advice exceeds the available numbers.


@given(
    st.lists(st.floats(95, 105), min_size=3, max_size=6),
    st.lists(st.floats(95, 105), min_size=3, max_size=6),
    st.booleans(),
)
def test_advice_exceeds_the_number_of_sessions(own, native, is_shared):
    mine = {place: runs(level) for place, level in enumerate(own)}
    apart = 0 if is_shared else 100
    theirs = {apart + place: runs(level) for place, level in enumerate(native)}

    found = judged(mine, theirs)

    there = min(len(own), len(native))
    assert found.sessions_needed[0] == 0 or found.sessions_needed[0] > there


@given(st.integers(2, 12), st.integers(2, 12), st.floats(0.9, 1.1), st.floats(0.1, 0.9))
def test_advice_exceeds_the_number_of_runs(n, native_n, ratio, rho):
    found = judged({A: runs(100 * ratio, n)}, {A: runs(100, native_n)}, rho=rho)

    assert found.runs_needed[0] == 0 or found.runs_needed[0] > min(n, native_n)
