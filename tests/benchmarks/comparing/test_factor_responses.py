"""Cells become the responses of an analysis of factor effects."""

import math
from dataclasses import replace

import pytest

from benchmarks.analysis.factor_effects.design import Observation, Side
from benchmarks.comparing.factor_effects import (
    MeasuredRow,
    Responses,
    averaged,
    complete,
    levels_of,
    responses_of,
)
from tests.comparison_rows import NATIVE, changed

NUMBERS = {"value": 26.0, "n": 3, "baseline_value": 52.0, "baseline_n": 5}
TEXTS = {"better": "higher", "host": "alpha", "hypervisor": "Xen", "guest_os": "Linux"}


def row(**changes):
    return changed(NATIVE, **{"efficiency": 0.5, **NUMBERS, **TEXTS, **changes})


def measured(**changes):
    return MeasuredRow(row(**changes), m2=2.0, baseline_id=9, baseline_m2=4.0)


def only(responses):
    (observation,) = responses.observations.values()
    return observation


def test_an_efficiency_carries_the_scatter_of_both_sides():
    observation = only(responses_of([measured()], "efficiency"))

    assert observation.log_response == math.log(0.5)
    assert observation.runs == Side(3, pytest.approx(2.0 / 26**2))
    assert observation.baseline == 9
    assert observation.baseline_runs == Side(5, pytest.approx(4.0 / 52**2))


def test_a_value_leans_on_no_baseline():
    observation = only(responses_of([measured()], "value"))

    assert (observation.log_response, observation.baseline) == (math.log(26), None)


def test_of_a_time_less_is_better():
    observation = only(responses_of([measured(better="lower")], "value"))

    assert observation.log_response == -math.log(26)


@pytest.mark.parametrize(
    ("changes", "response", "reason"),
    [
        ({"efficiency": None}, "efficiency", "no_ratio"),
        ({"value": 0.0, "efficiency": None}, "efficiency", "not_positive"),
        ({"value": -1.0}, "value", "not_positive"),
        ({"value": None}, "value", "not_positive"),
        ({"efficiency": 1 / 1015}, "efficiency", "implausible"),
        ({"efficiency": 1024.0}, "efficiency", "implausible"),
    ],
)
def test_a_cell_without_a_response_is_left_out_with_its_reason(
    changes, response, reason
):
    responses = responses_of([measured(), measured(system_id=2, **changes)], response)

    assert list(responses.observations) == [1]
    assert responses.left_out == {reason: 1}


def test_what_a_system_does_not_state_is_an_empty_level():
    options = {"guest_tools": "absent", "hw_virt": "on"}

    levels = levels_of(row(options=options, vcpus=2), ["hw_virt", "colour"])

    assert list(levels)[:3] == ["host", "hypervisor", "hypervisor_version"]
    assert list(levels)[-2:] == ["hw_virt", "colour"]
    assert (levels["hw_virt"], levels["colour"]) == ("on", "")
    assert (levels["vcpus"], levels["memory_bytes"], levels["guest_bits"]) == (
        *("2", ""),
        "32",
    )


@pytest.mark.parametrize("order", [1, -1])
def test_the_options_have_one_order_whichever_system_comes_first(order):
    options = [{"colour": "blue"}, {"guest_tools": "absent", "hw_virt": "on"}]
    cells = [measured(system_id=at, options=it) for at, it in enumerate(options)]

    observations = responses_of(cells[::order], "value").observations

    assert {tuple(each.levels)[-3:] for each in observations.values()} == {
        ("hw_virt", "guest_tools", "colour")
    }


def case(**logs):
    observed = {
        int(system.removeprefix("s")): Observation({}, log, Side(3, 0.5), system)
        for system, log in logs.items()
    }
    return Responses(observed, {})


def test_a_mean_is_taken_over_the_cases_that_most_systems_have():
    cases = [case(s1=1, s2=2), case(s1=1), case(s2=3, s1=5), case(s1=1), case(s1=1)]

    assert complete(cases) == (0, 2)
    assert complete([case(), case()]) == complete([]) == ()


def test_the_mean_of_cases_is_that_of_their_logarithms():
    first, second = averaged([case(s1=1.0, s2=2.0), case(s1=3.0, s2=2.0)])

    assert (first.log_response, second.log_response) == (2.0, 2.0)
    assert first.baseline == ("s1", "s1")


def test_the_errors_of_two_cases_average_out():
    """Each case has the variance 0.25; their mean the half of it, 0.125."""
    (observation,) = averaged([case(s1=1.0), case(s1=3.0)])

    assert observation.runs.log_m2 / (observation.runs.n - 1) == pytest.approx(0.125)


def test_one_single_run_leaves_the_mean_without_scatter():
    single = case(s1=1.0)
    single = replace(
        single,
        observations={1: replace(single.observations[1], runs=Side(1), baseline=None)},
    )

    (observation,) = averaged([case(s1=1.0), single])

    assert (observation.runs, observation.baseline) == (Side(1), None)
