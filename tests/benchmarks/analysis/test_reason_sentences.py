from dataclasses import replace

import pytest

from benchmarks.analysis.verdict_gates import SHAPE_GATES, Gate
from benchmarks.analysis.verdict_reasons import (
    GATE_ORDER,
    NEVER_ASSESSED,
    NO_FACTS,
    FlagFacts,
    ReasonNumbers,
    SideFacts,
    reason_advice,
    reason_sentences,
    runs_range,
)

NUMBERS = ReasonNumbers(
    own_n=6,
    baseline_n=8,
    own_worth=3.2,
    baseline_worth=8.0,
    baseline_percent=50.0,
    order=0,
    runs_needed=20,
    is_estimated=True,
    sessions_needed=0,
    is_alternating=False,
)


WITHOUT_RUNS = (
    NEVER_ASSESSED
    | Gate.BEING_CHECKED
    | Gate.OTHER_HOST
    | Gate.SAME_MODEL
    | Gate.SAME_CPU
    | Gate.AMBIGUOUS_BASELINE
    | Gate.NO_RUNS
)


def sentences(gates, sides=(0, 0), facts=(NO_FACTS, NO_FACTS), **changes):
    return reason_sentences(gates, sides, replace(NUMBERS, **changes), facts)


def advice(gates, sides=(0, 0), **changes):
    return reason_advice(gates, sides, replace(NUMBERS, **changes))


def test_every_reason_has_a_place_and_a_sentence():
    assert set(GATE_ORDER) == set(Gate)
    for gate in Gate:
        for is_alternating in (False, True):
            (sentence,) = sentences(gate, is_alternating=is_alternating)
            assert sentence.endswith(".")


def test_every_reason_that_can_be_removed_has_advice():
    final = NEVER_ASSESSED | Gate.BEING_CHECKED

    assert {gate for gate in Gate if not advice(gate)} == {*final}


def test_results_that_never_have_a_verdict_have_one_reason_and_no_advice():
    gates = Gate.SLOWDOWN | Gate.FEW_RUNS | Gate.UNREPEATED | Gate.FLAGGED

    (sentence,) = sentences(gates)

    assert "has no verdict" in sentence
    assert advice(gates) == ""


@pytest.mark.parametrize("gate", [Gate.SAME_MODEL, Gate.SAME_CPU])
def test_other_machines_need_machines_instead_of_runs(gate):
    gates = gate | Gate.SINGLE_RUN | Gate.NO_SPREAD | Gate.UNREPEATED

    (sentence,) = sentences(gates)

    assert "machine" in sentence
    assert "runs" not in sentence
    assert "five machines of this model natively" in advice(gates)


def test_a_flag_is_a_reason_for_results_of_other_machines_too():
    gates = Gate.SAME_MODEL | Gate.FLAGGED | Gate.FEW_RUNS

    first, second = sentences(gates, (Gate.FLAGGED, 0))

    assert "same model" in first
    assert "flag" in second


def test_few_runs_are_mentioned_once():
    gates = Gate.FEW_RUNS | Gate.NOISY_BASELINE | Gate.NO_INTERVAL

    assert sentences(gates, own_n=3, runs_needed=5) == (
        "Runs: this system 3, the baseline 8. A verdict needs at least 5 each.",
    )


def test_a_wide_interval_explains_why_the_least_number_of_runs_is_not_enough():
    (sentence,) = sentences(Gate.FEW_RUNS, own_n=3, runs_needed=20)

    assert sentence.endswith("at least 5 each, and a narrower confidence interval.")
    assert sentences(Gate.FEW_RUNS, own_n=3, runs_needed=0) == (sentence,)


def test_few_runs_near_a_margin_need_less_variation_before_new_runs():
    text = advice(Gate.FEW_RUNS, runs_needed=0)

    assert text.startswith("Not even 200 runs")
    assert text.index("reduce the variation") < text.index("Then run both systems")


