"""Cells as responses of a factor analysis."""

import math
from dataclasses import replace

import pytest

from benchmarks.analysis.factor_effects.factors_and_responses import (
    Observation,
    RunScatter,
)
from benchmarks.comparison.study_factor_effects import (
    CaseResponses,
    RowWithScatter,
    case_responses,
    complete_cases,
    mean_responses,
    parameter_levels,
)
from tests.comparison_rows import NATIVE, changed

NUMBERS = {"value": 26.0, "n": 3, "baseline_value": 52.0, "baseline_n": 5}
TEXTS = {"better": "higher", "host": "alpha", "hypervisor": "Xen", "guest_os": "Linux"}


def row(**changes):
    return changed(NATIVE, **{"efficiency": 0.5, **NUMBERS, **TEXTS, **changes})


def measured(**changes):
    return RowWithScatter(row(**changes), m2=2.0, baseline_id=9, baseline_m2=4.0)


def only(responses):
    (observation,) = responses.observations.values()
    return observation


def test_a_ratio_has_the_scatter_of_both_sides():
    observation = only(case_responses([measured()], "relative_performance"))

    assert observation.log_response == math.log(0.5)
    assert observation.scatter == RunScatter(3, pytest.approx(2.0 / 26**2))
    assert observation.baseline_id == 9
    assert observation.baseline_scatter == RunScatter(5, pytest.approx(4.0 / 52**2))


def test_a_value_has_no_baseline():
    observation = only(case_responses([measured()], "value"))

    assert (observation.log_response, observation.baseline_id) == (math.log(26), None)


def test_a_time_is_inverted():
    observation = only(case_responses([measured(better="lower")], "value"))

    assert observation.log_response == -math.log(26)


@pytest.mark.parametrize(
    ("changes", "response", "reason"),
    [
        ({"efficiency": None}, "relative_performance", "no_ratio"),
        ({"value": 0.0, "efficiency": None}, "relative_performance", "not_positive"),
        ({"value": -1.0}, "value", "not_positive"),
        ({"value": None}, "value", "not_positive"),
        ({"efficiency": 1 / 1015}, "relative_performance", "implausible"),
        ({"efficiency": 1024.0}, "relative_performance", "implausible"),
    ],
)
def test_a_cell_without_a_response_is_excluded_with_a_reason(changes, response, reason):
    responses = case_responses([measured(), measured(system_id=2, **changes)], response)

    assert list(responses.observations) == [1]
    assert responses.excluded == {reason: 1}


def test_an_unreported_parameter_is_an_empty_level():
    options = {"guest_tools": "absent", "hw_virt": "on"}

    levels = parameter_levels(row(options=options, vcpus=2), ["hw_virt", "colour"])

    assert list(levels)[:3] == ["host", "hypervisor", "hypervisor_version"]
    assert list(levels)[-2:] == ["hw_virt", "colour"]
    assert (levels["hw_virt"], levels["colour"]) == ("on", "")
    assert (levels["vcpus"], levels["memory_bytes"], levels["guest_bits"]) == (
        *("2", ""),
        "32",
    )


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_options_does_not_depend_on_systems(order):
    options = [{"colour": "blue"}, {"guest_tools": "absent", "hw_virt": "on"}]
    cells = [measured(system_id=at, options=it) for at, it in enumerate(options)]

    observations = case_responses(cells[::order], "value").observations

    assert {tuple(each.levels)[-3:] for each in observations.values()} == {
        ("hw_virt", "guest_tools", "colour")
    }


def case(**logs):
    observed = {
        int(system.removeprefix("s")): Observation({}, log, RunScatter(3, 0.5), system)
        for system, log in logs.items()
    }
    return CaseResponses(observed, {})


def test_the_mean_is_over_the_cases_that_most_systems_have():
    cases = [case(s1=1, s2=2), case(s1=1), case(s2=3, s1=5), case(s1=1), case(s1=1)]

    assert complete_cases(cases) == (0, 2)
    assert complete_cases([case(), case()]) == complete_cases([]) == ()


def test_the_mean_of_cases_is_that_of_their_logarithms():
    first, second = mean_responses([case(s1=1.0, s2=2.0), case(s1=3.0, s2=2.0)])

    assert (first.log_response, second.log_response) == (2.0, 2.0)
    assert first.baseline_id == ("s1", "s1")


def test_the_errors_of_two_cases_average_out():
    """Each case has the variance 0.25; the mean of both has half, 0.125."""
    (observation,) = mean_responses([case(s1=1.0), case(s1=3.0)])

    assert observation.scatter.log_m2 / (observation.scatter.n - 1) == pytest.approx(
        0.125
    )


def test_one_single_run_leaves_the_mean_without_scatter():
    single = case(s1=1.0)
    single = replace(
        single,
        observations={
            1: replace(single.observations[1], scatter=RunScatter(1), baseline_id=None)
        },
    )

    (observation,) = mean_responses([case(s1=1.0), single])

    assert (observation.scatter, observation.baseline_id) == (RunScatter(1), None)
