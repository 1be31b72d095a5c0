from pathlib import Path

import numpy as np
import pytest

from benchmarks.analysis.intervals import RunStatistics, log_ratio_intervals
from benchmarks.analysis.verdict_gates import (
    GATE_SENTENCES,
    GATES_BY_STATE,
    SIDE_SENTENCES,
    SOLVED_BY_RUNS,
    Gate,
    gate_codes,
    gate_sentence,
    gates_from_states,
    statistical_gates,
)
from benchmarks.models import Efficiency

UNKNOWN = float("nan")


def found(cell, baseline):
    sides = [
        RunStatistics.from_sums([n], [mean], [deviation**2 * (n - 1)], [UNKNOWN])
        for n, mean, deviation in (cell, baseline)
    ]
    return Gate(int(statistical_gates(*sides, log_ratio_intervals(*sides, [True]))[0]))


CALM = (5, 100.0, 1.0)


@pytest.mark.parametrize(
    ("cell", "baseline", "gates"),
    [
        (CALM, CALM, Gate(0)),
        ((1, 100.0, 0.0), CALM, Gate.SINGLE_RUN),
        (CALM, (2, 100.0, 1.0), Gate.TWO_RUNS),
        ((4, 100.0, 1.0), (3, 100.0, 1.0), Gate.FEW_RUNS),
        ((5, 0.0, 0.0), CALM, Gate.ZERO),
        (CALM, (5, -1.0, 1.0), Gate.ZERO),
        ((1, 0.0, 0.0), CALM, Gate.SINGLE_RUN | Gate.ZERO),
        ((5, 100.0, 0.0), CALM, Gate.NO_SPREAD),
        (CALM, (5, 100.0, 36.1), Gate.NOISY_BASELINE),
        (CALM, (5, 100.0, 35.9), Gate(0)),  # g = 0.2 at 36.02
        ((5, 100.0, 36.1), CALM, Gate(0)),
        (CALM, (5, 100.0, 81.0), Gate.NO_INTERVAL),
        ((5, 100.0, 81.0), CALM, Gate.NO_INTERVAL),
        ((2, 100.0, 12.0), (2, 100.0, 1.0), Gate.TWO_RUNS | Gate.NO_INTERVAL),
    ],
)
def test_run_statistics_set_gates(cell, baseline, gates):
    assert found(cell, baseline) == gates


def test_every_gate_has_a_code_and_a_sentence():
    assert GATE_SENTENCES.keys() | SIDE_SENTENCES.keys() == set(Gate)
    assert not GATE_SENTENCES.keys() & SIDE_SENTENCES.keys()
    for gate in Gate:
        for sides in ((gate, 0), (0, gate), (gate, gate)):
            sentence = gate_sentence(gate, *map(int, sides))
            assert sentence[0].isupper()
            assert sentence.endswith(".")
            assert "{" not in sentence
            assert gate_codes(gate) == (gate.code,)


def test_every_code_is_explained_to_readers():
    page = (Path(__file__).parents[3] / "docs/method.md").read_text()

    assert [gate.code for gate in Gate if f"`{gate.code}`" not in page] == []


def test_several_reasons_are_several_codes():
    assert gate_codes(Gate.FLAGGED | Gate.FEW_RUNS) == ("few_runs", "flagged")
    assert gate_codes(0) == ()


def test_every_state_of_a_baseline_is_known():
    assert set(GATES_BY_STATE) == set(Efficiency.State.values)


def test_states_become_gates():
    states = ["paired", "stale", "paired", "missing", "relative"]

    assert gates_from_states(states).tolist() == [
        0,
        Gate.STALE_BASELINE,
        0,
        Gate.NO_BASELINE,
        0,
    ]
    assert gates_from_states([]).tolist() == []


def test_an_unknown_state_raises():
    with pytest.raises(KeyError, match="invented"):
        gates_from_states(["paired", "invented"])


def test_gates_have_a_fixed_order():
    assert [gate.code for gate in Gate] == [
        "no_runs",
        "single_run",
        "two_runs",
        "few_runs",
        "zero",
        "no_spread",
        "noisy_baseline",
        "no_interval",
        "native",
        "no_baseline",
        "ambiguous_baseline",
        "stale_baseline",
        "undirected",
        "unit_mismatch",
        "other_parameters",
        "bimodal",
        "periodic",
        "drift",
        "flagged",
        "clock_suspect",
        "within_meter_error",
        "first_run",
        "scaling",
        "other_host",
        "unrepeated",
        "few_independent",
        "slowdown",
        "no_speed",
        "untimed",
        "order_confounded",
        "being_checked",
        "same_model",
        "same_cpu",
        "summarized",
        "no_deviation",
    ]


def test_only_some_gates_are_solved_by_runs():
    cured = {gate.code for gate in Gate if gate & SOLVED_BY_RUNS}

    assert cured == {
        "single_run",
        "two_runs",
        "few_runs",
        "noisy_baseline",
        "no_interval",
    }
    assert np.uint8(SOLVED_BY_RUNS) == SOLVED_BY_RUNS
