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
    sessions_needed=0,
    is_alternating=False,
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

    assert "never has a verdict" in sentence
    assert advice(gates) == ""


def test_few_runs_are_mentioned_once():
    gates = Gate.FEW_RUNS | Gate.NOISY_BASELINE | Gate.NO_INTERVAL

    assert sentences(gates, own_n=3) == (
        "Runs: result 3, baseline 8. A verdict needs 5 per side.",
    )


def test_a_blocking_reason_is_first_and_has_the_advice():
    gates = Gate.FEW_RUNS | Gate.DRIFT | Gate.FLAGGED

    assert "flag" in sentences(gates, (Gate.FLAGGED, 0))[0]
    assert advice(gates, (Gate.FLAGGED, 0)).startswith("Check the values of the result")


def test_flags_are_named_with_their_meaning():
    flag = FlagFacts("Too few distinct values", "implausible", "It marks rounding.")
    facts = (NO_FACTS, SideFacts(flags=(flag,)))

    assert sentences(Gate.FLAGGED, (0, Gate.FLAGGED), facts) == (
        (
            "A flag on the baseline withholds the verdict: “Too few distinct values” "
            "(implausible). It marks rounding."
        ),
    )


def test_a_side_with_two_findings_is_described_once():
    facts = (SideFacts(shape="one speed, rising by 6% over the session"), NO_FACTS)
    gates = Gate.DRIFT | Gate.FIRST_RUN

    assert sentences(gates, (gates, 0), facts) == (
        (
            "The runs of the result have no single value: one speed, rising by 6% over "
            "the session."
        ),
    )


@pytest.mark.parametrize("gate", list(SHAPE_GATES | Gate.FEW_INDEPENDENT))
def test_alternating_sides_are_judged_by_their_difference(gate):
    (sentence,) = sentences(gate, is_alternating=True)

    assert "ifference" in sentence
    assert "both sides" in advice(gate, is_alternating=True)


def test_a_suspect_clock_is_described():
    facts = (SideFacts(clock="The guest's clock lost 29,126 ppm."), NO_FACTS)

    (sentence,) = sentences(Gate.CLOCK_SUSPECT, (Gate.CLOCK_SUSPECT, 0), facts)

    assert sentence.endswith("cannot be trusted. The guest's clock lost 29,126 ppm.")


def test_the_number_of_missing_runs_is_named_by_side():
    one = advice(Gate.FEW_RUNS, own_n=4, runs_needed=5)
    both = advice(Gate.SINGLE_RUN, own_n=1, baseline_n=1, runs_needed=5)

    assert one.startswith("Add at least 1 run to the result")
    assert "4 to the result and 4 to the baseline" in both


def test_the_number_of_runs_is_a_range_that_contains_the_estimate():
    low, high = runs_range(NUMBERS)

    assert 8 < low < 20 < high


def test_runs_that_vary_too_much_need_less_variation():
    assert "Reduce the variation" in advice(Gate.NO_INTERVAL, runs_needed=0)