def test_a_blocking_reason_is_first_and_has_the_advice():
    gates = Gate.FEW_RUNS | Gate.DRIFT | Gate.FLAGGED

    assert "flag" in sentences(gates, (Gate.FLAGGED, 0))[0]
    assert advice(gates, (Gate.FLAGGED, 0)).startswith(
        "Check the values of this system"
    )


def test_flags_are_named_with_their_message():
    flag = FlagFacts("Too few distinct values", "implausible", "8 runs: 1 and 2.")
    facts = (NO_FACTS, SideFacts(flags=(flag,)))

    assert sentences(Gate.FLAGGED, (0, Gate.FLAGGED), facts) == (
        (
            "A flag on the baseline withholds the verdict: “Too few distinct values” "
            "(implausible). 8 runs: 1 and 2."
        ),
    )


def test_a_side_with_two_findings_is_described_once():
    facts = (SideFacts(shape="a rise of 6% over the session"), NO_FACTS)
    gates = Gate.DRIFT | Gate.FIRST_RUN

    assert sentences(gates, (gates, 0), facts) == (
        (
            "The runs of this system have no single value: a rise of 6% over the "
            "session."
        ),
    )


@pytest.mark.parametrize("gate", list(SHAPE_GATES | Gate.FEW_INDEPENDENT))
def test_alternating_sides_are_judged_by_their_difference(gate):
    (sentence,) = sentences(gate, is_alternating=True)

    assert "ifference" in sentence
    assert "on both systems" in advice(gate, is_alternating=True).replace(
        " of ", " on "
    )


def test_a_suspect_clock_is_described():
    facts = (SideFacts(clock="The guest's clock ran 2.9% slow."), NO_FACTS)

    (sentence,) = sentences(Gate.CLOCK_SUSPECT, (Gate.CLOCK_SUSPECT, 0), facts)

    assert sentence.endswith("cannot be trusted. The guest's clock ran 2.9% slow.")


def test_advice_never_names_one_side_only():
    for gate in Gate:
        for sides in ((gate, 0), (0, gate), (gate, gate)):
            text = advice(gate, sides)
            assert ("un both systems" in text) == (gate not in WITHOUT_RUNS), text


def test_all_advice_asks_for_both_systems_in_one_session():
    one = advice(Gate.FEW_RUNS, own_n=4, runs_needed=5)
    flagged = advice(Gate.FLAGGED, (Gate.FLAGGED, 0), own_n=4, runs_needed=5)

    assert one == (
        "Run both systems in one session, alternating between them, at least 5 runs "
        "each, as a new study: earlier runs do not count."
    )
    assert flagged.endswith("Otherwise, remove the cause. Then r" + one[1:])


@pytest.mark.parametrize("gate", [Gate.UNIT_MISMATCH, Gate.UNTIMED])
def test_runs_that_can_be_corrected_need_no_new_ones(gate):
    assert "Otherwise, run both systems" in advice(gate)


@pytest.mark.parametrize("gate", [Gate.FLAGGED, Gate.CLOCK_SUSPECT, Gate.BIMODAL])
def test_new_runs_follow_the_removal_of_the_cause(gate):
    assert "Then run both systems" in advice(gate, (gate, 0))


def test_runs_are_at_least_as_many_as_before():
    assert "at least 6 runs each" in advice(
        Gate.ORDER_CONFOUNDED, runs_needed=0, is_estimated=False
    )


def test_the_number_of_runs_to_make_comes_first():
    assert "Plan 39 runs each (13 may be enough)" in advice(Gate(0))
    assert "at least 98 runs each (200 may not be enough)" in advice(
        Gate(0), runs_needed=150
    )
    assert "at least 932 runs each," in advice(
        Gate(0), own_n=931, baseline_n=931, runs_needed=932
    )


def test_the_number_of_runs_is_a_range_that_contains_the_estimate():
    low, high = runs_range(NUMBERS)

    assert 8 < low < 20 < high


def test_runs_without_an_interval_need_less_variation():
    for gates in (Gate.NO_INTERVAL, Gate.NO_INTERVAL | Gate.FEW_RUNS):
        text = advice(gates, runs_needed=0)

        assert text.startswith("Find the cause of the variation")
        assert "interval" not in text
