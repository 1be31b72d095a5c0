"""Any set of systems gives finite results, and true ones where estimable."""

import math
import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.analysis.factor_effects.effects import (
    estimate_factor_effects,
    interaction_means,
)
from benchmarks.analysis.factor_effects.factors_and_responses import (
    Observation,
    RunScatter,
)
from tests.benchmarks.analysis.factor_effects.published_designs import logs

NAMES = ("os", "bits", "tools", "storage")
TRUTH = {"0": 0.0, "1": 0.3, "2": -0.2}

levels = st.sampled_from(["", "0", "1", "2"])
systems = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, levels))
stated = st.fixed_dictionaries(dict.fromkeys(NAMES, st.sampled_from(["0", "1", "2"])))
responses = st.one_of(st.just(0.0), st.floats(-3, 3), st.sampled_from([0.1, 0.2]))
sides = st.one_of(
    st.just(RunScatter()), st.builds(RunScatter, st.integers(2, 5), st.floats(0, 0.1))
)
observations = st.builds(
    Observation, systems, responses, sides, st.sampled_from([None, "one", "two"])
)


@settings(max_examples=80, deadline=None)
@given(st.lists(observations, max_size=20))
def test_every_set_of_systems_has_an_answer_in_finite_numbers(observed):
    effects = estimate_factor_effects(observed)

    numbers = [
        number
        for each in effects.effects
        for number in (each.log_effect, each.margin, each.wide_margin, each.p_value)
        if number is not None
    ]
    assert all(map(math.isfinite, numbers))
    assert all(
        each.row_factor in effects.factors
        for each in interaction_means(effects, observed)
    )
    assert sum(each.count for each in effects.combinations) == len(observed)


@settings(max_examples=40, deadline=None)
@given(st.lists(observations, min_size=2, max_size=20), st.randoms())
def test_the_order_of_any_systems_does_not_matter(observed, order: random.Random):
    shuffled = order.sample(observed, len(observed))

    one = estimate_factor_effects([_ordered(each) for each in observed])
    other = estimate_factor_effects([_ordered(each) for each in shuffled])
    assert logs(other) == pytest.approx(logs(one), abs=1e-7)
    assert list(logs(other)) == list(logs(one))
    assert [each.strength for each in other.effects] == [
        each.strength for each in one.effects
    ]


def _ordered(each):
    # Parameters have a fixed order, as reported.
    stated = {name: each.levels.get(name, "") for name in NAMES}
    return Observation(
        stated, each.log_response, each.scatter, each.baseline_id, each.baseline_scatter
    )


@pytest.mark.parametrize(
    ("responses", "ranks"),
    [
        # 2:0 is +1/6 and 1:0 is -1/6: the order of a sum decided which is larger.
        ((0, -1 / 6, 1 / 6), {"tools 1:0": -1 / 6, "tools 2:0": 1 / 6}),
        ((0, 0.1, 0.1), {"tools 1:0": 0.1, "tools 2:0": 0.1}),
        ((0.1, 0.2, 0.4), {"tools 2:0": 0.3, "tools 1:0": 0.1}),
    ],
)
def test_equal_effects_rank_alike_in_every_order(responses, ranks):
    observed = [
        Observation({"os": system, "tools": tools}, at + response)
        for system, at in (("0", 0.3), ("1", 0.7))
        for tools, response in zip("012", responses, strict=True)
    ]

    for order in permutations(observed):
        effects = {
            k: v for k, v in logs(estimate_factor_effects(order)).items() if k in ranks
        }
        assert effects == pytest.approx(ranks)
        assert list(effects) == list(ranks)


@settings(max_examples=80, deadline=None)
@given(st.lists(stated, min_size=2, max_size=25))
def test_shown_effects_are_true_in_unbalanced_designs(chosen):
    """Without noise and with main effects only, estimates are exact."""
    effects = estimate_factor_effects(
        [
            Observation(each, sum(TRUTH[level] for level in each.values()))
            for each in chosen
        ]
    )

    plain = [each for each in effects.effects if len(each.term[0].names) == 1]
    for each in plain:
        (level, reference), *others = each.levels
        expected = 0.0 if others else TRUTH[level] - TRUTH[reference]
        assert each.log_effect == pytest.approx(expected, abs=1e-7)
